// What other projects' texts say in words of Apple's compiler, on compilers of C++.
#include <cmath>
#include <limits>

#include "codegen/kernel_text.h"
#include "codegen/nvrtc_compiler.h"
#include "hearth/dtype.h"
#include "machines/sim_fixture.h"

namespace hearth::sim {
namespace {

using runtime::metal_kernel;
using runtime::MetalOptions;

// One threadgroup of 32 threads; what they write to y.
std::vector<float> run(const KernelSource& source, const std::vector<std::uint8_t>& x) {
  Simulator sim;
  const Address in = sim.upload(x);
  const Address y = sim.upload(std::vector<float>(32));
  const std::uint32_t grid[3] = {32, 1, 1};
  sim.run(source, 1, 32,
          {{in, static_cast<std::int64_t>(x.size()), nullptr}, floats(y, 32), constant(grid)});
  EXPECT_EQ(sim.fault(), "");
  return sim.download(y, 32);
}

std::vector<std::uint8_t> bytes(std::size_t count) {
  std::vector<std::uint8_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint8_t>(37 * i + 11);
  return all;
}

std::string entry(const std::string& body, const std::string& before = "") {
  return "#include <metal_stdlib>\nusing namespace metal;\n" + before +
         "kernel void f(device const uchar* x [[buffer(0)]], device float* y [[buffer(1)]],\n"
         "              uint i [[thread_position_in_grid]]) {\n" +
         body + "}\n";
}

std::vector<float> results(const std::string& text, const MetalOptions& options = {}) {
  const KernelSource source = metal_kernel(text, "f", options);
  if (gpu_test::nvrtc_missing().empty()) {
    const gpu_test::CudaBuild built =
        gpu_test::nvrtc_compile(gpu::assemble(source, gpu::Target::cuda), "sm_90");
    EXPECT_TRUE(built.ok) << built.log;
  }
  return run(source, bytes(256));
}

TEST(MetalExtensions, RangeInitialisers) {
  const std::vector<float> y =
      results(entry("  float a[4] = { [0 ... 4 - 1] = 0.0f };\n  float b[1] = {2.0f};\n"
                    "  half m[3] = {[0 ... 2] = -2.5h};\n"
                    "  y[i] = a[i % 4u] + b[0] + float(m[i % 3u]) + float(x[i]);\n"));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i], -0.5f + static_cast<float>(bytes(32)[i]));
}

TEST(MetalExtensions, Swizzles) {
  const std::vector<float> y =
      results(entry("  const float4 v = float4(x[i], 1.0f, 2.0f, 4.0f);\n"
                    "  const float2 s = v.zw - v.xy;\n  const float3 t = v.yzw;\n"
                    "  y[i] = 1000.0f * s.x + 10.0f * s.y + t.z;\n"));
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(y[i], 1000.0f * (2.0f - static_cast<float>(bytes(32)[i])) + 34.0f);
  }
}

// A member of the text's own keeps its name.
TEST(MetalExtensions, MembersThatLookLikeSwizzles) {
  const std::vector<float> y =
      results(entry("  Pair p = {float(x[i]), 3.0f};\n  y[i] = p.xy + p.zw;\n",
                    "struct Pair { float xy; float zw; };\n"));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i], static_cast<float>(bytes(32)[i]) + 3.0f);
}

// A class may specialise its functions within itself.
TEST(MetalExtensions, MemberSpecialisations) {
  const std::vector<float> y =
      results(entry("  y[i] = Half()(float(x[i])) + float(Half()(int(x[i])));\n",
                    "struct Half {\n"
                    "  template <typename T> T operator()(T a) { return a / T(2); }\n"
                    "  template <> int operator()(int a) { return a > 100 ? 1000 : 0; }\n"
                    "};\n"));
  for (std::size_t i = 0; i < 32; ++i) {
    const auto x = static_cast<float>(bytes(32)[i]);
    EXPECT_EQ(y[i], x / 2.0f + (x > 100 ? 1000.0f : 0.0f));
  }
}

// Atomics of floats exchange by their bits.
TEST(MetalExtensions, AtomicFloatsCompareAndExchange) {
  const std::vector<float> y =
      results(entry("  device atomic<float>* to = (device atomic<float>*)y;\n"
                    "  float seen = atomic_load_explicit(to, memory_order_relaxed);\n"
                    "  while (!atomic_compare_exchange_weak_explicit(to, &seen, seen + 1.0f,\n"
                    "             memory_order_relaxed, memory_order_relaxed)) {\n  }\n"));
  EXPECT_EQ(y[0], 32);
}

