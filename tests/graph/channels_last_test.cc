// Values whose channels the planner keeps innermost, on a simulator whose convolutions ask for it:
// a network trains without a copy after its first step, and nothing else minds where elements lie.
#include <gtest/gtest.h>

#include <random>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "graph/channels_last.h"
#include "graph/counted.h"
#include "graph/effort.h"
#include "graph/record/node.h"
#include "graph/switches.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/runtime.h"
#include "machines/sim/sim_library.h"

namespace hearth {
namespace {

using namespace check;

Device make_device(bool refuses) {
  gpu::GpuOptions options;
  options.recycles_memory = false;
  return Device(new gpu::GpuDevice("sim", refuses ? 12 : 11,
                                   std::make_unique<sim::LibraryDriver>(refuses), options));
}

Device device_of(bool refuses) {
  // Devices live as long as the process.
  static const Device takes = make_device(false);
  static const Device never = make_device(true);
  return refuses ? never : takes;
}

// The pass off within a scope.
class RowMajor {
 public:
  explicit RowMajor(bool off) : before_(switches().channels_last) {
    switches().channels_last = !off;
  }
  ~RowMajor() { switches().channels_last = before_; }
  RowMajor(const RowMajor&) = delete;
  RowMajor& operator=(const RowMajor&) = delete;

 private:
  const bool before_;
};

bool is_channels_last(const Array& x) {
  const Node& node = *node_of(x);
  return is_only_channels_last(node.shape, node.layout.strides);
}

// f32 weights, multiplied in bf16, as mixed precision has them.
struct Network {
  std::vector<Array> weights, momenta;

  explicit Network(const Device& device) {
    const Shape shapes[] = {{8, 4, 3, 3}, {8}, {8}, {8, 8, 3, 3}, {8}, {8}, {16, 8, 1, 1}, {16, 5}};
    for (std::uint64_t i = 0; i < std::size(shapes); ++i) {
      weights.push_back(
          to_device(random_array(shapes[i], DType::f32, -0.5, 0.5, 20 + i), device).eval());
      momenta.push_back(zeros(shapes[i], DType::f32, device).eval());
    }
  }

  Array scores(const std::vector<Array>& w, const Array& images, bool pools) const {
    const auto half = [](const Array& x) { return cast(x, DType::bf16); };
    const auto normal = [](const Array& x, const Array& scale, const Array& shift) {
      return std::get<0>(batch_norm_train(x, scale, shift, 1e-5));
    };
    Array x = relu(normal(conv(half(images), half(w[0]), Array(), {.padding = {1}}), w[1], w[2]));
    if (pools) x = max_pool(x, {2, 2});
    const Array inner = normal(conv(x, half(w[3]), Array(), {.padding = {1}}), w[4], w[5]);
    x = relu(add(inner, x));
    x = conv(x, half(w[6]), Array(), {.stride = {2}});
    return matmul(mean(cast(x, DType::f32), {2, 3}), w[7]);
  }

