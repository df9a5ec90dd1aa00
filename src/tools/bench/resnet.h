// ResNet-50 and its training step, as the benchmarks train it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/nn.h"
#include "hearth/optim.h"

namespace hearth::tools {

struct ConvNorm {
  ConvNorm() = default;
  ConvNorm(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
           const nn::ParameterOptions& parameters);
  Array forward(const Array& x) { return norm.forward(conv.forward(x)); }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("conv", self.conv);
    visitor("norm", self.norm);
  }

  nn::Conv2d conv;
  nn::BatchNorm norm;
};

// Fewer channels, 3 x 3 with the stride, four times as many, and what came in added.
struct Bottleneck {
  Bottleneck() = default;
  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride,
             const nn::ParameterOptions& parameters);
  Array forward(const Array& x);

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("first", self.first);
    visitor("second", self.second);
    visitor("third", self.third);
    if (self.changes_shape) visitor("shortcut", self.shortcut);
  }

  ConvNorm first, second, third, shortcut;
  bool changes_shape = false;
};

struct ResNet50 {
  ResNet50() = default;
  explicit ResNet50(const nn::ParameterOptions& parameters);
  // Scores [batch, 1000] of images [batch, 3, height, width], in f32.
  Array forward(const Array& images);

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("stem", self.stem);
    visitor("blocks", self.blocks);
    visitor("head", self.head);
  }

  ConvNorm stem;
  std::vector<Bottleneck> blocks;
  nn::Linear head;
};

// One model with its optimizer and a batch: weights in f32, computed in `dtype`.
class ResNetTraining {
 public:
  ResNetTraining(std::int64_t batch, DType dtype, Device device);
  // Forward, backward and stochastic gradient descent with momentum, submitted.
  void step();
  double read_loss() const { return loss_.item(); }

 private:
  DType dtype_;
  ResNet50 model_;
  optim::Sgd optimizer_;
  Array images_, targets_, loss_;
};

}  // namespace hearth::tools
