// Ten steps of each optimizer are those of PyTorch, or of a formula written there.
#include <gtest/gtest.h>

#include "hearth/optim.h"
#include "layer_golden.h"

namespace hearth {
namespace {

using testing::expect_like;
using testing::LayerCase;

constexpr double kTolerance = 1e-11;

struct TwoParameters {
  Array w, b, target;

  explicit TwoParameters(const LayerCase& golden)
      : w(golden["w"].require_grad()), b(golden["b"].require_grad()), target(golden["target"]) {}
  Array loss() const {
    return sum(square(w - target) * 0.5) + sum(sin(w)) + sum(square(square(b))) +
           sum(squeeze(narrow(w, 0, 0, 1)) * b);
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("w", self.w);
    visitor("b", self.b);
  }
};

// `others` steps what `optimizer` has no rule for.
template <class Optimizer>
void expect_trajectory(const std::string& name, Optimizer optimizer,
                       optim::Sgd* for_vectors = nullptr) {
  const LayerCase golden(name);
  TwoParameters model(golden);
  for (int i = 0; i < 10; ++i) {
    const double rate = 0.05 / (i + 1);
    Gradients gradients = backward(model.loss());
    if (for_vectors != nullptr) {
      for_vectors->step({{"b", &model.b}}, gradients, rate);
      optimizer.step({{"w", &model.w}}, std::move(gradients), rate);
    } else {
      optimizer.step(model, std::move(gradients), rate);
    }
    expect_like(model.w, golden["w." + std::to_string(i)], kTolerance, name);
    expect_like(model.b, golden["b." + std::to_string(i)], kTolerance, name);
  }
}

TEST(TorchTrajectories, Sgd) {
  // Burn's dampening is the default: named here nowhere.
  expect_trajectory("sgd", optim::Sgd({.momentum = 0.9, .weight_decay = 0.05}));
  expect_trajectory("sgd_nesterov",
                    optim::Sgd({.momentum = 0.9, .dampening = 0, .nesterov = true}));
}

TEST(TorchTrajectories, Adam) {
  expect_trajectory("adam", optim::Adam({.weight_decay = 0.05}));
  expect_trajectory("adam_amsgrad", optim::Adam({.beta1 = 0.5, .beta2 = 0.6, .amsgrad = true}));
  expect_trajectory("adamw", optim::AdamW({.weight_decay = 0.3}));
  expect_trajectory(
      "adamw_amsgrad",
      optim::AdamW({.beta1 = 0.5, .beta2 = 0.6, .weight_decay = 0.3, .amsgrad = true}));
  expect_trajectory("adamw_cautious", optim::AdamW({.weight_decay = 0.3, .cautious = true}));
}

TEST(TorchTrajectories, Adaptive) {
  expect_trajectory("adagrad", optim::AdaGrad({.rate_decay = 0.2, .weight_decay = 0.05}));
  expect_trajectory("rmsprop", optim::RmsProp({.weight_decay = 0.05}));
  expect_trajectory("rmsprop_centered", optim::RmsProp({.momentum = 0, .centered = true}));
}

TEST(TorchTrajectories, Others) {
  expect_trajectory("lion", optim::Lion({.weight_decay = 0.1}));
  expect_trajectory("adan", optim::Adan({.weight_decay = 0.1}));
  expect_trajectory("adan_no_prox", optim::Adan({.weight_decay = 0.1, .no_prox = true}));
  optim::Sgd for_vectors;
  expect_trajectory("muon", optim::Muon({.weight_decay = 0.1}), &for_vectors);
}

TEST(TorchTrajectories, Lbfgs) {
  const auto descend = [](const std::string& name, optim::Lbfgs optimizer, double rate) {
    const LayerCase golden(name);
    Array x = Array::from_data(std::vector<double>{-1.5, 2.0, 0.5}, {3}).require_grad();
    const auto loss = [&] {
      const Array head = narrow(x, 0, 0, 2), tail = narrow(x, 0, 1, 2);
      return sum(square(tail - square(head)) * 100.0 + square(1.0 - head));
    };
    for (int i = 0; i < 4; ++i) {
      const double before = optimizer.step({{"x", &x}}, loss, rate);
      EXPECT_NEAR(before, golden["loss." + std::to_string(i)].item(), 1e-8 * std::abs(before));
      expect_like(x, golden["x." + std::to_string(i)], 1e-8, name);
      // A state that is saved and loaded goes on as it was.
      optim::Lbfgs other = optimizer;
      other.load_state_dict(optimizer.state_dict());
      optimizer = other;
    }
  };
  descend("lbfgs", optim::Lbfgs({.max_iterations = 5, .history = 3}), 0.001);
  descend("lbfgs_strong_wolfe", optim::Lbfgs({.max_iterations = 6, .strong_wolfe = true}), 1);
}

}  // namespace
}  // namespace hearth
