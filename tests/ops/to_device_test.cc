// Arrays that go from one device to another.
#include <gtest/gtest.h>

#include "check.h"
#include "devices_under_test.h"
#include "graph/record/array_access.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using check::expect_error;
using check::expect_values;

const std::vector<double> kValues = {1, 2, 3, 4, 5, 6};

class ToDevice : public ::testing::Test {
 protected:
  const Device near_ = Device::cpu();
  const Device far_ = testing::devices_under_test().back();
};

TEST_F(ToDevice, EveryDtypeAndLayout) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i8,
                            DType::u32, DType::bool_}) {
    const Array x = cast(Array::from_data(kValues, {2, 3}, near_), dtype);
    const Array there = to_device(transpose(x), far_);
    EXPECT_TRUE(there.device() == far_);
    EXPECT_EQ(there.dtype(), dtype);
    EXPECT_EQ(there.shape(), Shape({3, 2}));
    EXPECT_EQ(there.to_doubles(), transpose(x).to_doubles());
    EXPECT_EQ(to_device(flip(there, {0}), near_).to_doubles(),
              flip(transpose(x), {0}).to_doubles());
  }
}

TEST_F(ToDevice, WhatIsThereStays) {
  const Array x = Array::from_data(kValues, {6}, near_);
  EXPECT_EQ(node_of(to_device(x, near_)), node_of(x));
  EXPECT_TRUE(to_device(Array(2.0), far_).is_scalar());
  EXPECT_EQ(to_device(zeros({0, 3}, DType::f32, near_), far_).shape(), Shape({0, 3}));
  expect_error(ErrorCode::invalid_argument, [&] { (void)to_device(Array(), far_); });
}

TEST_F(ToDevice, DevicesDoNotMeetByThemselves) {
  if (near_ == far_) return;
  const Array x = Array::from_data(kValues, {6}, near_);
  expect_error(ErrorCode::device, [&] { (void)add(x, to_device(x, far_)); });
}

// The sum over i of 3 x_i^2 x_i: once on each device, the square's part there.
TEST_F(ToDevice, GradientsGoBack) {
  const Array x = Array::from_data(kValues, {6}, near_).require_grad();
  const Array there = square(to_device(x, far_)) * 3.0;
  const Gradients gradients = backward(sum(to_device(there, near_) * x));
  EXPECT_TRUE(gradients.get(x).device() == near_);
  expect_values(gradients.get(x), {6}, {9, 36, 81, 144, 225, 324});
}

TEST_F(ToDevice, SecondGradients) {
  const Array x = Array::from_data(kValues, {6}, near_).require_grad();
  const Array cube = to_device(x * square(x), far_);
  const Gradients first = backward(sum(cube), {.create_graph = true});
  expect_values(backward(sum(first.get(x))).get(x), {6}, {6, 12, 18, 24, 30, 36});
}

TEST_F(ToDevice, Tensors) {
  const auto x = Tensor<1>::from_floats({1, 2}, near_).to_device(far_);
  EXPECT_TRUE(x.device() == far_);
  EXPECT_EQ((x * 2).to_data<float>(), (std::vector<float>{2, 4}));
}

}  // namespace
}  // namespace hearth
