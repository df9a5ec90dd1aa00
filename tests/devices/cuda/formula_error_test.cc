// The formulas that CUDA overrides, over all floats, on each card that this machine has.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "devices/cuda/register.h"
#include "runtime/compile/kernel_cache.h"

namespace hearth::cuda {
namespace {

using runtime::Argument;
using runtime::Command;
using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

// A thread takes 256 neighbours among all floats.
constexpr char kText[] = R"(
#include "kernels/formulas/formulas.h"
struct SweepParams { ulong floats; };

// In units of the last place of the float that is nearest to `want`, times 1000.
inline uint error_of(float got, double want) {
  if (want != want || got != got) return want != want && got != got ? 0u : 1000000u;
  if (got == INFINITY || got == -INFINITY) {
    bool beyond = want >= 3.4028235677973366e38 || want <= -3.4028235677973366e38;
    return beyond && (got > 0.0f) == (want > 0.0) ? 0u : 1000000u;
  }
  if (got == 0.0f && want == 0.0) {
    return metal::signbit(got) == (as_type<long>(want) < 0) ? 0u : 1000000u;
  }
  double magnitude = metal::max(metal::fabs(want), 1.1754943508222875e-38);
  ulong exponent = as_type<ulong>(magnitude) >> 52;
  double unit = as_type<double>((exponent - 23u) << 52);
  double error = metal::fabs(double(got) - want) / unit * 1000.0;
  return error < 1000000.0 ? uint(error) : 1000000u;
}

inline void sweep(device atomic_uint* worst, constant SweepParams& p, Ctx ctx) {
  uint most[6] = {0u, 0u, 0u, 0u, 0u, 0u};
  for (uint i = 0; i < 256u; ++i) {
    float x = as_type<float>(ctx.gid.x * 256u + i);
    double d = double(x), e = metal::exp(-metal::fabs(d));
    double sigmoid = (d < 0.0 ? e : 1.0) / (1.0 + e);
    most[0] = metal::max(most[0], error_of(formula::exp(x), metal::exp(d)));
    most[1] = metal::max(most[1], error_of(formula::tanh(x), metal::tanh(d)));
    most[2] = metal::max(most[2], error_of(formula::sigmoid(x), d != d ? d : sigmoid));
    // Beyond, e^x is subnormal, and x times its error is many times the result's last place.
    if (d > -87.0) most[3] = metal::max(most[3], error_of(formula::silu(x), d * sigmoid));
    most[4] = metal::max(most[4], error_of(formula::erf(x), formula::erf(d)));
    // An exponent for which no float's power is within some ulp of the largest float.
    most[5] = metal::max(most[5], error_of(formula::pow(x, 7.5f), metal::pow(d, 7.5)));
  }
  for (uint k = 0; k < 6u; ++k) {
    uint all = simd_max(most[k]);
    if (ctx.lane == 0u) atomic_fetch_max_explicit(worst + k, all, memory_order_relaxed);
  }
}
)";

class FormulaErrors : public testing::TestWithParam<int> {};

TEST_P(FormulaErrors, AreAtMostFourUlpOverAllFloats) {
  auto drivers = open_drivers();
  ASSERT_LT(static_cast<std::size_t>(GetParam()), drivers.size());
  runtime::Driver& driver = *drivers[static_cast<std::size_t>(GetParam())];
  const KernelSource source{
      "sweep",
      kText,
      "sweep",
      {{Kind::read_write, "atomic_uint", "worst"}, {Kind::constant, "SweepParams", "p"}},
      256};
  const auto function = driver.load(source, driver.compile(source));
  std::array<std::uint32_t, 6> worst{};
  const Address memory = driver.allocate(sizeof worst);
  driver.copy_to_device(memory, worst.data(), sizeof worst);
  const std::uint64_t params = std::uint64_t{1} << 32;
  const std::array<Argument, 2> arguments = {Argument{memory, sizeof worst, nullptr},
                                             Argument{nullptr, sizeof params, &params}};
  const std::array<Command, 1> commands = {
      Command{function.get(), {1 << 16, 1, 1}, {256, 1, 1}, arguments, 0, {}}};
  driver.submit(commands);
  driver.copy_to_host(worst.data(), memory, sizeof worst);
  driver.free(memory);
  constexpr std::array<const char*, 6> kNames = {"exp", "tanh", "sigmoid", "silu", "erf", "pow"};
  for (std::size_t k = 0; k < worst.size(); ++k) {
    RecordProperty(kNames[k], static_cast<int>(worst[k]));
    EXPECT_LE(worst[k], 4000u) << kNames[k] << ", thousandths of an ulp";
  }
}

std::vector<int> card_numbers() {
  std::vector<int> numbers(open_drivers().size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(All, FormulaErrors, testing::ValuesIn(card_numbers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FormulaErrors);

}  // namespace
}  // namespace hearth::cuda
