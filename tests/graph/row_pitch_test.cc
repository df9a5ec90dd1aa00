// Values whose rows the planner lays further apart than they are long, on a simulator whose
// products ask for it: nothing is copied for it, what escapes stays dense, and no kernel minds what
// is between the rows.
#include <gtest/gtest.h>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "devices/sim/sim_driver.h"
#include "graph/counted.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/runtime.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/matmul.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

using namespace check;

// Rows of the results of products, in elements, as they were last prepared.
std::vector<std::int64_t> made;
// And of what they read.
std::vector<std::int64_t> read;

std::int64_t row_step(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  return std::max(spec.strides[rank - 1], spec.strides[rank - 2]);
}

Prepared prepare(const Signature& signature) {
  made.push_back(row_step(signature.output));
  for (const TensorSpec& input : signature.inputs) read.push_back(row_step(input));
  return gpu::prepare_tiles(signature);
}

constexpr Implementation kPadded[] = {{.name = "padded",
                                       .op = &defs::matmul_op,
                                       .layout = LayoutNeed::matrices,
                                       .prepare = prepare,
                                       .launch = gpu::launch_steps,
                                       .wants_padding = [](const Signature&) { return true; },
                                       .writes_padded = true}};

Device make_device() {
  gpu::GpuOptions options;
  options.recycles_memory = false;
  options.families.insert(options.families.begin(), Family(kPadded));
  static auto* const device =
      new gpu::GpuDevice("sim", 2, std::make_unique<sim::SimDriver>(), options);
  return Device(device);
}

class RowPadding : public ::testing::Test {
 protected:
  void SetUp() override {
    static const Device device = make_device();
    device_ = device;
    made.clear();
    read.clear();
  }
  Device device_;
};

TEST_F(RowPadding, OfScoresOverAnOddVocabularyAndTheirGradient) {
  constexpr std::int64_t kRows = 9, kDim = 24, kVocabulary = 131;
  for (const DType dtype : {DType::bf16, DType::f32}) {
    made.clear();
    read.clear();
    const Array x = random_array({3, kRows / 3, kDim}, dtype, -1, 1, 1).eval();
    const Array w = random_array({kVocabulary, kDim}, dtype, -1, 1, 2).eval();
    Generator generator{3, 0};
    const Array targets =
        random_integers({3, kRows / 3}, 0, kVocabulary, DType::i32, Device::cpu(), &generator)
            .eval();
    const auto gradients = [](const Array& activations, const Array& weight, const Array& wanted) {
      const Array a = activations.require_grad(), b = weight.require_grad();
      const Array loss = cross_entropy(linear(a, b), wanted);
      const Gradients both = backward(loss);
      std::vector<Array> all = {loss, both.get(a), both.get(b)};
      submit();
      return all;
    };
    std::vector<Array> got;
    const Array inputs[] = {to_device(x, device_), to_device(w, device_),
                            to_device(targets, device_)};
    const Statistics count =
        testing::counted([&] { got = gradients(inputs[0], inputs[1], inputs[2]); });
    EXPECT_EQ(count.copies, 1);  // the gradient of the mean, a number for each row
    const auto expected = gradients(cast(x, DType::f64), cast(w, DType::f64), targets);
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_within(got[i], expected[i], dtype == DType::bf16 ? 0.02 : 1e-5);
    }
    constexpr std::int64_t padded = 136;
    // The scores; the gradients of activations and weight read that of the scores.
    ASSERT_EQ(made.size(), 3u);
    EXPECT_EQ(made[0], padded);
    EXPECT_EQ(std::count(read.begin(), read.end(), padded), 2);
  }
}

