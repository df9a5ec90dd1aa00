#include "hearth/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "error_text.h"
#include "hearth/ops.h"
#include "optim/model.h"

namespace hearth {
namespace {

struct Half {
  Array w = full({1}, 1.0, DType::bf16).require_grad();

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("w", self.w);
  }
};

TEST(Sgd, PlainStep) {
  Model model;
  const std::uint64_t id = gradient_id(model.w);
  optim::Sgd optimizer;
  optimizer.step(model, backward(model.loss()), 0.1);
  expect_near(model.w, {0.8, -1.6});
  expect_near(model.b, {0.2});
  EXPECT_EQ(gradient_id(model.w), id);
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST(Sgd, MomentumDampeningNesterovDecay) {
  for (const bool nesterov : {false, true}) {
    Model model;
    const double momentum = 0.9, dampening = nesterov ? 0 : 0.1, decay = 0.01;
    optim::Sgd optimizer({.momentum = momentum,
                          .dampening = dampening,
                          .nesterov = nesterov,
                          .weight_decay = decay});
    double w = 1, m = 0;
    for (int step = 0; step < 4; ++step) {
      const double g = 2 * w + decay * w;
      m = step == 0 ? g : momentum * m + (1 - dampening) * g;
      w -= 0.1 * (nesterov ? g + momentum * m : m);
      optimizer.step(model, backward(model.loss()), 0.1);
    }
    EXPECT_NEAR(model.w.to_doubles()[0], w, 1e-5);
  }
}

template <class Optimizer>
void expect_adam(Optimizer optimizer, double decay, bool decoupled) {
  Model model;
  const double beta1 = 0.8, beta2 = 0.9, epsilon = 1e-3;
  double w = 1, m = 0, v = 0;
  for (int step = 1; step <= 5; ++step) {
    const double rate = 0.1 / step;
    double g = 2 * w;
    if (decoupled) {
      w *= 1 - rate * decay;
    } else {
      g += decay * w;
    }
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, step));
    const double v_hat = v / (1 - std::pow(beta2, step));
    w -= rate * m_hat / (std::sqrt(v_hat) + epsilon);
    optimizer.step(model, backward(model.loss()), rate);
  }
  EXPECT_NEAR(model.w.to_doubles()[0], w, 1e-5);
}

TEST(Adam, FollowsThePaper) {
  expect_adam(optim::Adam({.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.3}), 0.3,
              false);
}

TEST(AdamW, DecaysApartFromTheGradient) {
  expect_adam(optim::AdamW({.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.3}), 0.3,
              true);
  expect_adam(optim::AdamW({.beta1 = 0.8,
                            .beta2 = 0.9,
                            .epsilon = 1e-3,
                            .weight_decay = 0.3,
                            .decay_vectors = false}),
              0.0, true);
}

TEST(Optimizer, ReusesPlansAndMemoryWhileRatesChange) {
  Model model;
  optim::AdamW optimizer;
  const auto step = [&](int i) { optimizer.step(model, backward(model.loss()), 0.1 / (i + 1)); };
  for (int i = 0; i < 3; ++i) step(i);
  const Statistics before = statistics();
  for (int i = 3; i < 20; ++i) step(i);
  const Statistics after = statistics();
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_EQ(after.plan_hits - before.plan_hits, 17);
  EXPECT_GE(after.donations - before.donations, 17 * 2);
}

TEST(Optimizer, LeavesParametersWithoutGradientAlone) {
  Model model;
  optim::Sgd optimizer;
  optimizer.step(model, backward(sum(square(model.w))), 0.1);
  expect_near(model.b, {0.5});
}

TEST(Optimizer, AStepWithoutAnyGradientIsAnError) {
  Array w = zeros({2}).require_grad();
  const Array other = ones({2}).require_grad();
  optim::Sgd optimizer;
  const Gradients gradients = backward(sum(other));
  EXPECT_THROW(optimizer.step({{"w", &w}}, gradients, 0.1), Error);
  EXPECT_EQ(optimizer.steps(), 0);
  optimizer.step({{"w", &w}}, gradients, 0.1, {.allow_none = true});
  EXPECT_EQ(optimizer.steps(), 0);
  EXPECT_EQ(w.to_doubles(), (std::vector<double>{0, 0}));
}

TEST(Optimizer, NoticesAMemberThatIsForgottenWhereAsked) {
  Model model;
  optim::Sgd optimizer;
  const std::string message = check::error_of(ErrorCode::invalid_argument, [&] {
    optimizer.step({{"w", &model.w}}, backward(model.loss()), 0.1, {.require_all = true});
  });
  EXPECT_NE(message.find("gradients of none of the parameters; got 1 of 2"), std::string::npos)
      << message;
  EXPECT_EQ(optimizer.steps(), 0);
  optimizer.step(model, backward(model.loss()), 0.1, {.require_all = true});
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST(Optimizer, RefusesGradientsThatDoNotFit) {
  Model model;
  Gradients gradients;
  gradients.set(model.w, ones({3}));
  optim::Sgd optimizer;
  EXPECT_THROW(optimizer.step(model, gradients, 0.1), Error);
  EXPECT_EQ(optimizer.steps(), 0);
}

struct Tied {
  Model a, b;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("a", self.a);
    visitor("b", self.b);
  }
};