  // The loss before the step.
  double step(const Array& images, const Array& targets, bool pools) {
    std::vector<Array> leaves;
    for (const Array& each : weights) leaves.push_back(each.require_grad());
    const Array loss = mean(square(sub(scores(leaves, images, pools), targets)));
    const Gradients gradients = backward(loss);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      momenta[i] = add(mul(momenta[i], 0.9), gradients.get(leaves[i]));
      weights[i] = sub(weights[i], mul(momenta[i], 0.05));
    }
    leaves.clear();
    submit();
    return loss.to_doubles()[0];
  }
};

class ChannelsLast : public ::testing::TestWithParam<bool> {
 protected:
  Device device_ = device_of(GetParam());
};

TEST_P(ChannelsLast, ANetworkTrainsWithoutCopies) {
  for (const bool pools : {false, true}) {
    std::vector<std::vector<double>> losses;
    std::vector<std::vector<Values>> trained;
    for (const bool off : {false, true}) {
      const RowMajor scope(off);
      Network network(device_);
      std::vector<double>& loss = losses.emplace_back();
      for (int step = 0; step < 4; ++step) {
        // From the host each time, as data comes.
        const Array images =
            to_device(random_array({2, 4, 8, 10}, DType::f32, -1, 1, 40), device_).eval();
        const Array targets =
            to_device(random_array({2, 5}, DType::f32, -1, 1, 41), device_).eval();
        const Statistics count =
            testing::counted([&] { loss.push_back(network.step(images, targets, pools)); });
        if (!off) {
          EXPECT_EQ(count.copies, 0) << "step " << step << " pools " << pools;
        }
        if (step == 3) {
          EXPECT_EQ(count.plan_misses, 0);
        }
      }
      for (const std::size_t i : {0, 3}) {
        EXPECT_EQ(is_channels_last(network.weights[i]), !off);
        EXPECT_EQ(is_channels_last(network.momenta[i]), !off);
      }
      std::vector<Values>& all = trained.emplace_back();
      for (const Array& each : network.weights) all.push_back(each.to_doubles());
    }
    for (std::size_t i = 0; i < losses[0].size(); ++i) {
      EXPECT_NEAR(losses[0][i], losses[1][i], 0.02);
    }
    for (std::size_t i = 0; i < trained[0].size(); ++i) {
      expect_within(trained[0][i], trained[1][i], 0.03, "weight " + std::to_string(i));
    }
  }
}

// Batch norm in training, ReLU and an addition: a kernel for the statistics and one for the sums of
// the gradient, a region over channels beside each, and three regions over x: what comes out, the
// gradient behind the ReLU, that of x.
TEST_P(ChannelsLast, BatchNormReadsItsInputOncePerSum) {
  const Array image = to_device(random_array({2, 4, 8, 10}, DType::bf16), device_).eval();
  const Array kernel = to_device(random_array({8, 4, 3, 3}, DType::bf16), device_).eval();
  const Array x = conv(image, kernel, Array(), {.padding = {1}}).eval();
  const Array weight = to_device(random_array({8}, DType::f32, 0.5, 1, 2), device_).eval();
  const Array bias = to_device(random_array({8}, DType::f32, -1, 1, 3), device_).eval();
  const Array other = relu(conv(image, kernel, Array(), {.padding = {1}})).eval();
  const auto step = [&] {
    const Array leaf = x.require_grad(), scale = weight.require_grad(), shift = bias.require_grad();
    const Array y = relu(add(std::get<0>(batch_norm_train(leaf, scale, shift)), other)).eval();
    const Gradients gradients = backward(sum(mul(y, other)));
    Array dx = gradients.get(leaf), dscale = gradients.get(scale), dshift = gradients.get(shift);
    submit();
    EXPECT_TRUE(is_channels_last(y));
    EXPECT_TRUE(is_channels_last(dx));
  };
  step();
  const Statistics count = testing::counted(step);
  EXPECT_EQ(count.copies, 0);
  EXPECT_EQ(count.dispatches, 7);
}

// An image that is there row by row, and a weight that nothing computes: a copy each, once.
TEST_P(ChannelsLast, WhatComesRowMajorIsCopiedOnce) {
  const Array x = to_device(random_array({2, 3, 5, 6}, DType::bf16), device_).eval();
  const Array w = to_device(random_array({4, 3, 3, 3}, DType::bf16), device_).eval();
  std::vector<Array> out;
  const Statistics count = testing::counted([&] {
    for (int i = 0; i < 2; ++i) out.push_back(conv(x, w, Array(), {.padding = {1}}));
    submit();
  });
  EXPECT_EQ(count.copies, 2);
  EXPECT_TRUE(is_channels_last(out[0]));
  EXPECT_EQ(testing::counted([&] { conv(out[0], out[0]).eval(); }).copies, 0);
}

TEST_P(ChannelsLast, OnlyWhereItIsAnotherOrderAndIsAskedFor) {
  const auto convolved = [&](const Shape& x, const Shape& w, DType dtype,
                             const ConvOptions& options = {}) {
    return conv(to_device(random_array(x, dtype), device_),
                to_device(random_array(w, dtype), device_), Array(), options)
        .eval();
  };
  EXPECT_FALSE(is_channels_last(convolved({2, 3, 5, 6}, {4, 3, 3, 3}, DType::f32)));
  EXPECT_FALSE(is_channels_last(convolved({2, 3, 9}, {4, 3, 3}, DType::bf16)));
  EXPECT_FALSE(is_channels_last(convolved({2, 3, 5, 6}, {1, 3, 3, 3}, DType::bf16)));
  EXPECT_FALSE(is_channels_last(convolved({2, 4, 5, 6}, {4, 1, 3, 3}, DType::bf16, {.groups = 4})));
  EXPECT_TRUE(is_channels_last(convolved({2, 3, 4, 5, 6}, {4, 3, 2, 3, 3}, DType::f16)));
  switches().tf32 = true;
  EXPECT_TRUE(is_channels_last(convolved({2, 3, 5, 6}, {4, 3, 3, 3}, DType::f32)));
  switches().tf32 = false;
}

// The memory of an operand in this order serves a result in this order, and no other.
TEST_P(ChannelsLast, MemoryIsTakenOverInOneOrderOnly) {
  const Array x = to_device(random_array({2, 3, 5, 6}, DType::bf16), device_).eval();
  const Array w = to_device(random_array({4, 3, 3, 3}, DType::bf16), device_).eval();
  const Array other = to_device(random_array({2, 4, 3, 4}, DType::bf16), device_).eval();
  const Values plain = conv(x, w).to_doubles(), added = other.to_doubles();
  Array last = conv(x, w).eval();
  const Statistics count = testing::counted([&] {
    last = add(last, 1.0);
    last = add(last.eval(), 1.0);
    last.eval();
  });
  EXPECT_EQ(count.donations, 2);
  Array first = to_device(random_array({2, 4, 3, 4}, DType::bf16), device_).eval();
  first = add(first, conv(x, w).eval()).eval();
  EXPECT_TRUE(is_channels_last(first));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(last.to_doubles()[i], plain[i] + 2, 0.06);
  }
  expect_within(first, add(cast(other, DType::f32), cast(conv(x, w), DType::f32)), 0.02);
  EXPECT_EQ(added, other.to_doubles());
}

