// Kernels in Metal's own form: run on the simulator or the device under test, compiled for CUDA,
// and refused where they cannot mean what they say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "check.h"
#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/runtime.h"

namespace hearth::runtime {
namespace {

constexpr char kSaxpy[] = R"(
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float* x [[buffer(0)]],
                  device float* y [[buffer(1)]],
                  constant float& a [[buffer(2)]],
                  constant uint& n [[buffer(3)]],
                  uint i [[thread_position_in_grid]]) {
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

// Rows, a threadgroup each; names come from a macro, as libraries do it.
constexpr char kSoftmax[] = R"(
#include <metal_stdlib>
#include "limits.h"
using namespace metal;

template <typename T, int kSimdgroups = 4>
[[kernel]] void softmax(const device T* in [[buffer(0)]],
                        device T* out [[buffer(1)]],
                        const constant int& columns [[buffer(2)]],
                        uint row [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]],
                        uint threads [[threads_per_threadgroup]],
                        uint simd_lane [[thread_index_in_simdgroup]],
                        uint simd_group [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[kSimdgroups];
  threadgroup float whole;
  in += row * size_t(columns);
  out += row * size_t(columns);
  float largest = LOWEST;
  for (int i = thread_index; i < columns; i += threads) largest = max(largest, float(in[i]));
  largest = simd_max(largest);
  if (simd_lane == 0) partial[simd_group] = largest;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_group == 0) {
    largest = simd_max(simd_lane < kSimdgroups ? partial[simd_lane] : LOWEST);
    if (simd_lane == 0) whole = largest;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  largest = whole;
  float sum = 0;
  for (int i = thread_index; i < columns; i += threads) sum += exp(float(in[i]) - largest);
  sum = simd_sum(sum);
  if (simd_lane == 0) partial[simd_group] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_group == 0) {
    sum = simd_sum(simd_lane < kSimdgroups ? partial[simd_lane] : 0.0);
    if (simd_lane == 0) whole = 1.0 / sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int i = thread_index; i < columns; i += threads) {
    out[i] = static_cast<T>(exp(float(in[i]) - largest) * whole);
  }
}

#define instantiate_kernel(name, func, ...) \
  template [[host_name(                     \
      name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
#define instantiate_softmax(name, type) instantiate_kernel("softmax_" #name, softmax, type)
instantiate_softmax(float32, float) instantiate_softmax(float16, half)
instantiate_softmax(bfloat16, bfloat)
)";

// A row of a matrix by a vector; function constants choose a bias and what becomes of the result.
constexpr char kGemv[] = R"(
#include <metal_stdlib>
using namespace metal;
constant bool has_bias [[function_constant(0)]];
constant int activation [[function_constant(1)]];
constant bool rectifies = is_function_constant_defined(activation) ? activation == 1 : false;
struct Shape {
  int rows;
  int columns;
  float scale;
};

kernel void gemv(device const float* matrix [[buffer(0)]],
                 device const float* vector [[buffer(1)]],
                 device const float* bias [[buffer(2), function_constant(has_bias)]],
                 device float* out [[buffer(3)]],
                 constant Shape& shape [[buffer(4)]],
                 threadgroup float* shared [[threadgroup(0)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 ushort tid [[thread_position_in_threadgroup]],
                 uint count [[threads_per_threadgroup]]) {
  float sum = 0;
  for (int i = tid; i < shape.columns; i += count) {
    sum = fma(matrix[int(group.x) * shape.columns + i], vector[i], sum);
  }
  shared[tid] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_count = count / 2; half_count > 0; half_count /= 2) {
    if (tid < half_count) shared[tid] += shared[tid + half_count];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (tid != 0) return;
  float value = shared[0] * shape.scale;
  if (has_bias) value += bias[group.x];
  out[group.x] = rectifies ? max(value, 0.0f) : value;
}

kernel void unused(texture2d<float> image [[texture(0)]], uint i [[thread_position_in_grid]]) {
  image.write(i);
}
)";

constexpr char kPositions[] = R"(
using namespace metal;
kernel void positions(device atomic_uint* counts, device uint* out,
                      ushort2 gid [[thread_position_in_grid]],
                      uint3 tg [[threadgroup_position_in_grid]],
                      uint2 tid [[thread_position_in_threadgroup]],
                      uint index [[thread_index_in_threadgroup]],
                      ushort3 ntid [[threads_per_threadgroup]],
                      uint3 ntg [[threadgroups_per_grid]],
                      uint2 grid [[threads_per_grid]],
                      uint sg [[simdgroup_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint nsg [[simdgroups_per_threadgroup]],
                      ushort width [[threads_per_simdgroup]]) {
  atomic_fetch_add_explicit(&counts[0], 1u, memory_order_relaxed);
  device uint* mine = out + 8 * (gid.x + grid.x * gid.y);
  mine[0] = tg.x + 100 * tg.y;
  mine[1] = tid.x + 100 * tid.y;
  mine[2] = index;
  mine[3] = ntid.x + 100 * ntid.y;
  mine[4] = ntg.x + 100 * ntg.y;
  mine[5] = grid.x + 100 * grid.y;
  mine[6] = 32 * sg + lane;
  mine[7] = 100 * nsg + width;
}
)";

// What Metal keeps apart by address spaces, and C++ does not.
constexpr char kSpaces[] = R"(
template <typename T>
struct Pair {
  T first;
  T second;
  Pair() thread = default;
  Pair() threadgroup = default;
  constexpr Pair(T a, T b) thread : first{a}, second(b) {}
  constexpr Pair(T a, T b) constant : first{a}, second(b) {}
  T sum() const thread { return first + second; }
  T sum() const device { return first + second; }
};
template <typename T>
struct Behind {};
template <typename T>
struct Behind<thread T*> { using type = T; };
template <typename T>
struct Behind<device T*> { using type = T; };
typedef struct { int a; } First;
typedef struct { int b; } Second;
static constant constexpr const int kCount = sizeof(First) + sizeof(Second) - 5;
int second_of(device const int* values);
int second_of(device const int* values) { return values[1]; }
int second_of(constant const int* values) { return values[1]; }
inline thread Pair<int>& operator+=(thread Pair<int>& a, int b) { a.second += b; return a; }
inline device Pair<int>& operator+=(device Pair<int>& a, int b) { a.second += b; return a; }

kernel void spaces(const device int* x [[buffer(0)]], const constant int* y [[buffer(1)]],
                   device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup Pair<int> pairs[32], first = {};
  alignas(16) threadgroup int sums[kCount == 3 ? 2 : 1][32];
  Behind<device int*>::type last = kCount;
  pairs[i] = Pair<int>(second_of(x), second_of(y));
  pairs[i] += last;
  sums[1][i] = pairs[i].sum();
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 0) first = pairs[31];
  out[i] = sums[1][31 - i];
}
)";

struct GemvShape {
  std::int32_t rows, columns;
  float scale;
};

std::vector<float> random_floats(std::size_t count) {
  static std::mt19937 generator{std::random_device{}()};
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(generator); });
  return values;
}

const MetalOptions& softmax_options() {
  static const MetalOptions options = [] {
    MetalOptions made;
    made.files["limits.h"] = "#pragma once\n#define LOWEST (-INFINITY)\n";
    return made;
  }();
  return options;
}

MetalOptions gemv_options(const std::string& has_bias) {
  MetalOptions options;
  options.function_constants["has_bias"] = has_bias;
  options.threadgroup_bytes[0] = 64 * 4;
  return options;
}

class MetalKernels : public ::testing::Test {
 protected:
  Device device = hearth::testing::kernel_device_under_test();
  CommandEncoder encoder{device};
};

TEST_F(MetalKernels, RunsAsItIsWritten) {
  const std::vector<float> x = random_floats(1000), y = random_floats(1000);
  const Buffer out = Buffer::from_data(y, device);
  const Kernel saxpy(device, metal_kernel(kSaxpy, "saxpy"));
  encoder.dispatch(saxpy, {8}, {128},
                   {Buffer::from_data(x, device), out, constant(0.5f), constant(1000u)});
  // Bytes may stand for memory that is read.
  const float few[32] = {3};
  encoder.dispatch(saxpy, {1}, {32}, {constant(few), out, constant(2.0f), constant(1u)});
  encoder.wait();
  const std::vector<float> got = out.to_vector<float>();
  EXPECT_EQ(got[0], 6 + (0.5f * x[0] + y[0]));
  for (std::size_t i = 1; i < 1000; ++i) EXPECT_EQ(got[i], 0.5f * x[i] + y[i]) << i;
}

TEST_F(MetalKernels, OneBufferMayBeGivenTwice) {
  const Buffer x = Buffer::from_data(std::vector<float>(64, 3), device);
  encoder.dispatch(Kernel(device, metal_kernel(kSaxpy, "saxpy")), {2}, {32},
                   {x, x, constant(2.0f), constant(64u)});
  encoder.wait();
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(64, 9));
}