TEST(Optimizer, TiedParametersStayOne) {
  const auto train = [](auto optimizer) {
    Tied model;
    model.b.w = model.a.w;
    // One use each: the gradient is the sum of both.
    Model alone;
    auto other = optimizer;
    for (int step = 0; step < 3; ++step) {
      optimizer.step(model, backward(sum(square(model.a.w)) + sum(model.b.w * 3.0)), 0.1);
      other.step(alone, backward(sum(square(alone.w)) + sum(alone.w * 3.0)), 0.1);
    }
    EXPECT_EQ(model.a.w.to_doubles(), alone.w.to_doubles());
    EXPECT_EQ(model.b.w.to_doubles(), alone.w.to_doubles());
    EXPECT_EQ(gradient_id(model.a.w), gradient_id(model.b.w));
  };
  train(optim::Sgd({.momentum = 0.9}));
  train(optim::Adam());
}

TEST(Optimizer, RefusesAParameterWithoutAnArray) {
  Model model;
  optim::Sgd optimizer;
  const Gradients gradients = backward(model.loss());
  const std::string message = check::error_of(ErrorCode::invalid_argument, [&] {
    optimizer.step({{"w", &model.w}, {"a", nullptr}}, gradients, 0.1);
  });
  EXPECT_NE(message.find("null for a"), std::string::npos) << message;
  EXPECT_EQ(model.w.to_doubles(), (Values{1, -2}));
}

TEST(Optimizer, HalfParametersAreRoundedOnce) {
  Half model;
  optim::Sgd optimizer;
  optimizer.step(model, backward(sum(model.w)), 0.25);
  EXPECT_EQ(model.w.dtype(), DType::bf16);
  EXPECT_EQ(model.w.item(), 0.75);
}

TEST(Optimizer, RefusesNumbersOutOfRange) {
  EXPECT_THROW(optim::Adam({.beta1 = 1}), Error);
  EXPECT_THROW(optim::AdamW({.weight_decay = -1}), Error);
  EXPECT_THROW(optim::Sgd({.nesterov = true}), Error);
}

TEST(Clip, ByNormScalesAllAlike) {
  Model model;
  Gradients gradients = backward(model.loss());  // 2, -4 and 3
  const Array norm = optim::clip_by_norm(gradients, 1.0);
  EXPECT_NEAR(norm.item(), std::sqrt(29.0), 1e-5);
  expect_near(gradients.get(model.w), {2 / std::sqrt(29.0), -4 / std::sqrt(29.0)});
  gradients = backward(model.loss());
  optim::clip_by_norm(gradients, 100.0);
  expect_near(gradients.get(model.w), {2, -4}, 0);
  EXPECT_THROW(optim::clip_by_norm(gradients, 0), Error);
}

TEST(Clip, ANormThatIsNotFiniteMakesAllGradientsNaN) {
  const std::vector<std::vector<float>> cases = {
      {INFINITY, 1}, {-INFINITY, 0}, {NAN, 1}, {1e30F, 1e30F}};  // the last: squares overflow
  for (const std::vector<float>& values : cases) {
    Model model;
    Gradients gradients;
    gradients.set(model.w, Array::from_data(values, {2}));
    gradients.set(model.b, ones({1}));
    optim::clip_by_norm(gradients, 1);
    for (const Array& of : {model.w, model.b}) {
      for (const double value : gradients.get(of).to_doubles()) {
        EXPECT_TRUE(std::isnan(value)) << values[0] << " gives " << value;
      }
    }
  }
}

TEST(Clip, ByValueLimitsElements) {
  Model model;
  Gradients gradients = backward(model.loss());
  optim::clip_by_value(gradients, 2.5);
  expect_near(gradients.get(model.w), {2, -2.5}, 0);
  expect_near(gradients.get(model.b), {2.5}, 0);
}

TEST(Schedule, WarmUpOfAnyLength) {
  const double rate = optim::linear_warm_up(INT64_MAX, optim::constant(1))(5);
  EXPECT_NEAR(rate * 9223372036854775808.0, 6, 1e-9);
}

TEST(Schedule, RefusesWhatIsNoScheduleAndStepsBelowZero) {
  const auto invalid = [](const std::function<void()>& call, const char* expected) {
    const std::string message = check::error_of(ErrorCode::invalid_argument, call);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  const optim::Schedule one = optim::constant(1);
  invalid([&] { optim::linear_warm_up(10, one)(-3); }, "linear_warm_up: negative step; got -3");
  invalid([&] { one(-1); }, "constant: negative step; got -1");
  invalid([&] { optim::cosine(1, 10)(-1); }, "cosine: negative step; got -1");
  invalid([&] { (void)optim::linear_warm_up(-1, one); }, "linear_warm_up: negative steps; got -1");
  invalid([&] { (void)optim::linear_warm_up(10, {}); }, "expected a Schedule");
}

TEST(Schedule, WarmUpThenCosine) {
  const optim::Schedule rate = optim::linear_warm_up(4, optim::cosine(1.0, 10, 0.1));
  EXPECT_NEAR(rate(0), 0.2, 1e-12);
  EXPECT_NEAR(rate(3), 0.8, 1e-12);
  EXPECT_NEAR(rate(4), 1.0, 1e-12);
  EXPECT_NEAR(rate(9), 0.55, 1e-12);
  EXPECT_NEAR(rate(14), 0.1, 1e-12);
  EXPECT_NEAR(rate(1000), 0.1, 1e-12);
  EXPECT_EQ(optim::constant(0.3)(7), 0.3);
}

}  // namespace
}  // namespace hearth
