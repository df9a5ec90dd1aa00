#include "tools/bench/resnet.h"

#include <algorithm>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/random.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kImageSize = 224;
constexpr std::int64_t kClasses = 1000;

struct Stage {
  std::int64_t blocks, width, stride;
};
constexpr Stage kStages[] = {{3, 64, 1}, {4, 128, 2}, {6, 256, 2}, {3, 512, 2}};

}  // namespace

ConvNorm::ConvNorm(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                   const nn::ParameterOptions& parameters)
    : conv(in, out, kernel, {.stride = {stride}, .padding = {kernel / 2}},
           {.bias = false, .parameters = parameters}),
      norm(out, {.parameters = parameters}) {}

Bottleneck::Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride,
                       const nn::ParameterOptions& parameters)
    : first(in, width, 1, 1, parameters),
      second(width, width, 3, stride, parameters),
      third(width, 4 * width, 1, 1, parameters),
      changes_shape(in != 4 * width || stride != 1) {
  if (changes_shape) shortcut = ConvNorm(in, 4 * width, 1, stride, parameters);
}

Array Bottleneck::forward(const Array& x) {
  const Array inner = third.forward(relu(second.forward(relu(first.forward(x)))));
  return relu(add(inner, changes_shape ? shortcut.forward(x) : x));
}

ResNet50::ResNet50(const nn::ParameterOptions& parameters) : stem(3, 64, 7, 2, parameters) {
  std::int64_t in = 64;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      blocks.emplace_back(in, stage.width, i == 0 ? stage.stride : 1, parameters);
      in = 4 * stage.width;
    }
  }
  head = nn::Linear(in, kClasses, {.parameters = parameters});
}

Array ResNet50::forward(const Array& images) {
  Array x = max_pool(relu(stem.forward(images)), {3, 3}, {.stride = {2}, .padding = {1}});
  for (Bottleneck& block : blocks) x = block.forward(x);
  return cast(head.forward(mean(x, {2, 3})), DType::f32);
}

ResNetTraining::ResNetTraining(std::int64_t batch, DType dtype, Device device)
    : dtype_(dtype), optimizer_({.momentum = 0.9, .dampening = 0}) {
  Generator generator{1, 0};
  model_ = ResNet50({.device = device, .generator = &generator});
  images_ = random_normal({batch, 3, kImageSize, kImageSize}, 0, 1, DType::f32, device, &generator);
  targets_ = random_integers({batch}, 0, kClasses, DType::i32, device, &generator);
  submit();
}

void ResNetTraining::step() {
  loss_ = cross_entropy(model_.forward(cast(images_, dtype_)), targets_);
  optimizer_.step(model_, backward(loss_), 0.01);
}

}  // namespace hearth::tools
