// What optimizers share beyond their formulas: groups, plans, kernels, state, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>

#include "error_text.h"
#include "hearth/optim.h"
#include "optim/model.h"

namespace hearth {
namespace {

struct Case {
  const char* name;
  std::function<std::unique_ptr<optim::Optimizer>()> make;
  std::int64_t kernels;  // of a step of two matrices, with the gradients
};

template <class Optimizer>
Case of(const char* name, const typename Optimizer::Options& options, std::int64_t kernels = 2) {
  return {name, [options] { return std::make_unique<Optimizer>(options); }, kernels};
}

const std::vector<Case>& all() {
  static const auto* const kAll = new std::vector<Case>{
      of<optim::Sgd>("sgd", {}),
      of<optim::Sgd>("sgd_momentum", {.momentum = 0.9, .nesterov = true, .weight_decay = 0.1}),
      of<optim::Adam>("adam", {.weight_decay = 0.1, .amsgrad = true}),
      of<optim::AdamW>("adamw", {.amsgrad = true}),
      of<optim::AdamW>("adamw_cautious", {.cautious = true}),
      of<optim::Adan>("adan", {.weight_decay = 0.1}),
      of<optim::Lion>("lion", {.weight_decay = 0.1}),
      of<optim::AdaGrad>("adagrad", {.rate_decay = 0.1, .weight_decay = 0.1}),
      of<optim::RmsProp>("rmsprop", {.centered = true, .weight_decay = 0.1}),
      of<optim::Muon>("muon", {.weight_decay = 0.1}, 60),
  };
  return *kAll;
}

struct Matrices {
  Array a, b;

