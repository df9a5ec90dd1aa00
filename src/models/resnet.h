// Residual networks (He et al. 2016) of basic blocks, as ResNet-18 and ResNet-34, or of
// bottlenecks, as ResNet-50, for large images and for small ones. Names and shapes are those of
// torchvision's ResNet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/nn.h"

namespace hearth::models {

struct ResNetConfig {
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};  // of each stage
  // Two convolutions of 3 x 3 a block; or 1 x 1, 3 x 3 and 1 x 1, the last with four times as many
  // channels as the others.
  bool bottleneck = false;
  std::int64_t width = 64;    // channels of the 3 x 3 of the first stage; each stage has twice
  std::int64_t channels = 3;  // of images
  std::int64_t classes = 1000;
  // Starts with a 3 x 3 convolution that keeps the extents, instead of one of 7 x 7 and a pool that
  // divide them by 4.
  bool small_images = false;
};

struct ResNetBlock {
  ResNetBlock() = default;
  // Of `in` channels, with `width` of them in its 3 x 3. Stride 2 halves the extents.
  ResNetBlock(std::int64_t in, std::int64_t width, std::int64_t stride, bool bottleneck,
              const nn::ParameterOptions& options);

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("conv1", self.conv1);
    visitor("bn1", self.bn1);
    visitor("conv2", self.conv2);
    visitor("bn2", self.bn2);
    visitor("conv3", self.conv3);
    visitor("bn3", self.bn3);
    visitor("downsample", self.downsample);
  }

  nn::Conv2d conv1, conv2;
  nn::BatchNorm bn1, bn2;
  // Of a bottleneck.
  std::optional<nn::Conv2d> conv3;
  std::optional<nn::BatchNorm> bn3;
  // Of the shortcut, where extents or channels change.
  std::optional<nn::Sequential<nn::Conv2d, nn::BatchNorm>> downsample;
};

struct ResNet {
  ResNet() = default;
  // Parameters in f32, or as `parameters` says, drawn as torchvision does. Throws
  // Error{invalid_argument} for numbers that make no network.
  ResNet(const ResNetConfig& shape, const nn::ParameterOptions& parameters);

  // Images [batch, channels, height, width] to scores [batch, classes], in the dtype of the images:
  // while training by the statistics of the batch, which the running ones follow.
  Array forward(const Array& images);
  // By the running statistics, and changes nothing.
  Array evaluate(const Array& images) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("conv1", self.conv1);
    visitor("bn1", self.bn1);
    int number = 0;
    for (auto& stage : self.stages) visitor("layer" + std::to_string(++number), stage);
    visitor("fc", self.fc);
  }

  ResNetConfig config;
  nn::Conv2d conv1;
  nn::BatchNorm bn1;
  std::vector<std::vector<ResNetBlock>> stages;
  nn::Linear fc;
};

}  // namespace hearth::models
