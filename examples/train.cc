// Learning two interleaved half circles with a small network and AdamW.
#include <cmath>
#include <iostream>
#include <vector>

#include "hearth/hearth.h"

using namespace hearth;

namespace {

struct Network {
  nn::Linear first{2, 32};
  nn::Linear second{32, 32};
  nn::Linear last{32, 2};

  // Points [batch, 2] to scores [batch, 2].
  Tensor<2> forward(const Tensor<2>& points) const {
    const auto h = activation::silu(first.forward(points));
    return last.forward(activation::silu(second.forward(h)));
  }

  static void members(auto& self, auto&& visitor) {
    visitor("first", self.first);
    visitor("second", self.second);
    visitor("last", self.last);
  }
};

}  // namespace

int main() {
  constexpr int kPoints = 256;
  std::vector<float> points;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < kPoints; ++i) {
    const double angle = 3.14159265 * (i / 2) / (kPoints / 2);
    const bool lower = i % 2 == 1;
    points.push_back(static_cast<float>(lower ? 1 - std::cos(angle) : std::cos(angle)));
    points.push_back(static_cast<float>(lower ? 0.5 - std::sin(angle) : std::sin(angle)));
    labels.push_back(lower ? 1 : 0);
  }
  const auto x = Tensor<2>::from_data(points, {kPoints, 2});
  const auto y = Tensor<1, Int>::from_data(labels, {kPoints});

  seed(1);
  Network network;
  optim::AdamW optimizer({.weight_decay = 0.01});
  constexpr int kSteps = 300;
  const optim::Schedule rate = optim::linear_warm_up(20, optim::cosine(0.02, kSteps - 20));
  double loss_value = 0;
  for (int step = 0; step < kSteps; ++step) {
    const Tensor<1> loss = loss::cross_entropy_with_logits(network.forward(x), y);
    Gradients gradients = loss.backward();
    optim::clip_by_norm(gradients, 1.0);
    optimizer.step(network, std::move(gradients), rate(step));
    if (step % 50 == 0 || step + 1 == kSteps) {
      loss_value = loss.item();
      std::cout << "step " << step << "  loss " << loss_value << "\n";
    }
  }
  const auto guesses = network.forward(x).argmax(1).squeeze_dim(1);
  const double right = guesses.equal(y).float_().mean().item();
  std::cout << "right: " << 100 * right << " %\n";
  return loss_value < 0.1 && right > 0.97 ? 0 : 1;
}
