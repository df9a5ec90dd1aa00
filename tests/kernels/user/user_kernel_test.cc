// Ops with kernels of their own on the CPU, which runs their functions, and on the simulator or the
// device under test: values, gradients, plans and replays.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "check.h"
#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "devices/gpu/gpu_device.h"
#include "error_text.h"
#include "graph/counted.h"
#include "hearth/grad.h"
#include "hearth/tensor.h"
#include "kernels/user/user_op.h"
#include "kernels/user/user_ops.h"
#include "ops/definition/defs.h"
#include "ran.h"

namespace hearth {
namespace {

using check::Values;
using user_ops::axpy;
using user_ops::circle;
using user_ops::kMetal;
using user_ops::row_sums;

Array floats(const Values& values, const Shape& shape, Device device) {
  return Array::from_data(std::vector<float>(values.begin(), values.end()), shape, device);
}

// As floats hold them.
Values drawn(std::int64_t count, std::uint64_t seed, double lo = -2, double hi = 2) {
  Values values = check::random_values(count, lo, hi, seed);
  for (double& value : values) value = static_cast<float>(value);
  return values;
}

void expect_near(const Array& got, const Values& expected, double tolerance = 1e-6) {
  const Values values = got.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // NaN, which memory is full of before it is written, is near to nothing.
    ASSERT_TRUE(std::fabs(values[i] - expected[i]) <= tolerance * (1 + std::fabs(expected[i])))
        << "element " << i << " is " << values[i] << ", expected " << expected[i];
  }
}

Values axpy_of(double a, const Values& x, const Values& y) {
  Values all;
  for (std::size_t i = 0; i < x.size(); ++i) all.push_back(a * x[i] + y[i]);
  return all;
}

const gpu::ReplayStatistics& replays(Device device) {
  return dynamic_cast<gpu::GpuDevice&>(device.impl()).replays();
}

class UserKernels : public ::testing::Test {
 protected:
  const Device gpu_ = testing::kernel_device_under_test();
  const Device both_[2] = {Device::cpu(), gpu_};
};

TEST_F(UserKernels, AnyNumberOfElements) {
  for (const Device device : both_) {
    for (const std::int64_t count : {0, 1, 255, 257, (1 << 16) + 13}) {
      const Values x = drawn(count, 1), y = drawn(count, 2);
      const Array got = axpy()({0.75, floats(x, {count}, device), floats(y, {count}, device)});
      EXPECT_TRUE(got.device() == device);
      expect_near(got, axpy_of(0.75, x, y));
    }
  }
}

TEST_F(UserKernels, RunAsKernelsOfTheirName) {
  const Array x = floats(drawn(40, 3), {40}, gpu_);
  testing::expect_ran("axpy", [&] { axpy()({2.0, x, x}).eval(); });
}

TEST_F(UserKernels, ReadWhatIsNotDense) {
  const Values x = drawn(6 * 35, 4), y = drawn(35, 5);
  Values expected;
  for (std::size_t i = 0; i < 35; ++i) {
    for (std::size_t k = 0; k < 6; ++k) expected.push_back(-1.5 * x[k * 35 + i] + y[i]);
  }
  for (const Device device : both_) {
    const Array columns = transpose(floats(x, {6, 35}, device));
    const Array same = broadcast_to(reshape(floats(y, {35}, device), {35, 1}), {35, 6});
    expect_near(axpy()({-1.5, columns, same}), expected);
    // A part of an array, which does not begin where its memory does.
    const Array part = slice(floats(x, {6 * 35}, device), {{7, 47}});
    expect_near(axpy()({1.0, part, part}), axpy_of(1, Values(x.begin() + 7, x.begin() + 47),
                                                   Values(x.begin() + 7, x.begin() + 47)));
  }
}

TEST_F(UserKernels, TakePartInLargerPlans) {
  const Values x = drawn(1000, 6), y = drawn(1000, 7);
  for (const Device device : both_) {
    const Array a = floats(x, {1000}, device), b = floats(y, {1000}, device);
    const Array got = sum(mul(axpy()({0.5, exp(a), b}), b));
    double expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) expected += (0.5 * std::exp(x[i]) + y[i]) * y[i];
    EXPECT_NEAR(got.item(), expected, 1e-5 * std::fabs(expected));
  }
}

TEST_F(UserKernels, TypesOfATemplateAreThoseOfTheOperands) {
  const CustomOp twice({.name = "test.twice", .kernel = kMetal + R"(
template <typename T, int kFactor = 2>
kernel void times(device const T* x, device T* y, uint i [[thread_position_in_grid]]) {
  y[i] = T(x[i] * T(kFactor));
}
)"});
  const Values whole = {0, 1, 2, 3, 17, 50};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                            DType::i8, DType::u64, DType::u32, DType::u16, DType::u8}) {
    const Array x = to_device(check::array(whole, {6}, dtype), gpu_);
    EXPECT_EQ(twice(x).dtype(), dtype);
    EXPECT_EQ(twice(x).to_doubles(), (Values{0, 2, 4, 6, 34, 100})) << dtype;
  }
}