TEST_F(MetalKernels, InstancesAreKnownByTheirHostNames) {
  EXPECT_EQ(metal_kernel_names(kSoftmax, softmax_options()),
            (std::vector<std::string>{"softmax_float32", "softmax_float16", "softmax_bfloat16"}));
  constexpr std::size_t kRows = 5, kColumns = 333;
  const std::vector<float> x = random_floats(kRows * kColumns);
  const auto run = [&]<class T>(const std::string& name, T, double tolerance) {
    std::vector<T> in;
    for (const float value : x) in.push_back(T(value));
    const Buffer out = Buffer::from_data(std::vector<T>(x.size(), T(NAN)), device);
    encoder.dispatch(Kernel(device, metal_kernel(kSoftmax, name, softmax_options())), {kRows},
                     {128}, {Buffer::from_data(in, device), out, constant(std::int32_t{kColumns})});
    encoder.wait();
    const std::vector<T> got = out.to_vector<T>();
    for (std::size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < kColumns; ++i)
        sum += std::exp(double(float(in[row * kColumns + i])));
      for (std::size_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
        EXPECT_NEAR(float(got[i]), std::exp(double(float(in[i]))) / sum, tolerance) << name << i;
      }
    }
  };
  run("softmax_float32", 0.0f, 1e-6);
  run("softmax_float16", float16(), 1e-4);
  run("softmax_bfloat16", bfloat16(), 1e-3);
  run("softmax<float, 4>", 0.0f, 1e-6);
}

