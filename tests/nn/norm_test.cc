// Layers of normalised channels and of deformable convolution.
#include "hearth/nn/norm.h"

#include "hearth/nn/deform_conv.h"
#include "hearth/optim.h"
#include "ops/channel_golden.h"

namespace hearth {
namespace {

using namespace check;

TEST(BatchNorm, FollowsTheStatisticsWhileTraining) {
  nn::BatchNorm layer(4);
  const ChannelCase golden("batch_norm_train");
  const Array x = golden.array("x", DType::f32);
  Values mean(4, 0), variance(4, 1);
  const Values of_batch = golden.values("mean"), spread = golden.values("variance");
  for (int step = 0; step < 3; ++step) {
    const Array out = layer.forward(x);
    expect_close(out, std::get<0>(batch_norm_train(x)).to_doubles(), 1e-6);
    for (std::size_t i = 0; i < 4; ++i) {
      mean[i] = 0.9 * mean[i] + 0.1 * of_batch[i];
      // The biased variance, where PyTorch takes the other.
      variance[i] = 0.9 * variance[i] + 0.1 * spread[i];
    }
    expect_close(layer.running_mean.array(), mean, 1e-5);
    expect_close(layer.running_var.array(), variance, 1e-5);
  }
  const Array evaluated = layer.forward(x, false);
  expect_close(evaluated,
               batch_norm(x, layer.running_mean.array(), layer.running_var.array()).to_doubles(),
               1e-6);
  expect_close(layer.running_mean.array(), mean, 1e-5);
  const nn::BatchNorm& fixed = layer;
  expect_close(fixed.evaluate(x), evaluated.to_doubles(), 0);
  (void)layer.forward(zeros({0, 4, 2}));
  expect_close(layer.running_mean.array(), mean, 1e-5);
}

TEST(BatchNorm, StatisticsAreSavedAndNeverTrained) {
  nn::BatchNorm layer(3);
  (void)layer.forward(random_array({5, 3}, DType::f32, 2, 3));
  const NamedArrays saved = state_dict(layer);
  ASSERT_EQ(saved.size(), 4u);
  EXPECT_EQ(saved[2].name, "running_mean");
  EXPECT_EQ(saved[3].name, "running_var");
  nn::BatchNorm other(3);
  load_state_dict(other, saved);
  expect_close(other.running_mean.array(), layer.running_mean.array().to_doubles(), 0);
  expect_close(other.running_var.array(), layer.running_var.array().to_doubles(), 0);
  // Not even by an optimizer that shrinks what it steps, or where a caller has made leaves of them.
  other.running_mean = other.running_mean.require_grad();
  const Values before = other.running_mean.array().to_doubles();
  optim::AdamW optimizer({.weight_decay = 0.5});
  const Array x = random_array({4, 3}, DType::f32);
  optimizer.step(other, backward(sum(square(other.forward(x, false)))), 0.1);
  expect_close(other.running_mean.array(), before, 0);
  EXPECT_NE(other.weight.array().to_doubles(), Values(3, 1));
  // Copies keep what they have.
  nn::BatchNorm copy = layer;
  const Values kept = layer.running_mean.array().to_doubles();
  (void)copy.forward(x);
  expect_close(layer.running_mean.array(), kept, 0);
}

// Its statistics are buffers: unfreeze() makes no leaves of them, and nothing counts them.
TEST(BatchNorm, StatisticsAreBuffers) {
  nn::BatchNorm layer(8);
  EXPECT_EQ(parameter_count(layer), 16);
  EXPECT_EQ(summary(layer).find("running_"), std::string::npos) << summary(layer);
  std::vector<std::string> buffers;
  for (const Parameter& each : parameters(layer)) {
    if (each.is_buffer) buffers.push_back(each.name);
  }
  EXPECT_EQ(buffers, (std::vector<std::string>{"running_mean", "running_var"}));
  freeze(layer);
  EXPECT_FALSE(layer.weight.is_require_grad());
  unfreeze(layer);
  EXPECT_TRUE(layer.weight.is_require_grad());
  EXPECT_FALSE(layer.running_mean.is_require_grad());
  EXPECT_FALSE(layer.running_var.is_require_grad());
  // L-BFGS, which joins all leaves, meets the same ones in every step.
  const Array x = random_array({6, 8}, DType::f32);
  optim::Lbfgs optimizer;
  const auto loss = [&] { return sum(square(layer.forward(x) - 1)); };
  const double before = optimizer.step(layer, loss, 0.1);
  EXPECT_LT(optimizer.step(layer, loss, 0.1), before);
}

TEST(BatchNorm, TrainsInHalves) {
  nn::BatchNorm layer(3);
  const Array x = random_array({6, 3, 2}, DType::bf16, 10, 11);
  const Array out = layer.forward(x);
  EXPECT_EQ(out.dtype(), DType::bf16);
  EXPECT_EQ(layer.running_mean.dtype(), DType::f32);
  const Gradients gradients = backward(sum(cast(square(out), DType::f32)));
  EXPECT_EQ(gradients.at(layer.weight).dtype(), DType::f32);
  const Tensor<3> typed(x);
  EXPECT_EQ(layer.forward(typed).dtype(), DType::bf16);
  EXPECT_EQ(layer.evaluate(typed).shape(), x.shape());
}

TEST(BatchNorm, Refuses) {
  expect_error(ErrorCode::invalid_argument, [] { nn::BatchNorm layer(-1); });
  expect_error(ErrorCode::invalid_argument, [] { nn::BatchNorm layer(2, {.momentum = 2}); });
  nn::BatchNorm layer(2);
  expect_error(ErrorCode::shape, [&] { (void)layer.forward(zeros({4, 3})); });
  expect_error(ErrorCode::shape, [&] { (void)layer.evaluate(zeros({4, 3})); });
  expect_error(ErrorCode::dtype, [&] { (void)layer.forward(zeros({4, 2}, DType::i32)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)layer.forward(Array()); });
  nn::BatchNorm empty;
  expect_error(ErrorCode::invalid_argument, [&] { (void)empty.forward(zeros({4, 2}), false); });
}

TEST(GroupNorm, LayersCallTheOps) {
  const Array x = random_array({2, 4, 3}, DType::f32);
  const nn::GroupNorm groups(2, 4);
  expect_close(groups.forward(x), group_norm(x, 2).to_doubles(), 1e-6);
  EXPECT_EQ(state_dict(groups).size(), 2u);
  const nn::GroupNorm plain(2, 4, {.epsilon = 0.5, .affine = false});
  expect_close(plain.forward(x), group_norm(x, 2, Array(), Array(), 0.5).to_doubles(), 1e-6);
  EXPECT_EQ(state_dict(plain).size(), 0u);
  const nn::InstanceNorm instances(4);
  expect_close(instances.forward(x), instance_norm(x).to_doubles(), 1e-6);
  const nn::LocalResponseNorm response{.size = 3};
  expect_close(response.forward(x), local_response_norm(x, 3).to_doubles(), 0);
  EXPECT_EQ(response.forward(Tensor<3>(x)).shape(), x.shape());
  expect_error(ErrorCode::invalid_argument, [] { nn::GroupNorm layer(3, 4); });
  expect_error(ErrorCode::invalid_argument, [] { nn::GroupNorm layer(0, 4); });
  expect_error(ErrorCode::invalid_argument, [] { nn::InstanceNorm layer(-4); });
}

TEST(DeformConv2d, CallsTheOp) {
  const nn::DeformConv2d layer(4, 6, {3, 2}, {{2, 1}, {1, 2}, {1, 2}, 2, 2});
  EXPECT_EQ(layer.weight.shape(), (Shape{6, 2, 3, 2}));
  const Array x = random_array({2, 4, 6, 5}, DType::f32);
  const Array offset = random_array({2, 24, 3, 7}, DType::f32);
  const Array mask = random_array({2, 12, 3, 7}, DType::f32, 0, 1);
  const Array expected =
      deform_conv2d(x, offset, layer.weight.array(), mask, layer.bias.array(), layer.window);
  expect_close(layer.forward(x, offset, mask), expected.to_doubles(), 0);
  expect_close(layer.forward(Tensor<4>(x), Tensor<4>(offset), Tensor<4>(mask)).array(),
               expected.to_doubles(), 0);
  const nn::DeformConv2d bare(4, 6, 1, {}, {.bias = false});
  EXPECT_EQ(state_dict(bare).size(), 1u);
  expect_error(ErrorCode::invalid_argument,
               [] { nn::DeformConv2d refused(4, 6, 3, {.offset_groups = 3}); });
  expect_error(ErrorCode::invalid_argument,
               [] { nn::DeformConv2d refused(4, 6, 3, {.weight_groups = 0}); });
  expect_error(ErrorCode::invalid_argument, [] { nn::DeformConv2d refused(4, -6, 3); });
  expect_error(ErrorCode::invalid_argument, [] { nn::DeformConv2d refused(4, 6, 0); });
}

}  // namespace
}  // namespace hearth