TEST(MetalExtensions, PackedVectorsMatricesAndNumbers) {
  const std::vector<float> y = results(
      entry("  const packed_char4 c = ((device const packed_char4*)x)[i];\n"
            "  const float4 v = fmax(0, float4(c));\n"
            "  const float2x2 m = float2x2(float2(1.0f, 2.0f), float2(3.0f, 4.0f)) * 2.0f;\n"
            "  const float powers = pow(2.0f, int(i % 4u)) + float(vec_elements<float3>::value);\n"
            "  const bool most = float(MAXHALF) == 65504.0f && float(__HALF_MAX__) == 65504.0f &&\n"
            "                    float(__FLT16_MAX__) == 65504.0f;\n"
            "  y[i] = v.x + v.y + v.z + v.w + m[1][0] + powers + (most ? 0.0f : NAN);\n"));
  const std::vector<std::uint8_t> x = bytes(128);
  for (std::size_t i = 0; i < 32; ++i) {
    float expected = 6.0f + std::exp2(static_cast<float>(i % 4)) + 3.0f;
    for (std::size_t k = 0; k < 4; ++k) {
      expected += std::max(0.0f, static_cast<float>(static_cast<std::int8_t>(x[4 * i + k])));
    }
    EXPECT_EQ(y[i], expected) << i;
  }
}

TEST(MetalExtensions, ProductsOfSimdgroupMatrices) {
  const std::vector<float> y =
      results(entry("  simdgroup_float8x8 a(2.0f), b(1.0f * float(x[0]));\n  const "
                    "simdgroup_float8x8 c = a * b;\n"
                    "  y[i] = c.thread_elements()[0] + c.thread_elements()[1];\n"));
  float sum = 0;
  for (const float value : y) sum += value;
  EXPECT_EQ(sum, 8 * 2.0f * 11.0f);
}

TEST(MetalExtensions, FunctionConstantsByMacro) {
  MetalOptions options;
  options.function_constants["twice"] = "true";
  const std::vector<float> y = results(entry("  y[i] = twice ? 2.0f * float(x[i]) : 0.0f;\n",
                                             "#define CONST static constant constexpr const\n"
                                             "CONST bool twice [[function_constant(0)]];\n"),
                                       options);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i], 2.0f * static_cast<float>(bytes(32)[i]));
}

// Any elements of a vector, read and written, through pointers too.
TEST(MetalExtensions, SwizzlesOfAnyElements) {
  const std::vector<float> y =
      results(entry("  float4 v = float4(x[i], 1.0f, 2.0f, 3.0f);\n  thread float4* p = &v;\n"
                    "  v.xy = v.yx;\n  p->zw += 1.0f;\n  v.bgr *= float3(10.0f, 1.0f, 1.0f);\n"
                    "  packed_float3 q = packed_float3(v.xyz);\n  q.xz = v.ww;\n"
                    "  y[i] = v.x + v.y + dot(v.wzzw, float4(1.0f)) + q.z;\n"));
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(y[i], 1.0f + static_cast<float>(bytes(32)[i]) + 2 * 30.0f + 2 * 4.0f + 4.0f);
  }
}

// Templates of metal's are specialised for types of the text.
TEST(MetalExtensions, SpecialisationsOfMetalsTemplates) {
  const std::vector<float> y = results(
      entry("  y[i] = numeric_limits<Counted<float>>::max().value == FLT_MAX &&\n"
            "         is_floating_point<Counted<int>>::value ? float(x[i]) : NAN;\n",
            "template <typename T> struct Counted { T value; uint count; };\n"
            "template <typename T> struct _numeric_limits_impl<Counted<T>> {\n"
            "  static constexpr Counted<T> max() { return {numeric_limits<T>::max(), 1u}; }\n};\n"
            "template <> struct metal::is_floating_point<Counted<int>> : true_type {};\n"));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i], static_cast<float>(bytes(32)[i]));
}

// In the language that Metal is made of, such a class is an aggregate.
TEST(MetalExtensions, ClassesWhoseConstructorsAreDefaulted) {
  const std::vector<float> y = results(entry(
      "  const Best<float> b = Best<float>{i, float(x[i])};\n  threadgroup Best<float> s[32];\n"
      "  s[i] = b;\n  const Own o(3.0f);\n  y[i] = s[i].value + float(s[i].at) + o.value;\n",
      "template <typename T> struct Best {\n  uint at;\n  T value;\n"
      "  constexpr Best<T>() thread = default;\n"
      "  constexpr Best<T>() threadgroup = default;\n};\n"
      "struct Own { float value; Own() = default; Own(float v) : value(v) {} };\n"));
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(y[i], static_cast<float>(bytes(32)[i]) + static_cast<float>(i) + 3.0f);
  }
}

// Operators that differ in their parameters alone stay apart.
TEST(MetalExtensions, OverloadsOfAssignmentOperators) {
  const std::vector<float> y =
      results(entry("  Sum s = {float(x[i])};\n  s += 1;\n  s += Sum{0.5f};\n"
                    "  y[i] = s == 3 || s == Sum{3.0f} ? NAN : s.value;\n",
                    "struct Sum {\n  float value;\n"
                    "  void operator+=(Sum other) { value += other.value; }\n"
                    "  void operator+=(int other) { value += 10.0f * float(other); }\n"
                    "  bool operator==(Sum other) const { return value == other.value; }\n"
                    "  bool operator==(int other) const { return value == float(other); }\n};\n"));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i], static_cast<float>(bytes(32)[i]) + 10.5f);
}