  explicit Matrices(DType dtype = DType::f32) {
    Generator source{3, 0};
    a = random_normal({3, 4}, 0, 1, dtype, Device(), &source).require_grad();
    b = random_normal({2, 5}, 0, 1, dtype, Device(), &source).require_grad();
  }
  // The gradients are the values, so that none of their making is counted.
  Gradients gradients() const {
    Gradients out;
    out.set(a, a.detach());
    out.set(b, b.detach());
    return out;
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("a", self.a);
    visitor("b", self.b);
  }
};

TEST(Rules, RatesChangeNoPlanAndStepsAreOneKernelForEachParameter) {
  for (const Case& each : all()) {
    Matrices model;
    const auto optimizer = each.make();
    const auto step = [&](int i) { optimizer->step(model, model.gradients(), 0.1 / (i + 1)); };
    for (int i = 0; i < 4; ++i) step(i);
    const Statistics before = statistics();
    for (int i = 4; i < 14; ++i) step(i);
    const Statistics after = statistics();
    EXPECT_EQ(after.plan_misses, before.plan_misses) << each.name;
    EXPECT_EQ(after.plan_hits - before.plan_hits, 10) << each.name;
    EXPECT_LE(after.dispatches - before.dispatches, 10 * each.kernels) << each.name;
    EXPECT_GT(after.dispatches, before.dispatches) << each.name;
  }
}

TEST(Rules, StateIsSavedAndLoadedBitForBit) {
  for (const Case& each : all()) {
    Matrices whole, parted;
    const auto one = each.make(), two = each.make(), three = each.make();
    const auto step = [](optim::Optimizer& optimizer, Matrices& model) {
      optimizer.step(model, backward(sum(square(square(model.a))) + sum(square(model.b))), 0.01);
    };
    for (int i = 0; i < 6; ++i) step(*one, whole);
    for (int i = 0; i < 3; ++i) step(*two, parted);
    three->load_state_dict(two->state_dict());
    for (int i = 0; i < 3; ++i) step(*three, parted);
    EXPECT_EQ(parted.a.to_doubles(), whole.a.to_doubles()) << each.name;
    EXPECT_EQ(parted.b.to_doubles(), whole.b.to_doubles()) << each.name;
  }
}

TEST(Rules, HalfParametersComputeInF32) {
  for (const Case& each : all()) {
    Matrices model(DType::bf16);
    const auto optimizer = each.make();
    optimizer->step(model, model.gradients(), 0.01);
    EXPECT_EQ(model.a.dtype(), DType::bf16) << each.name;
    for (const NamedArray& slot : optimizer->state_dict()) {
      EXPECT_EQ(slot.array.dtype(), slot.name == "steps" ? DType::i64 : DType::f32) << each.name;
    }
  }
}

TEST(Rules, GradientsOfZeroAndEmptyParametersGiveFiniteValues) {
  for (const Case& each : all()) {
    Array zero = zeros({2, 3}).require_grad(), none = zeros({0, 3}).require_grad();
    const auto optimizer = each.make();
    for (int i = 0; i < 2; ++i) {
      Gradients gradients;
      gradients.set(zero, zeros({2, 3}));
      gradients.set(none, zeros({0, 3}));
      optimizer->step({{"zero", &zero}, {"none", &none}}, std::move(gradients), 0.1);
    }
    EXPECT_EQ(zero.to_doubles(), Values(6, 0.0)) << each.name;
    EXPECT_EQ(none.size(), 0) << each.name;
  }
}

TEST(Rules, ANaNStaysInItsElement) {
  for (const Case& each : all()) {
    if (std::string(each.name) == "muon") continue;  // mixes all elements
    Array w = zeros({1, 2}).require_grad();
    Gradients gradients;
    gradients.set(w, Array::from_data(std::vector<float>{NAN, 1}, {1, 2}));
    each.make()->step({{"w", &w}}, std::move(gradients), 0.1);
    EXPECT_LT(w.to_doubles()[1], 0) << each.name;
    // A sign of NaN is 0: Lion leaves the element.
    EXPECT_EQ(std::isnan(w.to_doubles()[0]), std::string(each.name) != "lion") << each.name;
  }
}

TEST(Rules, MuonTakesMatricesOnlyAndMakesThemOrthogonal) {
  Array vector = zeros({3}).require_grad();
  const std::string message = check::error_of(
      ErrorCode::shape, [&] { optim::Muon().step({{"v", &vector}}, backward(sum(vector)), 0.1); });
  EXPECT_NE(message.find("muon: a parameter that is no matrix; got [3]"), std::string::npos)
      << message;
  for (const Shape& shape : {Shape{4, 7}, Shape{7, 4}, Shape{1, 3}}) {
    Array w = zeros(shape).require_grad();
    Gradients gradients;
    gradients.set(w, random_normal(shape));
    optim::Muon({.rate = optim::Muon::Rate::match_rms_adamw})
        .step({{"w", &w}}, std::move(gradients), 1.0);
    const Array unit =
        w.detach() / (0.2 * std::sqrt(static_cast<double>(std::max(shape[0], shape[1]))));
    // Five times 3.4445 s - 4.775 s^3 + 2.0315 s^5 brings each s from 0.002 to 1 there.
    const Values sizes = svdvals(unit).to_doubles();
    EXPECT_EQ(sizes.size(), static_cast<std::size_t>(std::min(shape[0], shape[1])));
    for (const double size : sizes) {
      EXPECT_GT(size, 0.68);
      EXPECT_LT(size, 1.21);
    }
  }
}

TEST(Rules, GroupsHaveRatesAndDecaysOfTheirOwn) {
  for (const bool grouped : {false, true}) {
    Model model;
    optim::AdamW optimizer({.weight_decay = 0.5});
    if (grouped) {
      optimizer.set_groups(
          {{.holds = [](const Parameter& each) { return each.name == "b"; }, .rate = 0},
           {.holds = [](const Parameter& each) { return each.array->size() == 2; },
            .weight_decay = 0}});
    }
    optimizer.step(model, backward(model.loss()), 0.1);
    // The first step of Adam is the rate.
    expect_near(model.w, grouped ? Values{0.9, -1.9} : Values{0.85, -1.8}, 1e-5);
    expect_near(model.b, {grouped ? 0.5 : 0.375}, 1e-5);
  }
  optim::Sgd optimizer;
  const auto refused = [&](optim::Optimizer::Group group, const char* expected) {
    const std::string message = check::error_of(ErrorCode::invalid_argument,
                                                [&] { optimizer.set_groups({std::move(group)}); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  const auto always = [](const Parameter&) { return true; };
  refused({}, "set_groups: a group of no parameters");
  refused({.holds = always, .rate = -1}, "set_groups: rate out of range; got -1");
  refused({.holds = always, .rate = INFINITY}, "set_groups: rate out of range; got inf");
  refused({.holds = always, .weight_decay = NAN}, "set_groups: weight decay out of range; got nan");
}

TEST(Rules, GroupsHaveSchedules) {
  Model model;
  std::vector<std::int64_t> asked;
  optim::Sgd optimizer({.momentum = 0, .dampening = 0});
  const auto schedule = [&](std::int64_t step) {
    asked.push_back(step);
    return 0.5 / static_cast<double>(step + 1);
  };
  const auto always = [](const Parameter&) { return true; };
  optimizer.set_groups({{.holds = [](const Parameter& each) { return each.name == "b"; },
                         .rate = 0.5,
                         .schedule = schedule},
                        {.holds = always}});
  const auto slope = [&](const Array& leaf) {
    return backward(model.loss()).get(leaf).to_doubles();
  };
  for (int i = 0; i < 3; ++i) {
    const Values w = model.w.to_doubles(), b = model.b.to_doubles();
    const Values dw = slope(model.w), db = slope(model.b);
    optimizer.step(model, backward(model.loss()), 0.01);
    expect_near(model.w, {w[0] - 0.01 * dw[0], w[1] - 0.01 * dw[1]}, 1e-6);
    expect_near(model.b, {b[0] - 0.25 / (i + 1) * db[0]}, 1e-6);
  }
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 1, 2}));
  // A rate that is none changes nothing, and steps are those of a checkpoint.
  const Values before = model.w.to_doubles();
  optimizer.set_groups({{.holds = always, .schedule = [](std::int64_t) { return -1.0; }}});
  EXPECT_EQ(check::error_of(ErrorCode::invalid_argument,
                            [&] { optimizer.step(model, backward(model.loss()), 0.01); })
                .substr(0, 38),
            "step: learning rate out of range; got ");
  EXPECT_EQ(model.w.to_doubles(), before);
  optim::Sgd later({.momentum = 0, .dampening = 0});
  later.load_state_dict(optimizer.state_dict());
  later.set_groups({{.holds = always, .schedule = schedule}});
  later.step(model, backward(model.loss()), 0.01);
  EXPECT_EQ(asked.back(), 3);
}

TEST(Rules, GroupsCostNoPlans) {
  Model model;
  optim::Sgd optimizer;
  double factor = 1;
  const auto step = [&] {
    optimizer.set_groups({{.holds = [](const Parameter&) { return true; }, .rate = factor}});
    factor /= 2;
    optimizer.step(model, backward(model.loss()), 0.1);
  };
  for (int i = 0; i < 3; ++i) step();
  const Statistics before = statistics();
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(statistics().plan_misses, before.plan_misses);
}

TEST(Rules, RefuseNumbersOutOfRange) {
  const auto refused = [](const std::function<void()>& make, const char* expected) {
    const std::string message = check::error_of(ErrorCode::invalid_argument, make);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  refused([] { optim::Sgd({.momentum = NAN}); }, "sgd: momentum out of range; got nan");
  refused([] { optim::Sgd({.momentum = 1, .dampening = INFINITY}); }, "sgd: dampening");
  refused([] { optim::Adan({.beta3 = 1}); }, "adan: beta3 out of range; got 1, expected [0, 1)");
  refused([] { optim::Lion({.beta1 = -0.1}); }, "lion: beta1");
  refused([] { optim::AdaGrad({.epsilon = -1}); }, "adagrad: epsilon");
  refused([] { optim::RmsProp({.alpha = 1}); }, "rmsprop: alpha");
  refused([] { optim::Muon({.iterations = 101}); }, "muon: iterations");
  refused([] { optim::Lbfgs({.max_iterations = 0}); }, "lbfgs: max_iterations");
  refused([] { optim::Lbfgs({.history = INT64_MAX}); }, "lbfgs: history");
  refused([] { optim::ParameterMeans(1); }, "parameter_means: decay");
  refused([] { optim::LossScaler({.growth = 1}); }, "loss_scaler: growth");
  refused([] { optim::LossScaler({.scale = INFINITY}); }, "loss_scaler: scale");
}

}  // namespace
}  // namespace hearth
