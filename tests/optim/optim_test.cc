#include "hearth/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

struct Model {
  Array w = Array::from_data(std::vector<float>{1, -2}, {2}).require_grad();
  Array b = Array::from_data(std::vector<float>{0.5}, {1}).require_grad();

  Array loss() const { return sum(square(w)) + sum(b * 3.0); }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("w", self.w);
    visitor("b", self.b);
  }
};

struct Half {
  Array w = full({1}, 1.0, DType::bf16).require_grad();

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("w", self.w);
  }
};

using Values = std::vector<double>;

void expect_near(const Array& array, const std::vector<double>& expected, double tolerance = 1e-6) {
  const auto values = array.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance);
}

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

TEST(Optimizer, RefusesGradientsThatDoNotFit) {
  Model model;
  Gradients gradients;
  gradients.set(model.w, ones({3}));
  optim::Sgd optimizer;
  EXPECT_THROW(optimizer.step(model, gradients, 0.1), Error);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, StateGoesOnBitForBit) {
  Model whole;
  Model half;
  optim::AdamW one;
  optim::AdamW two;
  const auto step = [](Model& model, optim::AdamW& optimizer) {
    optimizer.step(model, backward(model.loss()), 0.05);
  };
  for (int i = 0; i < 6; ++i) step(whole, one);
  for (int i = 0; i < 3; ++i) step(half, two);
  Model resumed;
  load_state_dict(resumed, state_dict(half));
  optim::AdamW three;
  three.load_state_dict(two.state_dict());
  EXPECT_EQ(three.steps(), 3);
  for (int i = 0; i < 3; ++i) step(resumed, three);
  EXPECT_EQ(resumed.w.to_vector<float>(), whole.w.to_vector<float>());
  EXPECT_EQ(resumed.b.to_vector<float>(), whole.b.to_vector<float>());
  optim::Sgd other;
  EXPECT_THROW(other.load_state_dict(two.state_dict()), Error);
  EXPECT_THROW(three.load_state_dict({}), Error);
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

TEST(Optimizer, StateBelongsToTheParameter) {
  const auto with_momentum = [] { return optim::Sgd({.momentum = 0.9}); };
  const auto step = [](optim::Sgd& optimizer, Model& model, Tensor<1>& loose, double scale) {
    optimizer.step(model, backward(model.loss() * scale), 0.01);
    optimizer.step(loose, (loose.square() * scale).sum().backward(), 0.01);
  };
  Model together[2], alone[2];
  Tensor<1> loose[2] = {Tensor<1>{3}.require_grad(), Tensor<1>{3}.require_grad()};
  Tensor<1> lonely[2] = {Tensor<1>{3}.require_grad(), Tensor<1>{3}.require_grad()};
  optim::Sgd shared = with_momentum();
  optim::Sgd own[2] = {with_momentum(), with_momentum()};
  for (int i = 0; i < 6; ++i) {
    const int which = i % 2;
    const double scale = which == 0 ? 1 : -20;
    step(shared, together[which], loose[which], scale);
    step(own[which], alone[which], lonely[which], scale);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(together[i].w.to_doubles(), alone[i].w.to_doubles());
    EXPECT_EQ(together[i].b.to_doubles(), alone[i].b.to_doubles());
    EXPECT_EQ(loose[i].array().to_doubles(), lonely[i].array().to_doubles());
  }
  EXPECT_THROW((void)shared.state_dict(), Error) << "two parameters are called w";
}

// Their values after 6 steps, stepped as a list; `restart` saves and loads the optimizer's state
// after the third.
Values loose_after(bool restart) {
  Tensor<1> w = Tensor<1>{1, 2}.require_grad();
  Tensor<2> v = Tensor<2>{{3}, {4}}.require_grad();
  Array a = full({1}, 2.0).require_grad();
  optim::Adam optimizer;
  for (int step = 0; step < 6; ++step) {
    if (step == 3 && restart) {
      const NamedArrays state = optimizer.state_dict();
      EXPECT_EQ(state[0].name, "0.exp_avg");
      EXPECT_EQ(state.size(), 7u);
      optimizer = optim::Adam();
      optimizer.load_state_dict(state);
      EXPECT_EQ(optimizer.state_dict().size(), 7u);
    }
    const Array loss = (w.square().sum() + v.exp().sum() * 3.0).array() + sum(a);
    optimizer.step({w, v, a}, backward(loss), 0.1);
  }
  Values out = w.array().to_doubles();
  for (const Array& more : {v.array(), a}) {
    for (const double value : more.to_doubles()) out.push_back(value);
  }
  return out;
}

TEST(Optimizer, StepsLooseTensorsThemselves) {
  const Values values = loose_after(false);
  EXPECT_EQ(values, loose_after(true));
  double w = 1, m = 0, v = 0;
  for (int step = 1; step <= 6; ++step) {
    m = 0.9 * m + 0.1 * 2 * w;
    v = 0.999 * v + 0.001 * 4 * w * w;
    w -= 0.1 * m / (1 - std::pow(0.9, step)) / (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-5);
  }
  EXPECT_NEAR(values[0], w, 1e-5);
}

TEST(Optimizer, StateBeginsAnewAfterFreezingUnlessLoaded) {
  for (const bool loads : {false, true}) {
    Model model, whole;
    optim::Sgd optimizer({.momentum = 0.9}), one({.momentum = 0.9});
    for (int step = 0; step < 2; ++step) {
      if (step == 1) {
        freeze(model);
        const NamedArrays state = optimizer.state_dict();
        EXPECT_EQ(state.size(), 3u);
        unfreeze(model);
        if (loads) optimizer.load_state_dict(state);
        if (!loads) one = optim::Sgd({.momentum = 0.9});
      }
      optimizer.step(model, backward(model.loss()), 0.1);
      one.step(whole, backward(whole.loss()), 0.1);
    }
    EXPECT_EQ(model.w.to_doubles(), whole.w.to_doubles());
    EXPECT_EQ(optimizer.state_dict().size(), 3u);
  }
}

struct OneWeight {
  explicit OneWeight(std::int64_t size) : w(zeros({size}).require_grad()) {}
  Array w;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("w", self.w);
  }
};

