// Layers that are chosen at run time are the layers, and modules move to devices as a whole.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/nn.h"
#include "hearth/optim.h"

namespace hearth {
namespace {

using check::expect_values;

std::vector<std::string> names_of(const auto& module) {
  std::vector<std::string> names;
  visit(module, [&](const std::string& name, const Array&) { names.push_back(name); });
  return names;
}

TEST(AnyActivation, IsEachByItsName) {
  const Array x = check::random_array({3, 4}, DType::f64, -3, 3);
  int count = 0;
  for (; !nn::name(static_cast<nn::Activation>(count)).empty(); ++count) {
    const auto activation = static_cast<nn::Activation>(count);
    const Array expected = nn::activate(activation, x);
    expect_values(nn::AnyActivation(activation).forward(x), expected.shape(),
                  expected.to_doubles());
  }
  EXPECT_EQ(count, 25);
  EXPECT_EQ(nn::name(nn::Activation::thresholded_relu), "thresholded_relu");
  EXPECT_EQ(nn::activate(nn::Activation::glu, x).shape(), Shape({3, 2}));
  EXPECT_EQ(nn::activate(nn::Activation::celu, x).to_doubles(), celu(x).to_doubles());
  EXPECT_EQ(check::error_of(ErrorCode::invalid_argument,
                            [] { nn::AnyActivation(static_cast<nn::Activation>(99)); }),
            "activation: no such activation; got 99, expected one of Activation");
}

TEST(AnyActivation, HasOptionsParametersAndNoise) {
  const Array x = check::random_array({3, 4}, DType::f32, -3, 3);
  const nn::AnyActivation leaky = nn::LeakyRelu(0.2);
  EXPECT_EQ(leaky.forward(x).to_doubles(), leaky_relu(x, 0.2).to_doubles());
  EXPECT_TRUE(names_of(leaky).empty());
  const nn::AnyActivation slopes = nn::PRelu(4);
  EXPECT_EQ(names_of(slopes), (std::vector<std::string>{"weight"}));
  const nn::AnyActivation gated = nn::SwiGlu(4, 6);
  EXPECT_EQ(gated.forward(Tensor<2>(x)).shape(), Shape({3, 6}));
  EXPECT_EQ(names_of(gated).front(), "linear_inner.weight");
  const nn::AnyActivation noisy = nn::RRelu();
  EXPECT_NE(noisy.forward(x).to_doubles(), noisy.forward(x).to_doubles());
  EXPECT_EQ(noisy.forward(x, false).to_doubles(), leaky_relu(x, 11.0 / 48).to_doubles());
  nn::Sequential model(nn::Linear(4, 4), nn::AnyActivation(nn::Activation::relu), gated);
  EXPECT_EQ(model.evaluate(Tensor<2>(x)).shape(), Shape({3, 6}));
  EXPECT_EQ(names_of(model).back(), "2.linear_outer.weight");
}

TEST(Normalization, IsEachNorm) {
  const Array x = check::random_array({3, 4, 4}, DType::f32);
  const auto is = [&](nn::Normalization norm, const Array& expected) {
    EXPECT_EQ(norm.evaluate(x).to_doubles(), expected.to_doubles());
    if (norm.norm.index() != 1) {
      EXPECT_EQ(norm.forward(Tensor<3>(x)).array().to_doubles(), expected.to_doubles());
    }
  };
  is(nn::Normalization(), x);
  is(nn::Normalization(4, {.kind = nn::NormKind::none}), x);
  is(nn::Normalization(4, {.kind = nn::NormKind::batch}), nn::BatchNorm(4).evaluate(x));
  is(nn::Normalization(4, {.kind = nn::NormKind::group, .groups = 2}),
     nn::GroupNorm(2, 4).forward(x));
  is(nn::Normalization(4, {.kind = nn::NormKind::instance, .affine = false}),
     nn::InstanceNorm(4).forward(x));
  is(nn::Normalization(4, {.kind = nn::NormKind::layer, .epsilon = 0.1, .bias = false}),
     nn::LayerNorm(4, 0.1).forward(x));
  is(nn::RmsNorm(4), nn::RmsNorm(4).forward(x));
  EXPECT_EQ(names_of(nn::Normalization(4, {.kind = nn::NormKind::rms})),
            (std::vector<std::string>{"weight"}));
  EXPECT_TRUE(
      names_of(nn::Normalization(4, {.kind = nn::NormKind::group, .affine = false})).empty());
  nn::Normalization batch(4, {.kind = nn::NormKind::batch, .momentum = 1});
  nn::BatchNorm plain(4, {.momentum = 1});
  EXPECT_EQ(batch.forward(x).to_doubles(), plain.forward(x).to_doubles());
  EXPECT_EQ(state_dict(batch)[2].array.to_doubles(), plain.running_mean.array().to_doubles());
  EXPECT_EQ(parameter_count(batch), 8);
  check::expect_error(ErrorCode::invalid_argument,
                      [] { nn::Normalization(4, {.kind = nn::NormKind::group, .groups = 3}); });
  check::expect_error(ErrorCode::invalid_argument,
                      [] { nn::Normalization(4, {.kind = static_cast<nn::NormKind>(9)}); });
}

struct Tied {
  nn::Embedding table{5, 4};
  nn::BatchNorm norm{4};
  Tensor<2> head = table.weight;
  static void members(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("norm", self.norm);
    visitor("head", self.head);
  }
};

TEST(ToDevice, MovesParametersBuffersAndWhatOptimizersKeep) {
  const Device near = Device::cpu(), far = testing::devices_under_test().back();
  Tied model;
  to_device(model, near);
  const NamedArrays before = state_dict(model);
  const std::uint64_t id = gradient_id(model.table.weight.array());
  optim::Adam optimizer;
  const auto step = [&] {
    optimizer.step(model, backward(sum(square(model.head.array()))), 0.1, {.require_all = true});
  };
  Tied other = model;
  unfreeze(other);
  to_device(model, far);
  const NamedArrays after = state_dict(model);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_TRUE(after[i].array.device() == far) << after[i].name;
    EXPECT_EQ(after[i].array.to_doubles(), before[i].array.to_doubles());
  }
  EXPECT_EQ(gradient_id(model.table.weight.array()), id);
  EXPECT_EQ(model.head.array().identity(), model.table.weight.array().identity());
  EXPECT_TRUE(model.norm.weight.is_require_grad());
  EXPECT_FALSE(model.norm.running_mean.is_require_grad());
  step();
  to_device(model, near);
  step();
  to_device(model, far);
  step();
  const auto moved = model.head.array().to_doubles();
  optim::Adam still;
  for (int i = 0; i < 3; ++i) still.step(other, backward(sum(square(other.head.array()))), 0.1);
  check::expect_close(other.head.array(), moved, 1e-6);
  std::vector<nn::Linear> layers(2, nn::Linear(2, 3));
  to_device(layers, far);
  EXPECT_TRUE(layers[1].bias.device() == far);
  // Values are copied.
  Array x = ones({2}).eval();
  const Array there = to_device(x, far);
  EXPECT_TRUE(there.device() == far);
}

}  // namespace
}  // namespace hearth
