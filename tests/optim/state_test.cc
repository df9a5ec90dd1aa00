// The state that optimizers keep: whose it is, how long, and how it is saved.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "error_text.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "hearth/tensor.h"
#include "optim/model.h"

namespace hearth {
namespace {

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

TEST(Optimizer, StandsBesideItsModelInOneFile) {
  Model model, other;
  optim::Adam adam, resumed;
  adam.step(model, backward(model.loss()), 0.1);
  const NamedArrays saved =
      joined({{"model", state_dict(model)}, {"adam", adam.state_dict()}, {"model2", {}}});
  EXPECT_EQ(saved[0].name, "model.w");
  load_state_dict(other, part(saved, "model"));
  resumed.load_state_dict(part(saved, "adam"));
  adam.step(model, backward(model.loss()), 0.1);
  resumed.step(other, backward(other.loss()), 0.1);
  EXPECT_EQ(other.w.to_doubles(), model.w.to_doubles());
  EXPECT_LOCATED(part(saved, "mod"));
}

TEST(Optimizer, StepsAreCountedForEachParameter) {
  Model both[2], alone;
  optim::Adam shared, own;
  for (int i = 0; i < 4; ++i) {
    own.step(alone, backward(alone.loss()), 0.1);
    for (Model& model : both) {
      shared.step({{"w", &model.w}}, backward(sum(square(model.w))), 0.1);
    }
  }
  EXPECT_EQ(shared.steps(), 8);
  for (const Model& model : both) EXPECT_EQ(model.w.to_doubles(), alone.w.to_doubles());

  // A parameter that was not in each step goes on where it was.
  Model late, whole;
  optim::Adam one, three;
  one.step(late, backward(sum(square(late.w))), 0.1);
  one.step(late, backward(late.loss()), 0.1);
  const NamedArrays state = one.state_dict();
  EXPECT_EQ(state[2].name, "b.steps");
  EXPECT_EQ(state[2].array.item<std::int64_t>(), 1);
  EXPECT_EQ(state.size(), 6u) << "w was in each";
  three.load_state_dict(state);
  load_state_dict(whole, state_dict(late));
  one.step(late, backward(late.loss()), 0.1);
  three.step(whole, backward(whole.loss()), 0.1);
  EXPECT_EQ(whole.b.to_doubles(), late.b.to_doubles());
  EXPECT_THROW(three.load_state_dict({{"x.steps", state[2].array}, state.back()}), Error);
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
    EXPECT_EQ(optimizer.state_dict().size(), loads ? 3u : 5u) << "steps of w and b, begun anew";
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
  EXPECT_EQ(optimizer.state_dict().size(), 3u) << "w.momentum, w.steps and steps alone";
  optimizer.step({loose}, backward(sum(-loose)), 0.01);
  expect_near(loose, {0.01}, 1e-8);

  OneWeight longer(3);
  adam.step(longer, backward(sum(longer.w)), 0.1);
  EXPECT_EQ(adam.steps(), 2);
  EXPECT_EQ(adam.state_dict()[0].array.shape(), Shape({3}));
}

TEST(Optimizer, AParameterOfAnotherShapeIsNamedAndBlocksNoOther) {
  OneWeight changed(2);
  Model other;
  optim::Adam optimizer;
  const auto step = [&] { optimizer.step(changed, backward(sum(changed.w)), 0.1); };
  step();
  changed.w.assign(zeros({3}));
  const std::string message = check::error_of(ErrorCode::shape, step);
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
    const std::string message = check::error_of(
        ErrorCode::dtype, [&] { optimizer.step(model, backward(model.loss()), 0.1); });
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
  Failing() : Optimizer(SlotNames{{"sum"}}) {}

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

}  // namespace
}  // namespace hearth