TEST(Optimizer, ANewModelBeginsWithoutTheStateOfOneThatIsGone) {
  optim::Sgd optimizer({.momentum = 0.9});
  optim::Adam adam;
  {
    OneWeight gone(1);
    Array loose = zeros({1}).require_grad();
    for (int i = 0; i < 50; ++i) {
      optimizer.step(gone, backward(sum(gone.w * 100.0)), 0.01);
      optimizer.step({loose}, backward(sum(loose * 100.0)), 0.01);
    }
    OneWeight shorter(2);
    adam.step(shorter, backward(sum(shorter.w)), 0.1);
  }
  OneWeight next(1);
  Array loose = zeros({1}).require_grad();
  optimizer.step(next, backward(sum(-next.w)), 0.01);
  expect_near(next.w, {0.01}, 1e-8);
  EXPECT_EQ(optimizer.state_dict().size(), 2u) << "what is gone is dropped: w.momentum and steps";
  optimizer.step({loose}, backward(sum(-loose)), 0.01);
  expect_near(loose, {0.01}, 1e-8);

  OneWeight longer(3);
  adam.step(longer, backward(sum(longer.w)), 0.1);
  EXPECT_EQ(adam.steps(), 2);
  EXPECT_EQ(adam.state_dict()[0].array.shape(), Shape({3}));
}