TEST_F(UserKernels, NumbersHaveTheDtypeOfTheResult) {
  const Values x = {1, 2, 3, 4}, expected = {5, 8, 11, 14};
  for (const DType dtype : {DType::f16, DType::bf16, DType::i32, DType::u8}) {
    const Array a = to_device(check::array(x, {4}, dtype), gpu_);
    EXPECT_EQ(axpy()({3, a, full_like(a, 2)}).to_doubles(), expected) << dtype;
  }
}

TEST_F(UserKernels, OneEntryPointForEachDtype) {
  const CustomOp op({.name = "test.by_dtype", .kernel = kMetal + R"(
kernel void of_floats(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + 0.5f;
}
kernel void of_words(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + 1;
}
kernel void of_bytes(device const bool* x, device bool* y, uint i [[thread_position_in_grid]]) {
  y[i] = !x[i];
}
)"});
  const Values x = {0, 1, 1};
  EXPECT_EQ(op(to_device(check::array(x, {3}, DType::f32), gpu_)).to_doubles(),
            (Values{0.5, 1.5, 1.5}));
  EXPECT_EQ(op(to_device(check::array(x, {3}, DType::i32), gpu_)).to_doubles(), (Values{1, 2, 2}));
  EXPECT_EQ(op(to_device(cast(check::array(x, {3}), DType::bool_), gpu_)).to_doubles(),
            (Values{1, 0, 0}));
}

TEST_F(UserKernels, KernelsOfBothForms) {
  using Kind = runtime::KernelParameter::Kind;
  runtime::KernelSource dialect;
  dialect.name = "negate_float";
  dialect.text = R"(
struct NegateParams { uint count; };
template <typename T>
void negate(device const T* x, device T* y, constant NegateParams& p, Ctx ctx) {
  uint i = ctx.gid.x;
  if (i < p.count) y[i] = T(-float(x[i]));
}
)";
  dialect.function = "negate<float>";
  dialect.parameters = {{Kind::read, "float", "x"},
                        {Kind::write, "float", "y"},
                        {Kind::constant, "NegateParams", "p"}};
  const runtime::KernelSource metal = runtime::metal_kernel(kMetal + R"(
struct NegateParams { uint count; };
kernel void negate_half(device const half* x, device half* y, constant NegateParams& p,
                        uint i [[thread_position_in_grid]]) {
  y[i] = -x[i];
}
)",
                                                            "negate_half");
  const CustomOp negate({.name = "test.negate",
                         .kernels = {dialect, metal},
                         .launch = [](std::span<const TensorType> in, std::span<const TensorType>) {
                           const auto count =
                               static_cast<std::uint32_t>(element_count(in[0].shape));
                           return KernelLaunch{.constants = {{"p", std::array{count}}}};
                         }});
  const Values x = drawn(300, 8);
  Values expected;
  for (const double value : x) expected.push_back(-value);
  expect_near(negate(floats(x, {300}, gpu_)), expected, 0);
  expect_near(negate(cast(floats(x, {300}, gpu_), DType::f16)), expected, 1e-3);
}

TEST_F(UserKernels, LaunchesFollowFromShapes) {
  for (const Device device : both_) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 200}, {70, 33}, {5, 0}, {0, 4}}) {
      const Values x = drawn(rows * columns, 9);
      Values expected(static_cast<std::size_t>(rows), 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        expected[i / static_cast<std::size_t>(columns)] += x[i];
      }
      expect_near(row_sums()({floats(x, {rows, columns}, device)}), expected, 1e-5);
    }
  }
}

TEST_F(UserKernels, SeveralResults) {
  const Values x = drawn(513, 10);
  Values sines, cosines;
  for (const double value : x) {
    sines.push_back(std::sin(value));
    cosines.push_back(std::cos(value));
  }
  for (const Device device : both_) {
    const std::vector<Array> got = circle().outputs({floats(x, {27, 19}, device)});
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[1].shape(), Shape({27, 19}));
    expect_near(got[0], sines);
    expect_near(got[1], cosines);
    // Nobody asks for the first one.
    expect_near(circle().outputs({floats(x, {513}, device)})[1], cosines);
    expect_near(circle()(floats(x, {513}, device)), sines);
  }
}

TEST_F(UserKernels, TypedTensors) {
  const auto x = Tensor<2>::from_floats({{0, 1}, {2, 3}}, gpu_);
  const Tensor<2> s = circle()(x);
  expect_near(s.array(), {0, std::sin(1.0), std::sin(2.0), std::sin(3.0)});
}