// Regions between products and loss, as most programs have them.
TEST_F(RowPadding, ThroughElementwiseOps) {
  constexpr std::int64_t kRows = 9, kDim = 24, kVocabulary = 131;
  const Array x = random_array({kRows, kDim}, DType::bf16, -1, 1, 1).eval();
  const Array w = random_array({kVocabulary, kDim}, DType::bf16, -1, 1, 2).eval();
  const Array b = random_array({kVocabulary}, DType::bf16, -1, 1, 3).eval();
  Generator generator{3, 0};
  const Array targets =
      random_integers({kRows}, 0, kVocabulary, DType::i32, Device::cpu(), &generator).eval();
  const auto gradients = [](const Array& activations, const Array& weight, const Array& bias,
                            const Array& wanted, DType wide) {
    const Array a = activations.require_grad(), c = weight.require_grad();
    std::vector<Array> all;
    {
      Array scores = linear(a, c);
      if (bias.defined()) scores = add(scores, bias);
      all = {cross_entropy(mul(tanh(cast(scores, wide)), 3.0), wanted)};
    }
    const Gradients both = backward(all[0]);
    all.insert(all.end(), {both.get(a), both.get(c)});
    submit();
    return all;
  };
  for (const bool biased : {false, true}) {
    made.clear();
    read.clear();
    const Array inputs[] = {to_device(x, device_), to_device(w, device_),
                            to_device(targets, device_), biased ? to_device(b, device_) : Array()};
    std::vector<Array> got;
    std::string kernels;
    {
      const runtime::Profile profile;
      got = gradients(inputs[0], inputs[1], inputs[3], inputs[2], DType::f32);
      got[0].to_doubles();
      for (const auto& kernel : profile.kernels()) kernels += kernel.name + " ";
    }
    const auto expected = gradients(cast(x, DType::f64), cast(w, DType::f64),
                                    biased ? cast(b, DType::f64) : Array(), targets, DType::f64);
    for (std::size_t i = 0; i < got.size(); ++i) expect_within(got[i], expected[i], 0.02);
    ASSERT_EQ(made.size(), 3u);
    EXPECT_EQ(made[0], 136);
    EXPECT_EQ(std::count(read.begin(), read.end(), 136), 2);
    // One row of all elements; the bias has no padding to add.
    EXPECT_EQ(kernels.find("strided") != std::string::npos, biased) << kernels;
  }
}

TEST_F(RowPadding, ReadersOfAllKindsSeeTheElementsAlone) {
  const Array a = random_array({7, 12}, DType::f32, -1, 1, 1).eval();
  const Array b = random_array({12, 101}, DType::f32, -1, 1, 2).eval();
  const Array left = to_device(a, device_), right = to_device(b, device_);
  const auto all = [](const Array& x, const Array& y) {
    const Array z = matmul(x, y);
    return std::vector<Array>{
        sum(z, {0}),
        sum(z, {1}),
        max(z),
        add(z, 1.0),
        transpose(z) * 2.0,
        reshape(z, {101, 7}) * 2.0,
        slice(z, {{1, 5, 2}, {3, 90, 4}}) * 2.0,
        softmax(z, 1),
        matmul(z, transpose(z)),
        matmul(slice(z, {{0, 7}, {1, 100}}), slice(transpose(y), {{1, 100}}))};
  };
  const std::vector<Array> got = all(left, right);
  submit();
  EXPECT_EQ(made[0], 104);
  const std::vector<Array> expected = all(cast(a, DType::f64), cast(b, DType::f64));
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    expect_within(got[i], expected[i], 1e-5);
  }
}

TEST_F(RowPadding, WhatEscapesIsDense) {
  const Array a = to_device(random_array({7, 12}, DType::f32, -1, 1, 1), device_);
  const Array b = to_device(random_array({12, 101}, DType::f32, -1, 1, 2), device_);
  const Array held = matmul(a, b);
  const Array sums = sum(held).eval();
  EXPECT_EQ(made.back(), 101);
  Array view;
  {
    const Array product = matmul(a, b);
    view = transpose(product);
    sum(product).eval();
  }
  EXPECT_EQ(made.back(), 101);
  expect_within(transpose(view), held, 0);
}

TEST_F(RowPadding, OnlyWhereRowsAreLongAndSeveral) {
  const auto step = [&](const Shape& left, const Shape& right) {
    const Array all = sum(matmul(to_device(random_array(left, DType::f32, -1, 1, 1), device_),
                                 to_device(random_array(right, DType::f32, -1, 1, 2), device_)));
    all.eval();
    return made.back();
  };
  EXPECT_EQ(step({7, 12}, {12, 101}), 104);
  EXPECT_EQ(step({2, 7, 12}, {2, 12, 101}), 104);
  EXPECT_EQ(step({7, 12}, {12, 104}), 104);
  EXPECT_EQ(step({7, 12}, {12, 29}), 29);
  EXPECT_EQ(step({1, 12}, {12, 101}), 101);
}

}  // namespace
}  // namespace hearth