TEST_F(MetalKernels, FunctionConstantsArePasted) {
  constexpr std::size_t kRows = 7, kColumns = 150;
  const std::vector<float> matrix = random_floats(kRows * kColumns);
  const std::vector<float> vector = random_floats(kColumns), bias = random_floats(kRows);
  const auto run = [&](bool has_bias, bool rectifies) {
    MetalOptions options = gemv_options(has_bias ? "true" : "false");
    if (rectifies) options.function_constants["activation"] = "1";
    const Kernel kernel(device, metal_kernel(kGemv, "gemv", options));
    const Buffer out = Buffer::from_data(std::vector<float>(kRows, NAN), device);
    const Buffer m = Buffer::from_data(matrix, device), v = Buffer::from_data(vector, device);
    const Buffer b = Buffer::from_data(bias, device);
    const GemvShape sizes{kRows, kColumns, 0.25f};
    const Value shape = constant(sizes);
    if (has_bias) {
      encoder.dispatch(kernel, {kRows}, {64}, {m, v, b, out, shape});
    } else {
      encoder.dispatch(kernel, {kRows}, {64}, {m, v, out, shape});
    }
    encoder.wait();
    const std::vector<float> got = out.to_vector<float>();
    for (std::size_t row = 0; row < kRows; ++row) {
      double want = 0;
      for (std::size_t i = 0; i < kColumns; ++i)
        want += double(matrix[row * kColumns + i]) * vector[i];
      want = 0.25 * want + (has_bias ? bias[row] : 0.0f);
      EXPECT_NEAR(got[row], rectifies ? std::max(want, 0.0) : want, 1e-4) << row;
    }
  };
  run(false, false);
  run(true, false);
  run(true, true);
}

TEST_F(MetalKernels, AddressSpacesNeedNotDiffer) {
  const Buffer out(device, DType::i32, {32});
  encoder.dispatch(Kernel(device, metal_kernel(kSpaces, "spaces")), {1}, {32},
                   {Buffer::from_data(std::vector<std::int32_t>{1, 20}, device),
                    Buffer::from_data(std::vector<std::int32_t>{3, 400}, device), out});
  encoder.wait();
  EXPECT_EQ(out.to_vector<std::int32_t>(), std::vector<std::int32_t>(32, 423));
}

TEST_F(MetalKernels, PositionsAreThoseOfTheGrid) {
  const Buffer counts = Buffer::zeros(device, DType::u32, {1});
  const Buffer out = Buffer::zeros(device, DType::u32, {8 * 20 * 3});
  const Kernel kernel(device, metal_kernel(kPositions, "positions"));
  encoder.dispatch_threads(kernel, {20, 3}, {16, 2}, {counts, out});
  encoder.wait();
  EXPECT_EQ(counts.to_vector<std::uint32_t>()[0], 60u);
  const std::vector<std::uint32_t> got = out.to_vector<std::uint32_t>();
  for (std::uint32_t y = 0; y < 3; ++y) {
    for (std::uint32_t x = 0; x < 20; ++x) {
      const std::uint32_t index = x % 16 + 16 * (y % 2);
      const std::uint32_t width = x < 16 ? 16 : 4, height = y < 2 ? 2 : 1;
      const std::uint32_t want[] = {x / 16 + 100 * (y / 2),
                                    x % 16 + 100 * (y % 2),
                                    index,
                                    width + 100 * height,
                                    2 + 100 * 2,
                                    20 + 100 * 3,
                                    index,
                                    132};
      for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(got[8 * (x + 20 * y) + i], want[i]) << i;
    }
  }
}