// Where no convolution asks for it, what is read decides.
TEST(KeptOrder, ElementwiseOpsKeepAnOrderThatAllTheyReadHas) {
  const Array rows = random_array({2, 5, 6, 3}, DType::f32).eval();
  const Array last = permute(rows, {0, 3, 1, 2}), dense = contiguous(last).eval();
  const Array each = reshape(random_array({3}, DType::f32), {1, 3, 1, 1}).eval();
  const Array kept = relu(mul(add(last, each), 2.0)).eval();
  const Array mixed = add(last, dense).eval();
  EXPECT_TRUE(is_channels_last(kept));
  EXPECT_TRUE(is_channels_last(mul(kept, last).eval()));
  EXPECT_FALSE(is_channels_last(mixed));
  EXPECT_EQ(kept.to_doubles(), relu(mul(add(dense, each), 2.0)).to_doubles());
  EXPECT_EQ(mixed.to_doubles(), mul(dense, 2.0).to_doubles());
}

// One of many ops on a value of rank 4, chosen by `random`; the result has rank 4.
Array random_op(const Array& x, const Array& other, std::mt19937& random) {
  const Shape& shape = x.shape();
  const std::int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  switch (random() % 22) {
    case 0:
      return reshape(permute(x, {0, 2, 3, 1}), {n, c, h, w});
    case 1:
      return reshape(reshape(x, {n * c, h * w}), shape);
    case 2:
      return permute(x, {0, 1, 3, 2});
    case 3:
      return add(x, mean(x, {0, 2, 3}, true));
    case 4:
      return sub(x, max(x, {1}, true));
    case 5:
      return flip(x, {1, 3});
    case 6:
      return cat({narrow(x, 1, c / 2, c - c / 2), narrow(x, 1, 0, c / 2)}, 1);
    case 7:
      return softmax(x, static_cast<int>(random() % 4));
    case 8:
      return cumsum(mul(x, 0.25), static_cast<int>(random() % 4));
    case 9:
      return matmul(mul(x, 0.25), matmul(transpose(x), x));
    case 10:
      return where(greater(x, 0.0), x, mul(x, 0.125));
    case 11:
      return pad(narrow(x, 3, 0, w - 1), {0, 0, 0, 1}, {0, 0, 0, 0});
    case 12:
      return max_pool(x, {3, 3}, {.stride = {1}, .padding = {1}});
    case 13:
      return avg_pool(x, {3, 3}, {.stride = {1}, .padding = {1}});
    case 14:
      return contiguous(x);
    case 15:
      return tanh(x.eval());
    case 16:
      return add(reshape(x, shape), permute(other, {0, 1, 2, 3}));
    case 17:
      return select(x, to_device(ints({1, 0, 1}, {3}), x.device()), 1);
    case 18:
      return slice_assign(x, {{}, {}, {.start = h - 1}}, narrow(x, 2, 0, 1));
    case 19:
      return cast(cast(x, DType::bf16), DType::f32);
    case 20:
      return mul(x, expand(sum(square(x), {2, 3}, true), shape));
    default:
      return layer_norm(x, Array(), Array(), 1e-3);
  }
}

TEST_P(ChannelsLast, RandomProgramsGiveTheSameInEitherOrder) {
  std::mt19937 seeds(7);
  const Shape shapes[] = {{2, 3, 4, 5}, {1, 4, 3, 3}, {3, 2, 5, 4}};
  const std::int64_t programs = testing::scaled(24);
  for (std::int64_t program = 0; program < programs; ++program) {
    const std::uint32_t seed = seeds();
    SCOPED_TRACE("program " + std::to_string(program));
    std::vector<Values> results;
    for (const bool off : {false, true}) {
      const RowMajor scope(off);
      std::mt19937 random(seed);
      const Shape& shape = shapes[random() % std::size(shapes)];
      const Array image = to_device(random_array(shape, DType::bf16, -1, 1, seed), device_);
      const Array weight =
          to_device(random_array({shape[1], shape[1], 3, 3}, DType::bf16, -0.5, 0.5, 3), device_);
      Array x = cast(conv(image, weight, Array(), {.padding = {1}}), DType::f32);
      const Array start = x;
      for (int i = 0; i < 5; ++i) {
        Array next = random_op(x, start.shape() == x.shape() ? start : x, random);
        // What grows without bounds, or changes shape, leads nowhere.
        x = next.shape() == shape ? tanh(next) : next;
      }
      results.push_back(x.to_doubles());
    }
    expect_within(results[0], results[1], 2e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, ChannelsLast, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "Refuses" : "Takes"; });

}  // namespace
}  // namespace hearth
