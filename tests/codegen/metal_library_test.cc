// What Metal's library has beyond the dialect (kernels/prelude/msl), on the simulator, against C++.
#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "machines/sim_fixture.h"

namespace hearth::sim {
namespace {

using runtime::metal_kernel;

// What a kernel with this body makes of x, one number a thread; compiled for CUDA too.
std::vector<float> results(const std::string& body, const std::vector<float>& x,
                           const std::string& before = "") {
  const std::string text = "#include <metal_stdlib>\nusing namespace metal;\n" + before +
                           "kernel void f(device const float* x [[buffer(0)]],\n"
                           "              device float* y [ [buffer(1)]],\n"
                           "              uint i [[thread_position_in_grid]]) {\n" +
                           body + "}\n";
  const KernelSource source = metal_kernel(text, "f");
  if (gpu_test::nvrtc_missing().empty()) {
    const gpu_test::CudaBuild built =
        gpu_test::nvrtc_compile(gpu::assemble(source, gpu::Target::cuda), "sm_90");
    EXPECT_TRUE(built.ok) << built.log;
  }
  Simulator sim;
  const auto count = static_cast<std::uint32_t>(x.size());
  const Address in = sim.upload(x);
  const Address y = sim.upload(std::vector<float>(count));
  const std::uint32_t grid[3] = {count, 1, 1};
  sim.run(source, 1, count, {floats(in, count), floats(y, count), constant(grid)});
  EXPECT_EQ(sim.fault(), "");
  return sim.download(y, count);
}

std::vector<float> numbers() {
  std::vector<float> all;
  for (int i = 0; i < 64; ++i) all.push_back(0.37f * static_cast<float>(i) - 11.3f);
  return all;
}

// The kernel's value for each number against the function's.
template <class Function>
void expect(const std::string& body, Function expected, float tolerance = 0) {
  const std::vector<float> x = numbers();
  const std::vector<float> y = results(body, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = expected(static_cast<double>(x[i]));
    EXPECT_NEAR(y[i], wanted, tolerance * std::max(1.0, std::abs(wanted))) << body << x[i];
  }
}

TEST(MetalLibrary, PartsOfATurn) {
  constexpr double kPi = 3.14159265358979323846;
  expect("y[i] = sinpi(x[i]);\n", [](double x) { return std::sin(kPi * x); }, 3e-7f);
  expect("y[i] = cospi(x[i]);\n", [](double x) { return std::cos(kPi * x); }, 3e-7f);
  expect("y[i] = exp10(0.25f * x[i]);\n", [](double x) { return std::pow(10, 0.25 * x); }, 2e-6f);
  const std::vector<float> y = results("y[i] = sinpi(x[i]) + cospi(x[i]);\n", {0, 0.5f, 1, -1.5f});
  EXPECT_EQ(y, (std::vector<float>{1, 1, -1, 1}));
}

TEST(MetalLibrary, PartsOfANumber) {
  const char* const kFrexp = "int e; const float m = frexp(x[i], e); y[i] = m + 100 * e;\n";
  expect(kFrexp, [](double x) {
    int exponent = 0;
    const double part = std::frexp(x, &exponent);
    return static_cast<float>(part) + 100.0f * static_cast<float>(exponent);
  });
  expect(
      "float w; const float p = modf(x[i], w); y[i] = p + 100.0f * w;\n",
      [](double x) {
        double whole = 0;
        const double part = std::modf(x, &whole);
        return part + 100 * whole;
      },
      1e-7f);
  expect(
      "y[i] = float(ilogb(x[i])) + median3(x[i], 1.0f, -1.0f) + fmax3(x[i], 2.0f, 3.0f);\n",
      [](double x) { return std::ilogb(x) + std::clamp(x, -1.0, 1.0) + std::max(x, 3.0); }, 1e-6f);
}

TEST(MetalLibrary, PowersOfHalves) {
  const std::vector<float> y = results(
      "y[i] = float(pow(half(x[i]), short(3))) + float(pow(bfloat(x[i]), 2)) + float(HUGE_VALBF >\n"
      "       BFLT_MAX) + float(isinf(HUGE_VALH) && !isnan(half(x[i])) && isfinite(bfloat(x[i]))) "
      "+ float(ULONG_MAX - ulong(LONG_MAX) > "
      "0ul);\n",
      {2, -3});
  EXPECT_EQ(y, (std::vector<float>{8 + 4 + 3, -27 + 9 + 3}));
}

TEST(MetalLibrary, Integers) {
  const std::vector<float> x = {0, 1, 2, 7, 128, 200, 255};
  const std::vector<float> y = results(
      "const uchar u = uchar(x[i]);\n"
      "const bool good = addsat(u, uchar(100)) == min(int(u) + 100, 255) &&\n"
      "    subsat(u, uchar(100)) == max(int(u) - 100, 0) &&\n"
      "    addsat(2147483647, int(u)) == 2147483647 &&\n"
      "    subsat(-2147483647 - 1, int(u)) == -2147483647 - 1 && subsat(int(u), -5) == u + 5 &&\n"
      "    absdiff(int(u), 100) == uint(abs(int(u) - 100)) && hadd(u, uchar(255)) == (u + 255) / "
      "2\n"
      "    && rhadd(u, uchar(254)) == (u + 255) / 2 && rotate(ulong(u), 60ul) ==\n"
      "    ((ulong(u) << 60) | (ulong(u) >> 4)) && reverse_bits(ulong(u)) ==\n"
      "    (ulong(reverse_bits(uint(u))) << 32) && extract_bits(ulong(u) << 40, 40, 8) == u &&\n"
      "    insert_bits(0ul, ulong(u), 40, 8) == ulong(u) << 40 && extract_bits(short(u), 0, 8) ==\n"
      "    short(char(u));\n"
      "y[i] = good ? 10000.0f * popcount(u) + 100.0f * clz(u) + ctz(u) : NAN;\n",
      x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto u = static_cast<std::uint8_t>(x[i]);
    const int expected = 10000 * std::popcount(u) + 100 * std::countl_zero(u) + std::countr_zero(u);
    EXPECT_EQ(y[i], static_cast<float>(expected)) << x[i];
  }
}

TEST(MetalLibrary, Geometry) {
  const std::vector<float> y = results(
      "const float3 a(x[i], 2.0f, 3.0f), b(4.0f, 5.0f, 6.0f), n(0.0f, 1.0f, 0.0f);\n"
      "const float3 c = cross(a, b);\n"
      "y[i] = dot(c, a) + dot(c, b) + c.x + 10.0f * reflect(a, n).y + 100.0f * distance(a, a + n)\n"
      "     + 1000.0f * distance_squared(a, a - n) + refract(-n, n, 1.0f).y;\n",
      {1});
  EXPECT_EQ(y[0], -3.0f - 20.0f + 100.0f + 1000.0f - 1.0f);
}

TEST(MetalLibrary, Matrices) {
  const std::vector<float> y = results(
      "const float2x3 m = {float3(x[i], 2.0f, 3.0f), float3(4.0f, 5.0f, 6.0f)};\n"
      "const float2x2 square = transpose(m) * m;\n"  // 14 32, 32 77
      "const float3x3 one = float3x3(4.0f) / 2.0f;\n"
      "float4x4 four = float4x4(3.0f);\nfour.columns[0].w = 1.0f;\nfour *= float4x4(1.0f);\n"
      "y[i] = determinant(square) + 1000.0f * determinant(one) + 100000.0f * determinant(four)\n"
      "     + (float2x2(1.0f, 2.0f, 3.0f, 4.0f) - float2x2(1.0f))[1][0];\n",
      {1});
  EXPECT_EQ(y[0], 54.0f + 8000.0f + 8100000.0f + 3.0f);
}

TEST(MetalLibrary, PackedColours) {
  const std::vector<float> y = results(
      "const float4 c(0.0f, 0.5f, 1.0f, 2.0f);\n"
      "const bool good = pack_float_to_unorm4x8(c) == 0xffff8000u &&\n"
      "    pack_float_to_snorm4x8(-c) == 0x8181c000u && pack_half_to_unorm2x16(half2(1.0h, 0.0h))\n"
      "    == 0xffffu && unpack_unorm4x8_to_float(0xff000000u).w == 1.0f &&\n"
      "    unpack_snorm4x8_to_float(0x80u).x == -1.0f;\n"
      "y[i] = good ? x[i] : NAN;\n",
      {3});
  EXPECT_EQ(y[0], 3);
}

TEST(MetalLibrary, Simdgroups) {
  const std::vector<float> y = results(
      "const float v = x[i];\n"
      "y[i] = simd_prefix_exclusive_product(v) + 10.0f * float(simd_xor(uint(i)))\n"
      "     + 100.0f * quad_shuffle_up(float(i), ushort(1)) + 1000.0f * "
      "quad_broadcast_first(float(i));\n"
      "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);\n",
      std::vector<float>(32, -1.0f));
  for (int i = 0; i < 32; ++i) {
    const int above = i % 4 == 0 ? i : i - 1;
    EXPECT_EQ(y[static_cast<std::size_t>(i)],
              static_cast<float>((i % 2 == 0 ? 1 : -1) + 100 * above + 1000 * (i / 4 * 4)));
  }
}

TEST(MetalLibrary, OperatorsOfVectors) {
  const std::vector<float> y = results(
      "int4 n = int4(int(x[i]), 1, 2, 3);\n"
      "n++;\n"
      "const int4 shifted = n << uint4(1u);\n"
      "const bool4 both = (n > 2) && !(n == 3);\n"
      "packed_float3 p = packed_float3(1.0f, 2.0f, 3.0f);\n"
      "p += float3(1.0f);\n"
      "const float3 q = p * 2.0f + p;\n"
      "y[i] = float(shifted.x + shifted.w + (~n).x) + (both.w ? 100.0f : 0.0f)\n"
      "     + (both.z ? NAN : 0.0f) + 1000.0f * q.z + float(all(2 < n));\n",
      {4});
  EXPECT_EQ(y[0], 10.0f + 8.0f - 6.0f + 100.0f + 12000.0f);
}

TEST(MetalLibrary, VectorsOfPartsAndScalarsBesideThem) {
  const std::vector<float> y = results(
      "struct Both { uint4 a; uint2 b; };\n"
      "const Both both = {{uint(x[i]), 2u, 3u, 4u}, {5u, 6u}};\n"
      "const float4 v = float4(1.0f, float2(2.0f, 3.0f), 4.0f) + float4(0.0f, 1.0f, "
      "float2(2.0f));\n"
      "float4 c;\nprecise::sincos(v, c);\nassert(both.a.x == 1u);\n"
      "const float4 w = select(fma(v, 2.0f, v), 0.0f, v > 5.5f);\n"
      "constexpr int zeros = __builtin_ctz(8u);\nnullptr_t none = nullptr;\n"
      "y[i] = w.x + w.y + w.z + w.w + float(both.a.x + both.b.y) + float(zeros) +\n"
      "       (c.x == cos(1.0f) && none == nullptr ? 0.0f : NAN);\n",
      {1});
  EXPECT_EQ(y[0], 3.0f + 9.0f + 15.0f + 7.0f + 3.0f);
}

// The text may have functions of another stage, and of textures, besides the kernel.
TEST(MetalLibrary, OtherStagesInTheText) {
  const std::vector<float> y = results(
      "y[i] = 2.0f * x[i];\n", {3},
      "struct Seen { float4 position [[position]]; float2 at; };\n"
      "constexpr sampler nearest(coord::normalized, filter::nearest);\n"
      "vertex Seen first(uint id [[vertex_id]]) { return {float4(float(id)), float2(0.0f)}; }\n"
      "fragment float4 second(Seen in [[stage_in]], texture2d<float> t [[texture(0)]]) {\n"
      "  return t.sample(nearest, in.at) + float4(t.read(uint2(1u)).rgb, dfdx(in.at.x));\n}\n"
      "kernel void other(texture2d<half, access::write> t [[texture(0)]],\n"
      "                  uint2 at [[thread_position_in_grid]]) { t.write(half4(1.0h), at); }\n");
  EXPECT_EQ(y[0], 6);
}

}  // namespace
}  // namespace hearth::sim