TEST_F(MetalKernels, CompilesForCuda) {
  if (!gpu_test::nvrtc_missing().empty()) GTEST_SKIP() << gpu_test::nvrtc_missing();
  for (const KernelSource& kernel :
       {metal_kernel(kSaxpy, "saxpy"),
        metal_kernel(kSoftmax, "softmax_bfloat16", softmax_options()),
        metal_kernel(kGemv, "gemv", gemv_options("true")), metal_kernel(kSpaces, "spaces"),
        metal_kernel(kPositions, "positions")}) {
    const gpu_test::CudaBuild build =
        gpu_test::nvrtc_compile(gpu::assemble(kernel, gpu::Target::cuda), "sm_90");
    EXPECT_TRUE(build.ok) << kernel.name << "\n" << build.log;
    EXPECT_EQ(build.ptx.find(".f64"), std::string::npos) << kernel.name << " computes in f64";
  }
}

TEST_F(MetalKernels, MetalGetsTheTextItself) {
  const std::string saxpy = gpu::assemble(metal_kernel(kSaxpy, "saxpy"), gpu::Target::metal);
  EXPECT_NE(saxpy.find("device const float* x [[buffer(0)]]"), std::string::npos) << saxpy;
  const std::string softmax = gpu::assemble(
      metal_kernel(kSoftmax, "softmax<half, 8>", softmax_options()), gpu::Target::metal);
  EXPECT_NE(softmax.find("template [[host_name(\"softmax_half_8\")]] [[kernel]] "
                         "decltype(softmax<half, 8>) softmax<half, 8>;"),
            std::string::npos)
      << softmax;
}

// Apple's compiler wants a function constant in the attribute, and a pasted one is none.
TEST(MetalAbsentParameters, AreNotInMetalsText) {
  const auto text_of = [](const std::string& text, const std::string& name,
                          const MetalOptions& options) {
    return gpu::assemble(metal_kernel(text, name, options), gpu::Target::metal);
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string with = text_of(kGemv, "gemv", gemv_options("true"));
  EXPECT_FALSE(has(with, "function_constant(")) << with;
  EXPECT_TRUE(has(with, "device const float* bias [[buffer(2)]],")) << with;
  // Nothing is contracted, as on other devices; the text's own pragmas come later.
  EXPECT_EQ(with.find("#pragma METAL fp contract(off)\n"), 0u) << with;
  const std::string without = text_of(kGemv, "gemv", gemv_options("false"));
  EXPECT_FALSE(has(without, "function_constant(")) << without;
  EXPECT_FALSE(has(without, "buffer(2)")) << without;
  EXPECT_TRUE(has(without, "device float* out [[buffer(3)]]")) << without;
  EXPECT_TRUE(has(without, "{ device const float* bias = nullptr;")) << without;
  EXPECT_EQ(std::count(without.begin(), without.end(), '\n'),
            std::count(with.begin(), with.end(), '\n'));
  // The text that is left is a kernel's, of the same parameters.
  MetalOptions plain;
  plain.threadgroup_bytes[0] = 64 * 4;
  const KernelSource again = metal_kernel(without, "gemv", plain);
  ASSERT_EQ(again.parameters.size(), 6u);
  EXPECT_EQ(again.parameters[2].name, "out");

  // Templates, references, the first and the last, and attributes in brackets of their own.
  constexpr char kTemplate[] = R"(
constant bool has_x [[function_constant(0)]];
constant bool has_p [[function_constant(1)]];
template <typename T>
kernel void f(const device T* x [[buffer(0), function_constant(has_x)]],
              device T* y [[buffer(1)]] [[function_constant(has_x)]],
              device T* z [[buffer(2)]],
              constant uint& p [[function_constant(has_p)]] [[buffer(3)]]) {
  if (has_x) z[0] = x[0];
  if (has_p) z[1] = T(p);
}
template [[host_name("f_float")]] kernel void f<float>(
    const device float* x [[buffer(0), function_constant(has_x)]],
    device float* y [[buffer(1)]] [[function_constant(has_x)]],
    device float* z [[buffer(2)]],
    constant uint& p [[function_constant(has_p)]] [[buffer(3)]]);
)";
  MetalOptions options;
  options.function_constants = {{"has_x", "false"}, {"has_p", "false"}};
  const std::string none = text_of(kTemplate, "f_float", options);
  EXPECT_TRUE(has(none, "kernel void f(")) << none;
  EXPECT_TRUE(has(none,
                  "const device T* x = nullptr; device T* y = nullptr; constant uint& p = "
                  "*static_cast<constant uint*>(nullptr);"))
      << none;
  EXPECT_TRUE(has(none, "[[host_name(\"f_float\")]] [[kernel]] decltype(f<float>) f<float>;"))
      << none;
  EXPECT_EQ(metal_kernel(none, "f_float").parameters.size(), 2u) << none;
  options.function_constants = {{"has_x", "true"}, {"has_p", "true"}};
  const std::string all = text_of(kTemplate, "f<half>", options);
  EXPECT_FALSE(has(all, "function_constant(")) << all;
  EXPECT_TRUE(has(all, "constant uint& p  [[buffer(3)]]")) << all;
  EXPECT_EQ(metal_kernel(all, "f<half>").parameters.size(), 5u) << all;
}