TEST_F(UserKernels, ErrorsOfTypedCallsSayTheCallersLine) {
  const CustomOp any({.name = "test.never_fits",
                      .max_inputs = 4,
                      .infer = [](std::span<const Array> in) -> TensorType {
                        throw Error(ErrorCode::shape, "test.never_fits: no shape; got " +
                                                          std::to_string(in.size()) + " inputs");
                      },
                      .compute = [](std::span<const HostTensor>, HostTensor) {}});
  const Tensor<1> x{1, 2};
  EXPECT_LOCATED(any(x));
  EXPECT_LOCATED(any(x, 2));
  EXPECT_LOCATED(any(x, x, 0.5));
  EXPECT_LOCATED(any(x, 1, x, x));
}

TEST_F(UserKernels, Gradients) {
  const Values x = drawn(300, 11), y = drawn(300, 12);
  for (const Device device : both_) {
    const Array a = floats(x, {300}, device).require_grad();
    const Array b = floats(y, {300}, device).require_grad();
    // The sum of (0.5 x + y)^2.
    const Gradients gradients = backward(sum(square(axpy()({0.5, a, b}))));
    Values for_a, for_b;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for_a.push_back(0.5 * x[i] + y[i]);
      for_b.push_back(2 * for_a.back());
    }
    expect_near(gradients.get(a), for_a);
    expect_near(gradients.get(b), for_b);
  }
}

TEST_F(UserKernels, GradientsOfSeveralResults) {
  const Values x = drawn(200, 13);
  for (const Device device : both_) {
    const Array a = floats(x, {200}, device).require_grad();
    const std::vector<Array> both = circle().outputs({a});
    Values expected, of_second;
    for (const double value : x) {
      expected.push_back(3 * std::cos(value) - 2 * std::cos(value) * std::sin(value));
      of_second.push_back(-std::sin(value));
    }
    expect_near(backward(sum(add(mul(both[0], 3.0), square(both[1])))).get(a), expected, 2e-6);
    // The gradient of the other is zeros.
    expect_near(backward(sum(circle().outputs({a})[1])).get(a), of_second, 2e-6);
  }
}

TEST_F(UserKernels, NumbersChangeWithoutANewPlan) {
  const Values x = drawn(77, 14);
  const Array a = floats(x, {77}, gpu_);
  expect_near(axpy()({1.0, a, a}), axpy_of(1, x, x));
  for (const double factor : {2.0, -0.25, 8.0}) {
    const Statistics counted =
        testing::counted([&] { expect_near(axpy()({factor, a, a}), axpy_of(factor, x, x)); });
    EXPECT_EQ(counted.plan_hits, 1) << factor;
    EXPECT_EQ(counted.plan_misses, 0) << factor;
  }
}

// A plan is kept in the form that the driver runs at once; other inputs are other addresses.
TEST_F(UserKernels, AreReplayedForOtherInputs) {
  const Values x[] = {drawn(500, 15), drawn(500, 16), drawn(500, 17)};
  std::vector<Array> inputs;
  for (const Values& each : x) inputs.push_back(floats(each, {500}, gpu_));
  const auto kept = [&] {
    const gpu::ReplayStatistics& now = replays(gpu_);
    return now.replayed + now.updated + now.instantiated;
  };
  std::int64_t before = 0;
  for (int run = 0; run < 12; ++run) {
    if (run == 3) before = kept();
    const auto at = static_cast<std::size_t>(run % 3),
               other = static_cast<std::size_t>((run + 1) % 3);
    expect_near(axpy()({run - 5.0, inputs[at], inputs[other]}), axpy_of(run - 5, x[at], x[other]));
  }
  EXPECT_EQ(kept() - before, 9);
}

TEST_F(UserKernels, CompilesForCuda) {
  if (!gpu_test::nvrtc_missing().empty()) GTEST_SKIP() << gpu_test::nvrtc_missing();
  const auto compile = [](const CustomOp& op, const char* name, const gpu::OperandTypes& types) {
    (void)op;  // is registered by now
    const auto kernel = gpu::user(*find_op(name)).kernels.bind(types);
    const auto build =
        gpu_test::nvrtc_compile(gpu::assemble(kernel->source, gpu::Target::cuda), "sm_90");
    EXPECT_TRUE(build.ok) << name << ": " << build.log;
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32}) {
    const TensorType array{dtype, {100}}, number{dtype, {}};
    compile(axpy(), "test.axpy", {{number, array, array}, {0, 1, 2}, {array}});
  }
  const TensorType array{DType::f32, {8, 20}};
  compile(circle(), "test.circle", {{array}, {0}, {array, array}});
  compile(row_sums(), "test.row_sums", {{array}, {0}, {{DType::f32, {8}}}});
}

}  // namespace
}  // namespace hearth
