#include "models/resnet.h"

#include <cmath>

#include "core/require.h"
#include "hearth/ops.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kBottleneckExpansion = 4;
constexpr std::int64_t kMaxStages = 8;
constexpr std::int64_t kMaxBlocks = 1000;

void check(const ResNetConfig& config) {
  constexpr std::int64_t kMax = std::int64_t{1} << 20;
  const auto size = [](const char* what, std::int64_t value) {
    require(value >= 1 && value <= kMax, "resnet", what, value, "1 to 2^20");
  };
  const auto stages = static_cast<std::int64_t>(config.blocks.size());
  require(stages >= 1 && stages <= kMaxStages, "resnet", "stages out of range", stages, "1 to 8");
  for (const std::int64_t blocks : config.blocks) {
    require(blocks >= 1 && blocks <= kMaxBlocks, "resnet", "blocks out of range", blocks,
            "1 to 1000");
  }
  size("width out of range", config.width);
  size("channels out of range", config.channels);
  size("classes out of range", config.classes);
}

// Without a bias, which the norm behind it would take away; drawn by the number of outputs (He et
// al. 2015, "fan out").
nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                       const nn::ParameterOptions& parameters) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(out * kernel * kernel));
  return {in,
          out,
          kernel,
          {.stride = {stride}, .padding = {kernel / 2}},
          {.bias = false,
           .initializer = nn::Initializer::normal(0, deviation),
           .parameters = parameters}};
}

nn::BatchNorm norm(std::int64_t channels, const nn::ParameterOptions& parameters) {
  return {channels, {.parameters = parameters}};
}

// How norms are applied is all that training and evaluation differ in.
struct Training {
  Array operator()(nn::BatchNorm& norm, const Array& x) const { return norm.forward(x); }
};
struct Evaluating {
  Array operator()(const nn::BatchNorm& norm, const Array& x) const { return norm.evaluate(x); }
};

template <class Block, class Normalise>
Array through_block(Block& block, const Array& x, Normalise normalise) {
  const Array inner = relu(normalise(block.bn1, block.conv1.forward(x)));
  Array added = normalise(block.bn2, block.conv2.forward(inner));
  if (block.conv3) added = normalise(*block.bn3, block.conv3->forward(relu(added)));
  if (!block.downsample) return relu(added + x);
  auto& [conv, its_norm] = block.downsample->layers;
  return relu(added + normalise(its_norm, conv.forward(x)));
}

template <class Network, class Normalise>
Array through(Network& network, const Array& images, Normalise normalise) {
  if (images.rank() != 4) {
    throw Error(ErrorCode::shape, "resnet: images of wrong rank; got " + to_string(images.shape()) +
                                      ", expected [batch, channels, height, width]");
  }
  Array x = relu(normalise(network.bn1, network.conv1.forward(images)));
  if (!network.config.small_images) x = max_pool(x, {3}, {.stride = {2}, .padding = {1}});
  for (auto& stage : network.stages) {
    for (auto& block : stage) x = through_block(block, x, normalise);
  }
  return network.fc.forward(mean(x, {2, 3}));
}

}  // namespace

ResNetBlock::ResNetBlock(std::int64_t in, std::int64_t width, std::int64_t stride, bool bottleneck,
                         const nn::ParameterOptions& options)
    : conv1(bottleneck ? convolution(in, width, 1, 1, options)
                       : convolution(in, width, 3, stride, options)),
      conv2(convolution(width, width, 3, bottleneck ? stride : 1, options)),
      bn1(norm(width, options)),
      bn2(norm(width, options)) {
  const std::int64_t out = bottleneck ? kBottleneckExpansion * width : width;
  if (bottleneck) {
    conv3.emplace(convolution(width, out, 1, 1, options));
    bn3.emplace(norm(out, options));
  }
  if (stride != 1 || in != out) {
    downsample.emplace(convolution(in, out, 1, stride, options), norm(out, options));
  }
}

ResNet::ResNet(const ResNetConfig& shape, const nn::ParameterOptions& parameters) : config(shape) {
  check(config);
  conv1 = config.small_images ? convolution(config.channels, config.width, 3, 1, parameters)
                              : convolution(config.channels, config.width, 7, 2, parameters);
  bn1 = norm(config.width, parameters);
  std::int64_t in = config.width;
  std::int64_t width = config.width;
  for (const std::int64_t blocks : config.blocks) {
    std::vector<ResNetBlock>& stage = stages.emplace_back();
    for (std::int64_t i = 0; i < blocks; ++i) {
      const bool halves = i == 0 && stages.size() > 1;
      stage.emplace_back(in, width, halves ? 2 : 1, config.bottleneck, parameters);
      in = config.bottleneck ? kBottleneckExpansion * width : width;
    }
    width *= 2;
  }
  fc = nn::Linear(in, config.classes, {.parameters = parameters});
}

Array ResNet::forward(const Array& images) { return through(*this, images, Training()); }

Array ResNet::evaluate(const Array& images) const { return through(*this, images, Evaluating()); }

}  // namespace hearth::models
