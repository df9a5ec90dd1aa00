// Kernel texts compiled by the host's compilers, and what the host prelude computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "codegen/host_build.h"
#include "codegen/kernel_text.h"
#include "hearth/dtype.h"
#include "kernels/formulas/lockstep.h"
#include "kernels/sample_kernels.h"

namespace hearth::gpu_test {
namespace {

using gpu::Target;

class KernelHost : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string missing = compiler_missing(compiler()); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
  }
  std::string compiler() const { return GetParam() == kGcc ? kGcc : clang(); }
  HostLibrary build(const std::string& kernel) const {
    return HostLibrary(gpu::assemble(sample_kernel(kernel), Target::host), compiler(),
                       "-O1 -Wall -Werror -Wno-unused-function");
  }
};

template <class T>
struct Simd {
  std::vector<T> x = std::vector<T>(32);
  std::vector<T> y = std::vector<T>(15 * 32);
  T at(int row, int lane) const { return y[static_cast<std::size_t>(32 * row + lane)]; }
};
template <class T>
Simd<T> run_simd(const HostLibrary& library, const char* name, T (*value)(int lane)) {
  Simd<T> simd;
  for (int lane = 0; lane < 32; ++lane) simd.x[static_cast<std::size_t>(lane)] = value(lane);
  void* arguments[] = {simd.x.data(), simd.y.data()};
  Lockstep::run(library.kernel(name), arguments, nullptr);
  return simd;
}

TEST_P(KernelHost, SimdFunctions) {
  const HostLibrary library = build("simd_int");
  ASSERT_TRUE(library.ok());
  library.set_simulator(Lockstep::table());
  const auto simd = run_simd<std::int32_t>(library, "simd_int",
                                           [](int lane) { return (lane * 7 + 3) % 32 - 15; });
  const std::vector<std::int32_t>& x = simd.x;
  std::int32_t sum = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const auto at = static_cast<std::size_t>(lane);
    EXPECT_EQ(simd.at(0, lane), std::accumulate(x.begin(), x.end(), 0));
    EXPECT_EQ(simd.at(1, lane), 0);
    EXPECT_EQ(simd.at(2, lane), -15);
    EXPECT_EQ(simd.at(3, lane), 16);
    EXPECT_EQ(simd.at(5, lane), sum);
    sum += x[at];
    EXPECT_EQ(simd.at(4, lane), sum);
    EXPECT_EQ(simd.at(6, lane), x[31 - at]);
    EXPECT_EQ(simd.at(7, lane), x[at ^ 5]);
    EXPECT_EQ(simd.at(8, lane), x[lane < 3 ? at : at - 3]);
    EXPECT_EQ(simd.at(9, lane), x[lane > 28 ? at : at + 3]);
    EXPECT_EQ(simd.at(10, lane), x[7]);
    EXPECT_EQ(simd.at(11, lane), 1);
    EXPECT_EQ(simd.at(12, lane), 0);
    EXPECT_EQ(simd.at(13, lane), 31);
    EXPECT_EQ(simd.at(14, lane), 32);
  }
}

// The order of additions is NVIDIA's butterfly: lanes 16 apart first.
TEST_P(KernelHost, FloatSumsHaveTheBitsOfAButterfly) {
  const HostLibrary library = build("simd_float");
  ASSERT_TRUE(library.ok());
  library.set_simulator(Lockstep::table());
  const auto simd = run_simd<float>(library, "simd_float",
                                    [](int lane) { return 1.0f / static_cast<float>(lane + 1); });
  std::vector<float> v = simd.x;
  for (std::size_t distance = 16; distance > 0; distance /= 2) {
    std::vector<float> next = v;
    for (std::size_t lane = 0; lane < 32; ++lane) next[lane] = v[lane] + v[lane ^ distance];
    v = next;
  }
  std::vector<float> prefix = simd.x;
  for (std::size_t distance = 1; distance < 32; distance *= 2) {
    std::vector<float> next = prefix;
    for (std::size_t lane = distance; lane < 32; ++lane) {
      next[lane] = prefix[lane - distance] + prefix[lane];
    }
    prefix = next;
  }
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(simd.at(0, lane), v[static_cast<std::size_t>(lane)]) << lane;
    EXPECT_EQ(simd.at(4, lane), prefix[static_cast<std::size_t>(lane)]) << lane;
  }
}

TEST_P(KernelHost, ThreadgroupMemoryAndReductions) {
  const HostLibrary library = build("rows_half");
  ASSERT_TRUE(library.ok());
  library.set_simulator(Lockstep::table());
  EXPECT_EQ(library.threadgroup_bytes("rows_half")(0), 128u);
  EXPECT_EQ(library.threadgroup_bytes("rows_half")(1), 0u);
  EXPECT_EQ(library.threadgroup_bytes("rows_half")(1000), 0u);
  std::vector<float16> x(100);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = float16(static_cast<float>(i) / 25.0f - 2.0f);
    squares += static_cast<double>(static_cast<float>(x[i])) * static_cast<float>(x[i]);
  }
  const std::vector<float16> weight(100, float16(0.5f));
  std::vector<float16> y(100);
  const struct {
    unsigned columns;
    float epsilon;
  } parameters = {100, 1e-5f};
  alignas(16) float shared[32];
  void* arguments[] = {x.data(), const_cast<float16*>(weight.data()), y.data(),
                       const_cast<void*>(static_cast<const void*>(&parameters))};
  void* arrays[] = {shared};
  Lockstep::run(library.kernel("rows_half"), arguments, arrays);
  const double scale = 0.5 / std::sqrt(squares / 100 + 1e-5);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(static_cast<float>(y[i]), static_cast<float>(x[i]) * scale, 1e-3) << i;
  }
}

TEST_P(KernelHost, AtomicsOfManyThreads) {
  const HostLibrary library = build("histogram");
  ASSERT_TRUE(library.ok());
  library.set_simulator(Lockstep::table());
  std::vector<std::uint8_t> x(20000);
  std::vector<std::uint32_t> want(256);
  float total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint8_t>(3 + (i * i + i / 7) % 240);
    ++want[x[i]];
    total += static_cast<float>(x[i]);
  }
  std::vector<std::uint32_t> counts(256);
  std::vector<std::int32_t> extremes = {1000, -1000, 0, 255, 0};
  float sum = 0;
  const unsigned n = 20000;
  alignas(16) std::uint32_t local[256];
  void* arguments[] = {x.data(), counts.data(), extremes.data(), &sum, const_cast<unsigned*>(&n)};
  void* arrays[] = {local};
  Lockstep::run(library.kernel("histogram"), arguments, arrays);
  EXPECT_EQ(counts, want);
  EXPECT_EQ(sum, total);  // all partial sums are integers below 2^24
  EXPECT_EQ(extremes[0], *std::min_element(x.begin(), x.end()));
  EXPECT_EQ(extremes[1], *std::max_element(x.begin(), x.end()));
  EXPECT_EQ(extremes[2], 255);
  EXPECT_EQ(extremes[3], 0);
  EXPECT_EQ(extremes[4], 77);
}

// Everything else that samples use compiles without a warning.
TEST_P(KernelHost, SampleKernelsCompile) {
  for (const char* name : {"elements_bfloat", "functions"}) {
    EXPECT_TRUE(build(name).ok()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, KernelHost, testing::Values(kGcc, "clang"),
                         [](const auto& test) {
                           return std::string(test.param == kGcc ? "gcc" : "clang");
                         });

}  // namespace
}  // namespace hearth::gpu_test