// What a text adds to metal::precise hides nothing of the library's.
TEST(MetalExtensions, TextsThatAddToTheNamespacesOfMetal) {
  const std::vector<float> y = results(entry(
      "  y[i] = metal::precise::sqrt(4.0f) + metal::precise::twice(float(x[i])) +\n"
      "         metal::fast::exp(0.0f) + float(1.5bf);\n",
      "namespace metal {\nnamespace precise {\n"
      "inline float twice(float x) { return 2.0f * x; }\n"
      "inline bfloat abs(bfloat x) { return bfloat(__metal_fabs(float(x))); }\n}\n"
      "namespace fast { inline float twice(float x) { return __metal_fma(x, x, x); } }\n}\n"));
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(y[i], 4.5f + 2.0f * static_cast<float>(bytes(32)[i]));
  }
}

// The word main is C's: only the entry point of a library has another name.
TEST(MetalExtensions, KernelsNamedMain) {
  const std::string text = "kernel void main_(device float* y [[user(fake)]]) { y[0] = 7.0f; }\n";
  const KernelSource source = metal_kernel(text, "main_");
  Simulator sim;
  const Address y = sim.upload(std::vector<float>(1));
  const std::uint32_t grid[3] = {1, 1, 1};
  sim.run(source, 1, 32, {floats(y, 1), constant(grid)});
  EXPECT_EQ(sim.download(y, 1)[0], 7);
}

// A file that only wraps Apple's internal functions is of no use to other compilers, and Metal gets
// it as it is.
TEST(MetalExtensions, FilesThatWrapApplesFunctions) {
  MetalOptions options;
  options.files["some/bf16_math.h"] = "inline float wrapped(float x) { return __metal_fabs(x); }\n";
  const std::string text =
      entry("  y[i] = abs(-float(x[i]));\n", "#include \"some/bf16_math.h\"\n");
  const std::vector<float> y = results(text, options);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(y[i], static_cast<float>(bytes(32)[i]));
  const std::string metal = gpu::assemble(metal_kernel(text, "f", options), gpu::Target::metal);
  EXPECT_SAYS(metal, "__metal_fabs");
  options.files["own.h"] = "inline float own(float x) { return __metal_fabs(x); }\n";
  EXPECT_THROW(metal_kernel(entry("y[i] = own(x[i]);", "#include \"own.h\"\n"), "f", options),
               Error);
}

// A half in an anonymous struct of a union, as blocks of quantized numbers have it, and one of two
// results of a condition.
TEST(MetalExtensions, HalvesInUnionsAndConditions) {
  const std::vector<float> y = results(
      entry("  device const Block* b = (device const Block*)x + i;\n"
            "  y[i] = float(b->d) + float(b->dm.y) * 2.0f;\n",
            "struct Block { union { __extension__ struct { half d; half m; }; half2 dm; };\n"
            "               uchar q[4]; };\n"));
  const std::vector<std::uint8_t> x = bytes(256);
  const auto half_at = [&](std::size_t at) {
    float16 value;
    value.bits = static_cast<std::uint16_t>(x[at] | x[at + 1] << 8);
    return static_cast<float>(value);
  };
  for (std::size_t i = 0; i < 32; ++i) {
    const float expected = half_at(8 * i) + half_at(8 * i + 2) * 2.0f;
    if (std::isnan(expected)) continue;
    EXPECT_EQ(y[i], expected) << i;
  }
}

// The host's half has the bits of one that computes in float and rounds after each operation.
TEST(MetalExtensions, HostHalvesRoundAfterEachOperation) {
  const std::string body = R"(
  uint state = (i + 1u) * 2654435761u;
  uint wrong = 0u;
  for (uint round = 0u; round < 4096u; ++round) {
    state = state * 1664525u + 1013904223u;
    const half a = as_type<half>(ushort(state >> 16));
    state = state * 1664525u + 1013904223u;
    const half b = as_type<half>(ushort(state >> 16));
    const float fa = half_value(as_type<ushort>(a));
    const float fb = half_value(as_type<ushort>(b));
    if (isnan(fa) || isnan(fb)) continue;
    const half got[7] = {a + b, a - b, a * b, a / b, a * b + a, half(fa * 1.001f), -a};
    const float sum = half_value(half_bits(fa * fb));
    const ushort want[7] = {half_bits(fa + fb), half_bits(fa - fb), half_bits(fa * fb),
                            half_bits(fa / fb), half_bits(sum + fa), half_bits(fa * 1.001f),
                            ushort(as_type<ushort>(a) ^ 0x8000u)};
    for (int k = 0; k < 7; ++k) {
      const bool both_nan = isnan(half_value(want[k])) && isnan(float(got[k]));
      if (as_type<ushort>(got[k]) != want[k] && !both_nan) ++wrong;
    }
    if (float(a) != fa || (a < b) != (fa < fb) || a * 0.3f != fa * 0.3f) ++wrong;
  }
  y[i] = float(wrong) + 0.0f * float(x[i]);
)";
  for (const float wrong : results(entry(body))) EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace hearth::sim
