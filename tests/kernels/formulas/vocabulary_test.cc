// Metal's vocabulary as kernels of other projects use it: run on the simulator, compiled for CUDA.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "check.h"
#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "hearth/runtime.h"

namespace hearth::gpu_test {
namespace {

using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

// One thread a value: expressions that need Metal's conversions, literals and overloads.
constexpr const char* kScalars = R"(
#define GELU_C 0.044715
constant half kTable[4] = {0.5h, 1.0h, 2h, 4.0h};
METAL_FUNC half squash(half x) { return x / (1.0h + exp(-x)); }

template <typename T, typename = metal::enable_if_t<metal::is_floating_point_v<T>>>
void scalars(device const T* x, device float* y, Ctx ctx) {
  const size_t i = ctx.gid.x;
  T v = x[i];
  T w = v * 2 + 1;             // of type T, rounded twice
  float wide = v * 1.5;        // T and float: float
  w += wide;
  float4 four = float4(float2(wide, 1.0), 2.0, -3.0);
  vec<T, 4> narrow = vec<T, 4>(four);
  four = select(four, float4(metal::precise::tanh(narrow)), four > 0.0);
  packed_float3 packed = float3(four.x, four.y, four.z);
  float3 unpacked = packed;
  uint32_t bits = as_type<uint32_t>(wide);
  y[8 * i] = w;
  y[8 * i + 1] = fast::exp(GELU_C * wide);
  y[8 * i + 2] = dot(unpacked, float3(1.0));
  y[8 * i + 3] = squash(half(v)) * kTable[i % 4];
  y[8 * i + 4] = float(popcount(bits) + ctz(bits | 256u) + extract_bits(bits, 23u, 8u));
  y[8 * i + 5] = max(wide, 1.0) + clamp(wide, -0.5, 0.5) + fract(wide);
  y[8 * i + 6] = any(four == 2.0) ? metal::mix(1.0, 3.0, 0.25) : 0.0;
  y[8 * i + 7] = float(reverse_bits(bits) >> 8) + float(mulhi(ulong(bits) << 32, 6ul));
}
)";

// d = a b of 8 x 8 matrices in one simdgroup, and sums of quadgroups.
constexpr const char* kMatrices = R"(
void matrices(device const half* a, device const half* b, device float* d, device float* sums,
              Ctx ctx) {
  simdgroup_half8x8 left, right;
  simdgroup_load(left, a, 8);
  simdgroup_load(right, b, 8, ulong2(0, 0), true);
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0);
  simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_store(sum, d, 8);
  float lane = float(ctx.lane);
  sums[ctx.lane] = quad_sum(lane) + simd_shuffle_and_fill_up(lane, 100.0f, ushort(3));
}
)";

KernelSource scalars(const std::string& type) {
  return {"scalars_" + type,
          kScalars,
          "scalars<" + type + ">",
          {{Kind::read, type, "x"}, {Kind::write, "float", "y"}},
          32};
}
KernelSource matrices() {
  return {"matrices",
          kMatrices,
          "matrices",
          {{Kind::read, "half", "a"},
           {Kind::read, "half", "b"},
           {Kind::write, "float", "d"},
           {Kind::write, "float", "sums"}},
          32};
}

template <class T>
std::vector<T> random_values(int count) {
  std::mt19937 generator(testing::UnitTest::GetInstance()->random_seed() + 5);
  std::uniform_real_distribution<float> values(-3, 3);
  std::vector<T> all;
  for (int i = 0; i < count; ++i) all.push_back(T(values(generator)));
  return all;
}

class Vocabulary : public testing::Test {
 protected:
  Device device = Device::named("sim");
  runtime::CommandEncoder encoder{device};
};

