// Products and norms with what is done to their result in the same kernel, against the same in
// kernels of its own, on the device that runs kernels.
#include <functional>

#include "check.h"
#include "devices_under_test.h"
#include "graph/switches.h"
#include "hearth/device.h"
#include "runtime/device/environment.h"

namespace hearth {
namespace {

using namespace check;

class EpilogueRuns : public ::testing::Test {
 protected:
  void SetUp() override { Device::set_default(hearth::testing::kernel_device_under_test()); }
  void TearDown() override {
    switches().fuse_epilogues = true;
    Device::set_default(before_);
  }

  // A card whose library's products are timed against Hearth's, with and without epilogues.
  static bool times_choices() {
    return Device().name().rfind("cuda", 0) == 0 && runtime::environment().tune;
  }

  // Both ways; how many launches were spared.
  std::int64_t spared(const std::function<Array()>& make, double allowed) {
    std::int64_t launches[2];
    Values values[2];
    for (const bool fused : {false, true}) {
      switches().fuse_epilogues = fused;
      Array result = make();
      const std::int64_t before = statistics().dispatches;
      result.eval();
      launches[fused ? 1 : 0] = statistics().dispatches - before;
      values[fused ? 1 : 0] = result.to_doubles();
    }
    expect_within(values[1], values[0], allowed);
    return launches[0] - launches[1];
  }

 private:
  Device before_ = Device();
};

TEST_F(EpilogueRuns, BiasResidualAndActivation) {
  if (times_choices()) GTEST_SKIP() << "a library's times decide what is fused: HEARTH_TUNE=0";
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Array x = random_array({9, 12}, dtype, -1, 1, 1).eval();
    const Array w = random_array({16, 12}, dtype, -1, 1, 2).eval();
    const Array b = random_array({16}, dtype, -1, 1, 3).eval();
    const Array r = random_array({9, 16}, dtype, -1, 1, 4).eval();
    // The same operations in the same order; of bf16 fewer are rounded.
    const double allowed = dtype == DType::f32 ? 0 : 4 * tolerance(dtype);
    EXPECT_EQ(spared([&] { return linear(x, w, b); }, allowed), 1);
    EXPECT_EQ(spared([&] { return relu(linear(x, w)); }, allowed), 1);
    EXPECT_EQ(spared([&] { return relu(linear(x, w, b)); }, allowed), 1);
    EXPECT_EQ(spared([&] { return gelu(linear(x, w, b), true); }, allowed), 1);
    EXPECT_EQ(spared([&] { return add(r, linear(x, w)); }, allowed), 1);
    EXPECT_EQ(spared([&] { return relu(add(linear(x, w, b), r)); }, allowed), 1);
  }
}

// What is added to a norm, such as what its layer was given, is added by the norm's kernel.
TEST_F(EpilogueRuns, SumsWithNorms) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const double allowed = dtype == DType::f32 ? 0 : 4 * tolerance(dtype);
    for (const std::int64_t n : {7, 24, 768, 9001}) {
      const Array x = random_array({2, 3, n}, dtype, -1, 3, 1).eval();
      const Array w = random_array({n}, dtype, -1, 1, 2).eval();
      const Array r = random_array({2, 3, n}, dtype, -1, 1, 3).eval();
      EXPECT_EQ(spared([&] { return add(r, rms_norm(x, w)); }, allowed), 1) << n;
      EXPECT_EQ(spared([&] { return add(rms_norm(x), r); }, allowed), 1) << n;
      EXPECT_EQ(spared([&] { return add(layer_norm(x, w, w), r); }, allowed), 1) << n;
      EXPECT_EQ(spared([&] { return add(layer_norm(x), r); }, allowed), 1) << n;
      EXPECT_EQ(spared([&] { return add(l2_norm(x), r); }, allowed), 1) << n;
      // Rows that lie otherwise, and what is broadcast.
      const Array other = random_array({3, 2, n}, dtype, -1, 1, 4).eval();
      EXPECT_EQ(spared([&] { return add(rms_norm(x, w), permute(other, {1, 0, 2})); }, allowed), 0);
      EXPECT_EQ(spared([&] { return add(rms_norm(x, w), w); }, allowed), 0);
    }
  }
}

