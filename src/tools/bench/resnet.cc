#include "tools/bench/resnet.h"

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/random.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kImageSize = 224;
constexpr std::int64_t kClasses = 1000;

}  // namespace

ResNetTraining::ResNetTraining(std::int64_t batch, DType dtype, Device device)
    : dtype_(dtype), optimizer_({.momentum = 0.9, .dampening = 0}) {
  Generator generator{1, 0};
  models::ResNetConfig config;
  config.blocks = {3, 4, 6, 3};
  config.bottleneck = true;
  config.classes = kClasses;
  model_ = models::ResNet(config, {.device = device, .generator = &generator});
  images_ = random_normal({batch, 3, kImageSize, kImageSize}, 0, 1, DType::f32, device, &generator);
  targets_ = random_integers({batch}, 0, kClasses, DType::i32, device, &generator);
  submit();
}

void ResNetTraining::step() {
  const Array scores = model_.forward(cast(images_, dtype_));
  loss_ = cross_entropy(cast(scores, DType::f32), targets_);
  optimizer_.step(model_, backward(loss_), 0.01);
}

}  // namespace hearth::tools