TEST(MetalKernelLimits, BuffersHave31Indices) {
  const auto text = [](int index) {
    return "kernel void f(device float* x [[buffer(" + std::to_string(index) + ")]]) { x[0] = 1; }";
  };
  EXPECT_EQ(metal_kernel(text(30), "f").parameters.size(), 2u);
  const auto refused = [&](const std::string& all) {
    try {
      metal_kernel(all, "f");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused(text(31)).find("expected an index from 0 to 30"), std::string::npos);
  std::string many = "kernel void f(";
  for (int i = 0; i < 32; ++i)
    many += (i == 0 ? "device float* x" : ", device float* x") + std::to_string(i);
  EXPECT_NE(refused(many + ") {}").find("got no index left for x31"), std::string::npos);
}

std::string message(ErrorCode code, const std::string& text, const std::string& name,
                    const MetalOptions& options = {}) {
  return check::error_of(code, [&] { metal_kernel(text, name, options); });
}

TEST_F(MetalKernels, WhatCannotBeHonouredIsAnError) {
  const auto expect = [](const std::string& got, const std::string& part) {
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  constexpr ErrorCode invalid_argument = ErrorCode::invalid_argument;
  constexpr ErrorCode unsupported = ErrorCode::unsupported;
  expect(message(invalid_argument, kSaxpy, "daxpy"), "got daxpy, expected one of saxpy");
  expect(message(invalid_argument, "", "x"), "expected a text that has one");
  expect(message(invalid_argument, kSoftmax, "softmax", softmax_options()),
         "or one of softmax_float32");
  expect(message(invalid_argument, kSoftmax, "softmax_float32"), "line 3: an included file");
  expect(message(invalid_argument, kGemv, "gemv"), "no value; got none for bool has_bias");
  MetalOptions options = gemv_options("true");
  options.threadgroup_bytes.clear();
  expect(message(invalid_argument, kGemv, "gemv", options), "no size; got none for shared");
  options = gemv_options("true");
  options.function_constants["no_such"] = "1";
  expect(message(invalid_argument, kGemv, "gemv", options), "got no_such");
  expect(message(unsupported, kGemv, "unused", gemv_options("true")), "texture2d<float> image");
  const auto parameter = [&](const std::string& declared) {
    return message(unsupported, "kernel void f(" + declared + ") {}", "f");
  };
  expect(parameter("sampler s [[sampler(0)]]"), "sampler s");
  expect(parameter("device float* const device* x [[buffer(0)]]"), "one pointer or reference");
  expect(parameter("float4 x [[stage_in]]"), "stage_in");
  expect(parameter("uint i"), "one pointer or reference");
  expect(message(unsupported,
                 "inline float f(float x) { return __metal_fabs(x, 0); }\n"
                 "kernel void g(device float* x) { x[0] = f(x[0]); }",
                 "g"),
         "__metal_fabs");
  // The word alone is none of the dialect's.
  KernelSource source{"f", "kernel void f(device float* x) {}", "f", {}};
  check::expect_error(invalid_argument, [&] { gpu::assemble(source, gpu::Target::host); });
  const Kernel kernel(device, metal_kernel(kSaxpy, "saxpy"));
  EXPECT_THROW(encoder.dispatch_threads(kernel, {4}, {0}, {}), Error);
}

}  // namespace
}  // namespace hearth::runtime
