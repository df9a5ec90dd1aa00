#include "models/resnet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/optim.h"
#include "layer_golden.h"

namespace hearth::models {
namespace {

ResNet network(const ResNetConfig& config, DType dtype = DType::f32) {
  Generator generator{3, 0};
  return ResNet(config, {dtype, Device(), &generator});
}

ResNetConfig small_network() {
  ResNetConfig config;
  config.blocks = {1, 2};
  config.width = 4;
  config.channels = 3;
  config.classes = 5;
  config.small_images = true;
  return config;
}

Array random_images(const Shape& shape, DType dtype = DType::f32) {
  Generator source{8, 0};
  return random_normal(shape, 0, 1, dtype, Device(), &source);
}

// Torchvision's table says 11,689,512, 21,797,672 and 25,557,032 for its weights.
TEST(ResNet, HasTheParametersOfTorchvision) {
  ResNetConfig config;
  const ResNet resnet18 = network(config);
  EXPECT_EQ(parameter_count(resnet18), 11689512);
  config.blocks = {3, 4, 6, 3};
  const ResNet resnet34 = network(config);
  EXPECT_EQ(parameter_count(resnet34), 21797672);
  config.bottleneck = true;
  const ResNet resnet50 = network(config);
  EXPECT_EQ(parameter_count(resnet50), 25557032);
}

TEST(ResNet, HasTheNamesOfTorchvision) {
  std::vector<std::string> names;
  const ResNet net = network(small_network());
  visit(net, [&](const std::string& name, const Array&) { names.push_back(name); });
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const char* name :
       {"conv1.weight", "bn1.weight", "bn1.running_var", "layer1.0.conv1.weight",
        "layer1.0.bn2.bias", "layer2.0.downsample.0.weight", "layer2.0.downsample.1.running_mean",
        "layer2.1.conv2.weight", "fc.weight", "fc.bias"}) {
    EXPECT_TRUE(has(name)) << name;
  }
  EXPECT_FALSE(has("layer1.0.downsample.0.weight"));
  EXPECT_FALSE(has("conv1.bias"));
  EXPECT_EQ(names.size(), 5u + 10 + 15 + 10 + 2);
}

TEST(ResNet, HasTheNamesOfTorchvisionsBottlenecks) {
  ResNetConfig config = small_network();
  config.bottleneck = true;
  std::map<std::string, Shape> shapes;
  const ResNet net = network(config);
  visit(net, [&](const std::string& name, const Array& array) { shapes[name] = array.shape(); });
  EXPECT_EQ(shapes["layer1.0.conv1.weight"], Shape({4, 4, 1, 1}));
  EXPECT_EQ(shapes["layer1.0.conv2.weight"], Shape({4, 4, 3, 3}));
  EXPECT_EQ(shapes["layer1.0.conv3.weight"], Shape({16, 4, 1, 1}));
  EXPECT_EQ(shapes["layer1.0.bn3.running_var"], Shape({16}));
  EXPECT_EQ(shapes["layer1.0.downsample.0.weight"], Shape({16, 4, 1, 1}));
  EXPECT_EQ(shapes["layer2.0.conv1.weight"], Shape({8, 16, 1, 1}));
  EXPECT_EQ(shapes["layer2.0.downsample.0.weight"], Shape({32, 16, 1, 1}));
  EXPECT_EQ(shapes["layer2.1.conv1.weight"], Shape({8, 32, 1, 1}));
  EXPECT_EQ(shapes["fc.weight"], Shape({5, 32}));
  EXPECT_FALSE(shapes.contains("layer2.1.downsample.0.weight"));
  EXPECT_EQ(shapes.size(), 5u + 20 + 20 + 15 + 2);
}

// What PyTorch gives for networks of the same parts (scripts/golden/layers.py).
void expect_pytorchs(const char* name, bool small_images, bool bottleneck, int parameters) {
  const testing::LayerCase golden(name);
  ResNetConfig config;
  config.blocks = {1, 2};
  config.bottleneck = bottleneck;
  config.width = 3;
  config.channels = 2;
  config.classes = 4;
  config.small_images = small_images;
  ResNet net = network(config, DType::f64);
  load_state_dict(net, golden.with("weight."));
  testing::expect_like(net.evaluate(golden["x"]), golden["evaluated"], 1e-12, "evaluated");
  const Array scores = net.forward(golden["x"]);
  testing::expect_like(scores, golden["scores"], 1e-12, "scores");
  const Gradients gradients =
      backward(cross_entropy(scores, Array::from_data(std::vector<std::int32_t>{3, 0, 2}, {3})));
  int compared = 0;
  visit(net, [&](const std::string& path, const Array& parameter) {
    if (path.find("running_") != std::string::npos) return;
    testing::expect_like(gradients.at(parameter), golden["gradient." + path], 1e-11, path);
    ++compared;
  });
  EXPECT_EQ(compared, parameters);
}

TEST(ResNet, AgreesWithPyTorch) {
  expect_pytorchs("resnet", false, false, 3 + 6 + 9 + 6 + 2);
  expect_pytorchs("resnet_small_images", true, false, 3 + 6 + 9 + 6 + 2);
  expect_pytorchs("resnet_bottleneck", false, true, 3 + 12 + 12 + 9 + 2);
}

TEST(ResNet, DividesExtentsAndTakesAnyOfThem) {
  ResNetConfig config = small_network();
  for (const Shape& shape : {Shape{2, 3, 32, 32}, Shape{1, 3, 7, 5}, Shape{2, 3, 1, 1}}) {
    EXPECT_EQ(network(config).forward(random_images(shape)).shape(), (Shape{shape[0], 5}));
  }
  config.small_images = false;
  EXPECT_EQ(network(config).forward(random_images({2, 3, 64, 48})).shape(), (Shape{2, 5}));
}

// Norms by the statistics that training has left: once these are those of the batch, both agree.
TEST(ResNet, EvaluatesByTheRunningStatistics) {
  ResNet net = network(small_network(), DType::f64);
  const Array images = random_images({8, 3, 8, 8}, DType::f64);
  const NoGrad no_grad;
  const Array before = net.evaluate(images);
  EXPECT_EQ(before.to_doubles(), net.evaluate(images).to_doubles());
  for (int i = 0; i < 300; ++i) static_cast<void>(net.forward(images).to_doubles());
  EXPECT_LT(max(abs(net.forward(images) - net.evaluate(images))).item(), 1e-6);
  EXPECT_GT(max(abs(before - net.evaluate(images))).item(), 1e-3);
}

TEST(ResNet, LearnsABatch) {
  for (const DType compute : {DType::f32, DType::bf16}) {
    ResNet net = network(small_network());
    optim::AdamW optimizer({.weight_decay = 0.01});
    const Array images = cast(random_images({10, 3, 12, 12}), compute);
    const Array labels =
        Array::from_data(std::vector<std::int32_t>{0, 1, 2, 3, 4, 4, 3, 2, 1, 0}, {10});
    double first = 0;
    double last = 0;
    for (int step = 0; step < 30; ++step) {
      const Array loss = cross_entropy(net.forward(images), labels);
      last = loss.item();
      if (step == 0) first = last;
      optimizer.step(net, backward(loss), 1e-2);
    }
    EXPECT_LT(last, first / 4) << name(compute);
  }
}

TEST(ResNet, RefusesWhatMakesNoNetwork) {
  const auto refused = [](auto change) {
    ResNetConfig config = small_network();
    change(config);
    EXPECT_THROW(network(config), Error);
  };
  refused([](ResNetConfig& config) { config.blocks = {}; });
  refused([](ResNetConfig& config) { config.blocks = {1, 0}; });
  refused([](ResNetConfig& config) { config.blocks.assign(9, 1); });
  refused([](ResNetConfig& config) { config.width = 0; });
  refused([](ResNetConfig& config) { config.channels = -1; });
  refused([](ResNetConfig& config) { config.classes = std::int64_t{1} << 40; });
  EXPECT_THROW(static_cast<void>(network(small_network()).forward(random_images({3, 8, 8}))),
               Error);
  EXPECT_THROW(static_cast<void>(network(small_network()).forward(random_images({2, 4, 8, 8}))),
               Error);
}

}  // namespace
}  // namespace hearth::models
