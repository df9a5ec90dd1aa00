// Inputs that a call leaves out, on the CPU and on the simulator or the device under test.
#include <gtest/gtest.h>

#include "error_text.h"
#include "kernels/user/user_ops.h"

namespace hearth {
namespace {

using check::error_of;
using check::Values;
using user_ops::kMetal;

// in[0] + 1 * in[1] + 2 * in[2], without those that were not given.
void compute_sum(std::span<const HostTensor> in, HostTensor out) {
  std::vector<double> sums = user_ops::elements(in[0]);
  for (std::size_t k = 1; k < in.size(); ++k) {
    if (in[k].data == nullptr) continue;
    const std::vector<double> more = user_ops::elements(in[k]);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(k) * more[i];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    user_ops::store(out, i, static_cast<float>(sums[i]));
  }
}

// The same, with an entry point for each way to call it.
const CustomOp& named_sum() {
  static const CustomOp op({
      .name = "test.named_sum",
      .max_inputs = 3,
      .compute = compute_sum,
      .kernel = kMetal + R"(
kernel void all(device const float* x, device const float* once, device const float* twice,
                device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + once[i] + 2 * twice[i];
}
kernel void without_once(device const float* twice, device const float* x, device float* y,
                         uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + 2 * twice[i];
}
kernel void without_twice(device float* y, device const float* once, device const float* x,
                          uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + once[i];
}
kernel void alone(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
)",
      .input_names = {"x", "once", "twice"},
      .output_names = {"y"},
  });
  return op;
}

class AbsentInputs : public ::testing::Test {
 protected:
  const Device gpu_ = testing::kernel_device_under_test();
  const Device both_[2] = {Device::cpu(), gpu_};
  const Values x_ = check::random_values(40, -2, 2, 31);
  const Values y_ = check::random_values(40, -2, 2, 32);
  const Values z_ = check::random_values(40, -2, 2, 33);

  void expect_sum(const Array& got, double once, double twice) const {
    const Values values = got.to_doubles();
    ASSERT_EQ(values.size(), x_.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], x_[i] + once * y_[i] + twice * z_[i], 2e-6) << i;
    }
  }
};

TEST_F(AbsentInputs, AreKnownByTheirPlaces) {
  for (const Device device : both_) {
    const Array x = to_device(check::array(x_, {40}, DType::f32), device);
    const Array y = to_device(check::array(y_, {40}, DType::f32), device);
    const Array z = to_device(check::array(z_, {40}, DType::f32), device);
    expect_sum(named_sum()(x, y, z), 1, 2);
    expect_sum(named_sum()(x, Array(), z), 0, 2);
    expect_sum(named_sum()(x, y, Array()), 1, 0);
    expect_sum(named_sum()(x, y), 1, 0);
    expect_sum(named_sum()(x), 0, 0);
  }
}

TEST_F(AbsentInputs, ComputeGetsAllInputsOfTheCall) {
  static std::vector<bool> given;
  const CustomOp op({.name = "test.given_inputs",
                     .max_inputs = 3,
                     .compute = [](std::span<const HostTensor> in, HostTensor out) {
                       given.clear();
                       for (const HostTensor& each : in) given.push_back(each.data != nullptr);
                       compute_sum(in, out);
                     }});
  const Array x = check::array(x_, {40}, DType::f32), z = check::array(z_, {40}, DType::f32);
  op(x, Array(), z).eval();
  EXPECT_EQ(given, (std::vector<bool>{true, false, true}));
  op(x, z).eval();
  EXPECT_EQ(given, (std::vector<bool>{true, true}));
}

TEST_F(AbsentInputs, AnInputWithoutElementsIsGiven) {
  const CustomOp op({.name = "test.counts_given",
                     .min_inputs = 0,
                     .max_inputs = 4,
                     .infer = [](std::span<const Array>) { return TensorType{DType::f32, {4}}; },
                     .compute =
                         [](std::span<const HostTensor> in, HostTensor out) {
                           for (std::size_t i = 0; i < 4; ++i) {
                             user_ops::store(out, i, in[i].data != nullptr ? 1 : 0);
                           }
                         }});
  const Array x = check::array(x_, {40}, DType::f32);
  const Array empty = check::array({}, {0}, DType::f32);
  const Array view = slice(x, {{40, 40}});
  EXPECT_EQ(op({Array(), empty, add(empty, 1.0), view}).to_doubles(), (Values{0, 1, 1, 1}));
}

// Parameters without names take the inputs that were given one after the other.
TEST_F(AbsentInputs, ParametersInOrderSkipThem) {
  const CustomOp op({.name = "test.skips", .max_inputs = 3, .kernel = R"(
kernel void f(device const float* x, device const float* last, device float* y,
              uint i [[thread_position_in_grid]]) { y[i] = x[i] + 2 * last[i]; }
)"});
  const Array x = to_device(check::array(x_, {40}, DType::f32), gpu_);
  const Array z = to_device(check::array(z_, {40}, DType::f32), gpu_);
  expect_sum(op(x, Array(), z), 0, 2);
  expect_sum(op(x, z, Array()), 0, 2);
}

TEST_F(AbsentInputs, AKernelThatReadsOneSaysSo) {
  const CustomOp op({.name = "test.absent_name",
                     .max_inputs = 3,
                     .kernel = R"(
kernel void f(device const float* x, device const float* y, device float* out,
              uint i [[thread_position_in_grid]]) { out[i] = x[i] + y[i]; }
)",
                     .input_names = {"x", "y", "z"}});
  const Array x = to_device(check::array(x_, {40}, DType::f32), gpu_);
  EXPECT_EQ(error_of(ErrorCode::invalid_argument, [&] { (void)op(x, Array(), x); }),
            "test.absent_name: no kernel for (f32, f32) -> (f32); f: input 1 ('y') was not given; "
            "got device const float* y, expected a call with it, or an entry point without that "
            "parameter");
}

}  // namespace
}  // namespace hearth
