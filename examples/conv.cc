// A convolutional network that tells squares from rings and crosses, on images drawn here: conv2d,
// batch norm and max_pool2d make features, a linear layer the scores.
#include <cstdlib>
#include <iostream>
#include <utility>

#include "hearth/hearth.h"

using namespace hearth;

namespace {

constexpr std::int64_t kSide = 16, kShapes = 3;

struct Network {
  nn::Sequential<nn::Conv2d, nn::BatchNorm, nn::Relu, nn::MaxPool2d, nn::Conv2d, nn::BatchNorm,
                 nn::Relu, nn::MaxPool2d>
      features{nn::Conv2d(1, 8, 3, {.padding = {1}}),
               nn::BatchNorm(8),
               nn::Relu(),
               nn::MaxPool2d{2},  // [batch, 8, 8, 8]
               nn::Conv2d(8, 16, 3, {.padding = {1}}),
               nn::BatchNorm(16),
               nn::Relu(),
               nn::MaxPool2d{2}};  // [batch, 16, 4, 4]
  nn::Linear classes{16 * 4 * 4, kShapes};

  // Images [batch, 1, side, side] to scores [batch, shapes].
  Tensor<2> forward(const Tensor<4>& images, bool training) {
    return classes.forward(features.forward(images, training).flatten<2>(1, -1));
  }

  static void members(auto& self, auto&& visitor) {
    visitor("features", self.features);
    visitor("classes", self.classes);
  }
};

struct Images {
  Tensor<4> pixels;
  Tensor<1, Int> labels;
};

// One shape an image, of any size and place, under noise.
Images drawn(std::int64_t count) {
  const auto labels = Tensor<1, Int>(random_integers({count}, 0, kShapes));
  const auto which = labels.reshape({count, 1, 1});
  const auto place = Tensor<3>(random_uniform({count, 1, 1}, 5, 11));
  const auto size = Tensor<3>(random_uniform({count, 1, 1}, 2.5, 5));
  const auto along = Tensor<1>(linear_ramp(kSide, 0, 1));
  const auto x = (along.reshape({1, 1, kSide}) - place).abs() / size;
  const auto y = (along.reshape({1, kSide, 1}) - place).abs() / size;
  const auto farthest = x.max_pair(y);
  const auto inside = farthest < 1.0;
  const auto square = inside.float_();
  const auto ring = (inside & (farthest > 0.6)).float_();
  const auto cross = (inside & (x.min_pair(y) < 0.3)).float_();
  const auto shape = square.mask_where((which == 1).expand({count, kSide, kSide}), ring)
                         .mask_where((which == 2).expand({count, kSide, kSide}), cross);
  const auto noise = Tensor<3>(random_normal({count, kSide, kSide}, 0, 0.3));
  return {(shape + noise).reshape({count, 1, kSide, kSide}), labels};
}

}  // namespace

int main() {
  seed(1);
  Network network;
  optim::AdamW optimizer;
  constexpr int kSteps = 120;
  for (int step = 0; step < kSteps; ++step) {
    const Images batch = drawn(64);
    const auto scores = network.forward(batch.pixels, true);
    const Tensor<1> loss = loss::cross_entropy_with_logits(scores, batch.labels);
    optimizer.step(network, loss.backward(), 3e-3);
    if (step % 20 == 0 || step + 1 == kSteps) {
      std::cout << "step " << step << "  loss " << loss.item() << "\n";
    }
  }
  const Images held_out = drawn(512);
  const auto guesses = network.forward(held_out.pixels, false).argmax(1).squeeze_dim(1);
  const double right = guesses.equal(held_out.labels).float_().mean().item();
  std::cout << "right: " << 100 * right << " %\n";
  return right > 0.95 ? EXIT_SUCCESS : EXIT_FAILURE;
}