std::string message_of(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Optimizer, AParameterOfAnotherShapeIsNamedAndBlocksNoOther) {
  OneWeight changed(2);
  Model other;
  optim::Adam optimizer;
  const auto step = [&] { optimizer.step(changed, backward(sum(changed.w)), 0.1); };
  step();
  changed.w.assign(zeros({3}));
  const std::string message = message_of(step, ErrorCode::shape);
  EXPECT_NE(message.find("state of w does not fit; got [2], expected [3]"), std::string::npos)
      << message;
  optimizer.step(other, backward(other.loss()), 0.1);
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(Optimizer, AStepThatIsRefusedChangesNothing) {
  for (const DType dtype : {DType::i64, DType::f64, DType::f16}) {
    Model model;
    optim::Adam optimizer;
    optimizer.step(model, backward(model.loss()), 0.1);
    NamedArrays state = optimizer.state_dict();
    for (NamedArray& named : state) {
      if (named.name == "b.exp_avg") named.array = cast(named.array, dtype);
    }
    optimizer.load_state_dict(state);
    const Values before = model.w.to_doubles();
    const std::string message =
        message_of([&] { optimizer.step(model, backward(model.loss()), 0.1); }, ErrorCode::dtype);
    EXPECT_NE(
        message.find("state of b does not fit; got " + std::string(name(dtype)) + ", expected f32"),
        std::string::npos)
        << message;
    EXPECT_EQ(model.w.to_doubles(), before);
    EXPECT_EQ(optimizer.steps(), 1);
    EXPECT_EQ(optimizer.state_dict().size(), 5u);
  }
}

// Fails on what has one element.
class Failing : public optim::Optimizer {
 public:
  Failing() : Optimizer({"sum"}) {}

 protected:
  Array update(const Update& at) const override {
    at.slots[0] = at.gradient;
    if (at.value.size() == 1) throw Error(ErrorCode::invalid_argument, "failing: one element");
    return at.value - at.gradient;
  }
};

TEST(Optimizer, ARuleThatThrowsChangesNothing) {
  Model model;
  Failing optimizer;
  EXPECT_THROW(optimizer.step(model, backward(model.loss()), 0.1), Error);
  EXPECT_EQ(model.w.to_doubles(), (Values{1, -2}));
  EXPECT_EQ(optimizer.steps(), 0);
  EXPECT_EQ(optimizer.state_dict().size(), 1u);
}

TEST(Optimizer, LooseParametersTakeNumbersThatAreNoNames) {
  const auto train = [](bool restart) {
    Array a = zeros({1}).require_grad(), b = zeros({2}).require_grad(),
          c = zeros({3}).require_grad();
    optim::Sgd optimizer({.momentum = 0.9});
    for (int step = 0; step < 4; ++step) {
      if (step == 2 && restart) {
        const NamedArrays state = optimizer.state_dict();
        EXPECT_EQ(state.size(), 4u);
        EXPECT_EQ(state[0].name, "0.momentum");
        EXPECT_EQ(state[0].array.shape(), Shape({2}));
        EXPECT_EQ(state[1].array.shape(), Shape({1}));
        EXPECT_EQ(state[2].name, "2.momentum");
        optimizer = optim::Sgd({.momentum = 0.9});
        optimizer.load_state_dict(state);
      }
      optimizer.step({a, {"0", &b}, c}, backward(sum(a * 2.0) + sum(b * 3.0) + sum(c * 5.0)), 0.1);
    }
    return Values{a.to_doubles()[0], b.to_doubles()[0], c.to_doubles()[0]};
  };
  const Values values = train(false);
  EXPECT_EQ(values, train(true));
  EXPECT_NEAR(values[1], 1.5 * values[0], 1e-5);
}

TEST(Optimizer, RefusesAParameterWithoutAnArray) {
  Model model;
  optim::Sgd optimizer;
  const Gradients gradients = backward(model.loss());
  const std::string message =
      message_of([&] { optimizer.step({{"w", &model.w}, {"a", nullptr}}, gradients, 0.1); },
                 ErrorCode::invalid_argument);
  EXPECT_NE(message.find("null for a"), std::string::npos) << message;
  EXPECT_EQ(model.w.to_doubles(), (Values{1, -2}));
}

TEST(Optimizer, RefusesStateThatIsNotWhole) {
  Model model;
  optim::Adam optimizer;
  optimizer.step(model, backward(model.loss()), 0.1);
  const NamedArrays whole = optimizer.state_dict();
  const auto refused = [&](const NamedArrays& state) {
    EXPECT_THROW(optimizer.load_state_dict(state), Error);
    EXPECT_EQ(optimizer.steps(), 1);
  };
  NamedArrays part = whole;
  part.erase(part.begin());
  refused(part);
  const auto with_steps = [&](Array steps) {
    NamedArrays state = whole;
    state.back().array = std::move(steps);
    return state;
  };
  refused(with_steps(Array::from_data(std::vector<float>{7.9F}, {1})));
  refused(with_steps(Array::from_data(std::vector<std::int64_t>{-1}, {1})));
  refused(with_steps(Array::from_data(std::vector<std::int64_t>{INT64_MAX}, {1})));
  refused(with_steps(Array::from_data(std::vector<std::int64_t>{1, 2}, {2})));
  optimizer.load_state_dict(with_steps(Array::from_data(std::vector<std::int32_t>{5}, {1})));
  EXPECT_EQ(optimizer.steps(), 5);
}

TEST(Optimizer, RefusesStateOfAnotherShape) {
  Model model;
  optim::Adam optimizer;
  optimizer.step(model, backward(model.loss()), 0.1);
  NamedArrays state = optimizer.state_dict();
  for (NamedArray& named : state) {
    if (named.name == "w.exp_avg") named.array = zeros({1});  // would broadcast
  }
  optimizer.load_state_dict(state);
  EXPECT_THROW(optimizer.step(model, backward(model.loss()), 0.1), Error);
  EXPECT_EQ(optimizer.steps(), 1);
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
    const std::string message = message_of(call, ErrorCode::invalid_argument);
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