// The same is rounded once, with or without a kernel of its own.
TEST_F(EpilogueRuns, CastsOfNorms) {
  for (const std::int64_t n : {7, 24, 768, 9001}) {
    const Array x = random_array({2, 3, n}, DType::f32, -1, 3, 1).eval();
    const Array w = random_array({n}, DType::f32, -1, 1, 2).eval();
    for (const DType to : {DType::bf16, DType::f16}) {
      EXPECT_EQ(spared([&] { return cast(layer_norm(x, w, w), to); }, 0), 1) << n;
      EXPECT_EQ(spared([&] { return cast(reshape(rms_norm(x, w), {6, n}), to); }, 0), 1) << n;
    }
    EXPECT_EQ(spared([&] { return cast(rms_norm(x, w), DType::i32); }, 0), 0);
    EXPECT_EQ(spared([&] { return cast(rms_norm(cast(x, DType::bf16)), DType::f16); }, 0), 0);
    Array held;
    EXPECT_EQ(spared(
                  [&] {
                    held = layer_norm(x);
                    return cast(held, DType::bf16);
                  },
                  0),
              0);
  }
}

TEST_F(EpilogueRuns, ThroughViewsOfOtherShapes) {
  if (times_choices()) GTEST_SKIP() << "a library's times decide what is fused: HEARTH_TUNE=0";
  const Array x = random_array({3, 4, 12}, DType::f32, -1, 1, 1).eval();
  const Array w = random_array({16, 12}, DType::f32, -1, 1, 2).eval();
  const Array b = random_array({16}, DType::f32, -1, 1, 3).eval();
  const Array r = random_array({3, 4, 16}, DType::f32, -1, 1, 4).eval();
  EXPECT_EQ(spared([&] { return gelu(linear(x, w, b), true); }, 0), 2);
  EXPECT_EQ(spared([&] { return add(r, linear(x, w, b)); }, 0), 2);
}

TEST_F(EpilogueRuns, WhatOthersReadIsStored) {
  const Array x = random_array({9, 12}, DType::f32, -1, 1, 1).eval();
  const Array w = random_array({12, 16}, DType::f32, -1, 1, 2).eval();
  const Array b = random_array({16}, DType::f32, -1, 1, 3).eval();
  const Array column = random_array({9, 1}, DType::f32, -1, 1, 3).eval();
  Array held;
  EXPECT_EQ(spared(
                [&] {
                  held = matmul(x, w);
                  return add(held, b);
                },
                0),
            0);
  EXPECT_EQ(spared(
                [&] {
                  const Array y = matmul(x, w);
                  return add(add(y, b), tanh(y));
                },
                0),
            0);
  EXPECT_EQ(spared(
                [&] {
                  const Array y = matmul(x, w);
                  return add(y, y);
                },
                0),
            0);
  EXPECT_EQ(spared([&] { return add(matmul(x, w), column); }, 0), 0);
  const Array nine = random_array({9}, DType::f32, -1, 1, 5).eval();
  EXPECT_EQ(spared([&] { return add(transpose(matmul(x, w)), nine); }, 0), 0);
}

TEST_F(EpilogueRuns, InputsThatAreMadeAfterTheProduct) {
  const Array x = random_array({9, 12}, DType::f32, -1, 1, 1).eval();
  const Array w = random_array({12, 16}, DType::f32, -1, 1, 2).eval();
  const auto make = [&] {
    const Array y = matmul(x, w);
    const Array late = sum(exp(matmul(transpose(x), ones({9, 16}))), {0});
    return add(y, late);
  };
  EXPECT_EQ(spared(make, 0), 1);
}

TEST_F(EpilogueRuns, SeveralInARow) {
  const Array x = random_array({5, 8}, DType::f32, -1, 1, 1).eval();
  const Array w = random_array({8, 8}, DType::f32, -1, 1, 2).eval();
  const Array b = random_array({8}, DType::f32, -1, 1, 3).eval();
  spared([&] { return sum(gelu(linear(relu(linear(x, w, b)), w, b), true)); }, 1e-6);
}

}  // namespace
}  // namespace hearth
