// half and bfloat of the kernel dialect against Hearth's own 16-bit floats: every value, and floats
// of every exponent.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "codegen/host_build.h"
#include "codegen/kernel_text.h"
#include "hearth/dtype.h"

namespace hearth::gpu_test {
namespace {

using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

constexpr const char* kText = R"(
struct ConversionParams { uint n; };

template <typename T>
void conversions(device const float* x, device ushort* narrowed, device const ushort* bits,
                 device float* widened, device ushort* results, constant ConversionParams& p,
                 Ctx ctx) {
  if (ctx.gid.x != 0u) return;
  for (uint i = 0u; i < p.n; ++i) narrowed[i] = as_type<ushort>(T(x[i]));
  for (uint i = 0u; i < 65536u; ++i) {
    T a = as_type<T>(bits[i]);
    T b = as_type<T>(ushort(bits[i] * 40503u + 77u));
    widened[i] = float(a);
    results[8u * i] = as_type<ushort>(a + b);
    results[8u * i + 1u] = as_type<ushort>(a - b);
    results[8u * i + 2u] = as_type<ushort>(a * b);
    results[8u * i + 3u] = as_type<ushort>(a / b);
    results[8u * i + 4u] = as_type<ushort>(-a);
    results[8u * i + 5u] = ushort((a < b ? 1 : 0) + (a == b ? 2 : 0) + (a >= b ? 4 : 0));
    results[8u * i + 6u] = as_type<ushort>(T(int(i) - 32768));
    results[8u * i + 7u] = as_type<ushort>(metal::max(a, b));
  }
}
)";

bool is_nan(float16 x) { return (x.bits & 0x7fffu) > 0x7c00u; }
bool is_nan(bfloat16 x) { return (x.bits & 0x7fffu) > 0x7f80u; }

// Counts instead of asserting: there are millions of values.
class Differences {
 public:
  explicit Differences(const char* what) : what_(what) {}
  ~Differences() { EXPECT_EQ(count_, 0) << what_ << ", first of " << std::hex << first_; }
  Differences(const Differences&) = delete;
  Differences& operator=(const Differences&) = delete;

  void compare(std::uint32_t got, std::uint32_t want, std::uint32_t of) {
    if (got != want && count_++ == 0) first_ = of;
  }
  // Any NaN is as good as another.
  template <class H>
  void compare_values(std::uint16_t got, H want, std::uint32_t of) {
    H value;
    value.bits = got;
    if (!is_nan(want) || !is_nan(value)) compare(got, want.bits, of);
  }

 private:
  const char* what_;
  int count_ = 0;
  std::uint32_t first_ = 0;
};

template <class H>
void check(const std::string& type, const std::string& compiler) {
  const KernelSource kernel{.name = "conversions",
                            .text = kText,
                            .function = "conversions<" + type + ">",
                            .parameters = {{Kind::read, "float", "x"},
                                           {Kind::write, "ushort", "narrowed"},
                                           {Kind::read, "ushort", "bits"},
                                           {Kind::write, "float", "widened"},
                                           {Kind::write, "ushort", "results"},
                                           {Kind::constant, "ConversionParams", "p"}}};
  const HostLibrary library(gpu::assemble(kernel, gpu::Target::host), compiler, "-O1");
  ASSERT_TRUE(library.ok());
  // Every pattern of sign, exponent and upper digits, with lower digits that round each way.
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 1u << 20; ++high) {
    for (const std::uint32_t low : {0u, 1u, 0x7ffu, 0x800u, 0x801u, 0xfffu}) {
      x.push_back(std::bit_cast<float>(high << 12 | low));
    }
  }
  std::vector<std::uint16_t> narrowed(x.size());
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> widened(bits.size());
  std::vector<std::uint16_t> results(8 * bits.size());
  const auto n = static_cast<unsigned>(x.size());
  void* arguments[] = {x.data(),       narrowed.data(), bits.data(),
                       widened.data(), results.data(),  const_cast<unsigned*>(&n)};
  const HearthContext context = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 0, 0, 1};
  library.kernel("conversions")(arguments, nullptr, &context);

  // NaNs keep their sign and upper digits, too.
  Differences narrowing("narrowing");
  for (std::size_t i = 0; i < x.size(); ++i) {
    narrowing.compare(narrowed[i], H(x[i]).bits, std::bit_cast<std::uint32_t>(x[i]));
  }
  Differences widening("widening"), sum("sum"), difference("difference"), product("product");
  Differences quotient("quotient"), sign("change of sign"), comparison("comparison");
  Differences integers("integers"), maximum("maximum");
  for (std::uint32_t i = 0; i < 65536; ++i) {
    H a;
    a.bits = bits[i];
    H b;
    b.bits = static_cast<std::uint16_t>(i * 40503u + 77u);
    const auto fa = static_cast<float>(a);
    const auto fb = static_cast<float>(b);
    const std::uint16_t* r = &results[8 * std::size_t{i}];
    widening.compare(std::bit_cast<std::uint32_t>(widened[i]), std::bit_cast<std::uint32_t>(fa), i);
    sum.compare_values(r[0], H(fa + fb), i);
    difference.compare_values(r[1], H(fa - fb), i);
    product.compare_values(r[2], H(fa * fb), i);
    quotient.compare_values(r[3], H(fa / fb), i);
    sign.compare(r[4], i ^ 0x8000u, i);
    comparison.compare(r[5], (fa < fb ? 1u : 0u) + (fa == fb ? 2u : 0u) + (fa >= fb ? 4u : 0u), i);
    integers.compare(r[6], H(static_cast<float>(static_cast<int>(i) - 32768)).bits, i);
    if (fa < fb || fa > fb) maximum.compare(r[7], (fa < fb ? b : a).bits, i);
  }
}

TEST(KernelHalf, ConversionsAndArithmetic) {
  check<float16>("half", kGcc);
  check<bfloat16>("bfloat", kGcc);
}
TEST(KernelHalf, ConversionsAndArithmeticByClang) {
  if (const std::string missing = compiler_missing(clang()); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  check<float16>("half", clang());
  check<bfloat16>("bfloat", clang());
}

}  // namespace
}  // namespace hearth::gpu_test