template <class T>
void expect_scalars(const std::vector<T>& x, const std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<float>(x[i]);
    const float wide = v * 1.5f;
    const T w = T(float(T(float(T(v * 2)) + 1)) + wide);
    const float tail[] = {wide > 0 ? float(T(std::tanh(float(T(wide))))) : wide,
                          float(T(std::tanh(1.0f))), float(T(std::tanh(2.0f)))};
    const auto bits = std::bit_cast<std::uint32_t>(wide);
    const float16 h(v);
    const float16 squashed(float(h) / float(float16(1 + float(float16(std::exp(-float(h)))))));
    std::uint32_t reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= ((bits >> bit) & 1u) << (31 - bit);
    const float* got = &y[8 * i];
    EXPECT_EQ(got[0], float(w)) << v;
    EXPECT_NEAR(got[1], std::exp(0.044715f * wide), 1e-6) << v;
    EXPECT_NEAR(got[2], tail[0] + tail[1] + tail[2], 2e-3) << v;
    EXPECT_NEAR(got[3], float(squashed) * std::exp2(float(i % 4) - 1), 4e-3) << v;
    EXPECT_EQ(got[4], float(std::popcount(bits) + std::countr_zero(bits | 256u) +
                            static_cast<int>((bits >> 23) & 255u)));
    EXPECT_FLOAT_EQ(
        got[5], std::max(wide, 1.0f) + std::clamp(wide, -0.5f, 0.5f) + (wide - std::floor(wide)));
    EXPECT_EQ(got[6], 0.0f) << v;
    EXPECT_EQ(got[7], float(reversed >> 8) + float((std::uint64_t{bits} * 6) >> 32));
  }
}

TEST_F(Vocabulary, ScalarsOfFloatAndHalf) {
  const auto check = [&]<class T>(const std::string& type, T) {
    const std::vector<T> values = random_values<T>(64);
    const auto x = runtime::Buffer::from_data(values, device);
    const runtime::Buffer y(device, DType::f32, {8 * 64});
    encoder.dispatch(runtime::Kernel(device, scalars(type)), {2}, {32}, {x, y});
    encoder.wait();
    expect_scalars(values, y.to_vector<float>());
  };
  check("float", 0.0f);
  check("half", float16());
}

TEST_F(Vocabulary, MatricesOfASimdgroup) {
  const std::vector<float16> a = random_values<float16>(64), b = random_values<float16>(64);
  const runtime::Buffer d(device, DType::f32, {64}), sums(device, DType::f32, {32});
  encoder.dispatch(
      runtime::Kernel(device, matrices()), {1}, {32},
      {runtime::Buffer::from_data(a, device), runtime::Buffer::from_data(b, device), d, sums});
  encoder.wait();
  const std::vector<float> got = d.to_vector<float>(), quads = sums.to_vector<float>();
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      double want = 0;
      for (std::size_t k = 0; k < 8; ++k) want += double(float(a[8 * i + k])) * float(b[8 * j + k]);
      EXPECT_NEAR(got[8 * i + j], want, 1e-4);
    }
  }
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const float want = static_cast<float>(16 * (lane / 4) + 6) +
                       (lane < 3 ? 100.0f : static_cast<float>(lane - 3));
    EXPECT_EQ(quads[lane], want);
  }
}

TEST_F(Vocabulary, CompilesForCuda) {
  if (!nvrtc_missing().empty()) GTEST_SKIP() << nvrtc_missing();
  for (const KernelSource& kernel :
       {scalars("float"), scalars("half"), scalars("bfloat"), matrices()}) {
    const CudaBuild build = nvrtc_compile(gpu::assemble(kernel, gpu::Target::cuda), "sm_90");
    EXPECT_TRUE(build.ok) << kernel.name << "\n" << build.log;
    EXPECT_EQ(build.ptx.find(".f64"), std::string::npos) << kernel.name << " computes in f64";
  }
}

TEST_F(Vocabulary, WhatWouldMeanSomethingElseIsAnError) {
  KernelSource kernel = matrices();
  kernel.text = std::string(
      "void matrices(device const half* a, device const half* b, device float* "
      "d, device float* s, Ctx ctx) { threadgroup float tile[32]; }");
  check::expect_error(ErrorCode::invalid_argument,
                      [&] { gpu::assemble(kernel, gpu::Target::cuda); });
  kernel.text = "kernel void matrices(device const half* a [[buffer(0)]]) {}";
  check::expect_error(ErrorCode::invalid_argument,
                      [&] { gpu::assemble(kernel, gpu::Target::host); });
}

}  // namespace
}  // namespace hearth::gpu_test
