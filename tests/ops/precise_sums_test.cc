// Sums of f32 in twice its digits, on request: against sums in f64, on the CPU, the hostile device
// and the one that runs kernels.
#include <cmath>
#include <limits>
#include <random>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/numerics.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::kInf;
using check::kNan;

constexpr Numerics kPrecise{.precise_sums = true};

std::vector<Device> devices() {
  std::vector<Device> all = testing::devices_under_test();
  const Device kernels = testing::kernel_device_under_test();
  if (std::find(all.begin(), all.end(), kernels) == all.end()) all.push_back(kernels);
  return all;
}

// Half the distance between floats around x.
double half_ulp(double x) {
  const auto at = static_cast<float>(std::abs(x));
  return (std::nextafter(at, std::numeric_limits<float>::infinity()) - at) / 2.0;
}

struct Sum {
  double exact = 0, magnitudes = 0;
};
Sum sum_of(const std::vector<float>& x, std::size_t first, std::size_t count, std::size_t step) {
  long double exact = 0, magnitudes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    exact += x[first + i * step];
    magnitudes += std::abs(x[first + i * step]);
  }
  return {static_cast<double>(exact), static_cast<double>(magnitudes)};
}
double bound(const Sum& sum) { return half_ulp(sum.exact) + std::ldexp(sum.magnitudes, -44); }

void expect_sums(const std::vector<double>& got, const std::vector<Sum>& expected,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(std::abs(got[i] - expected[i].exact), bound(expected[i]))
        << what << " " << i << ": " << got[i] << ", expected " << expected[i].exact;
  }
}

// The whole, rows, columns and the outer axes of x, as [rows, columns].
void expect_all_sums(const Device& device, const std::vector<float>& x, std::int64_t columns,
                     const std::string& what) {
  const auto count = static_cast<std::int64_t>(x.size());
  const std::int64_t rows = count / columns;
  const auto wide = static_cast<std::size_t>(columns), high = static_cast<std::size_t>(rows);
  const std::string where = device.name() + " " + what;
  const Array there = Array::from_data(x, {rows, columns}, device);
  const WithNumerics precise(kPrecise);
  expect_sums(sum(there).to_doubles(), {sum_of(x, 0, x.size(), 1)}, where + " whole");
  std::vector<Sum> expected;
  for (std::size_t i = 0; i < high; ++i) expected.push_back(sum_of(x, i * wide, wide, 1));
  expect_sums(sum(there, {1}).to_doubles(), expected, where + " rows");
  expected.clear();
  for (std::size_t i = 0; i < wide; ++i) expected.push_back(sum_of(x, i, high, wide));
  expect_sums(sum(there, {0}).to_doubles(), expected, where + " columns");
  expect_sums(sum(reshape(there, {rows / 2, 2, columns}), {0, 1}).to_doubles(), expected,
              where + " outer axes");
  expect_sums(sum(transpose(there), {1}).to_doubles(), expected, where + " transposed");
}

std::vector<float> small_behind_large(std::size_t count) {
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<float> small(0.0f, 1.0f);
  std::vector<float> x(count);
  for (float& value : x) value = small(random);
  x[0] = 1e8f;
  return x;
}

std::vector<float> alternating(std::size_t count) {
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = (i % 2 == 0 ? 1e6f : -1e6f) + normal(random);
  }
  return x;
}

std::vector<float> of_all_sizes(std::size_t count) {
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<float> digits(-1.0f, 1.0f);
  std::vector<float> x(count);
  for (float& value : x) value = std::ldexp(digits(random), static_cast<int>(random() % 40) - 20);
  return x;
}

TEST(PreciseSums, AreThoseOfF64) {
  for (const Device& device : devices()) {
    // Short rows, rows of a simdgroup, of a threadgroup, with elements over.
    for (const auto& [rows, columns] : {std::pair(64, 12), {34, 200}, {6, 3001}, {4, 8192}}) {
      const auto count = static_cast<std::size_t>(rows * columns);
      const std::string what = std::to_string(rows) + "x" + std::to_string(columns) + " ";
      expect_all_sums(device, small_behind_large(count), columns, what + "large first");
      expect_all_sums(device, alternating(count), columns, what + "alternating");
      expect_all_sums(device, of_all_sizes(count), columns, what + "all sizes");
    }
  }
}

TEST(PreciseSums, OfMillions) {
  constexpr std::size_t kCount = 1 << 24;
  const std::vector<float> x(kCount, 0.1f);
  const Sum expected{0.1f * static_cast<double>(kCount), 0.1f * static_cast<double>(kCount)};
  for (const Device& device : devices()) {
    const Array there = Array::from_data(x, {std::int64_t{kCount}}, device);
    const WithNumerics precise(kPrecise);
    expect_sums(sum(there).to_doubles(), {expected}, device.name());
    EXPECT_EQ(mean(there).to_doubles()[0], static_cast<double>(0.1f)) << device.name();
  }
}

// Without being asked, sums are as fast as ever: this one loses what is small beside 1e8.
TEST(PreciseSums, AreOnRequest) {
  std::vector<float> x(4096, 1.0f);
  x[0] = 1e8f;
  const Sum expected = sum_of(x, 0, x.size(), 1);
  for (const Device& device : devices()) {
    const Array there = Array::from_data(x, {4096}, device);
    EXPECT_GT(std::abs(sum(there).to_doubles()[0] - expected.exact), bound(expected))
        << device.name();
    const WithNumerics precise(kPrecise);
    EXPECT_EQ(sum(there).to_doubles()[0], static_cast<double>(static_cast<float>(expected.exact)));
  }
}

TEST(PreciseSums, BehindOtherOps) {
  const std::vector<float> x = of_all_sizes(24 * 500), y = alternating(24 * 500);
  for (const Device& device : devices()) {
    const Array a = Array::from_data(x, {24, 500}, device);
    const Array b = Array::from_data(y, {24, 500}, device);
    const auto chain = [&] { return abs(a * b) + 3.0; };
    const std::vector<double> values = chain().to_doubles();
    const std::vector<float> terms(values.begin(), values.end());
    std::vector<Sum> rows, columns;
    for (std::size_t i = 0; i < 24; ++i) rows.push_back(sum_of(terms, i * 500, 500, 1));
    for (std::size_t i = 0; i < 500; ++i) columns.push_back(sum_of(terms, i, 24, 500));
    const WithNumerics precise(kPrecise);
    expect_sums(sum(chain(), {1}).to_doubles(), rows, device.name() + " rows");
    expect_sums(sum(chain(), {0}).to_doubles(), columns, device.name() + " columns");
    // The terms are wanted as well.
    const Array kept = chain();
    const Array total = sum(kept, {1});
    expect_sums(total.to_doubles(), rows, device.name() + " rows beside terms");
    EXPECT_EQ(kept.to_doubles(), values);
    // A quotient is rounded once more.
    const std::vector<double> means = mean(chain(), {1}).to_doubles();
    for (std::size_t i = 0; i < 24; ++i) {
      const double expected = rows[i].exact / 500;
      EXPECT_LE(std::abs(means[i] - expected), 3 * half_ulp(expected)) << device.name() << i;
    }
  }
}

TEST(PreciseSums, OfWhatIsNoNumber) {
  const auto f32 = [](std::vector<float> x, const Device& device) {
    const auto count = static_cast<std::int64_t>(x.size());
    return Array::from_data(std::move(x), {count}, device);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Device& device : devices()) {
    const WithNumerics precise(kPrecise);
    EXPECT_EQ(sum(f32({1, kInfinity, 2, 3}, device)).to_doubles()[0], kInf) << device.name();
    EXPECT_EQ(sum(f32({1, -kInfinity, 2, 3}, device)).to_doubles()[0], -kInf) << device.name();
    EXPECT_TRUE(std::isnan(sum(f32({kInfinity, -kInfinity}, device)).to_doubles()[0]));
    EXPECT_TRUE(std::isnan(sum(f32({1, nan, 2}, device)).to_doubles()[0])) << device.name();
    EXPECT_EQ(sum(f32({3e38f, 3e38f, 1}, device)).to_doubles()[0], kInf) << device.name();
    EXPECT_EQ(sum(f32({3e38f, -3e38f}, device)).to_doubles()[0], 0) << device.name();
    EXPECT_EQ(sum(f32({}, device)).to_doubles()[0], 0) << device.name();
    EXPECT_EQ(sum(f32({1e-40f, 1e-40f}, device)).to_doubles()[0], double{1e-40f + 1e-40f});
  }
}

TEST(PreciseSums, OtherDtypesAndGradientsAreAsEver) {
  const std::vector<float> x = alternating(40 * 130);
  for (const Device& device : devices()) {
    const Array there = Array::from_data(x, {40, 130}, device);
    for (const DType dtype : {DType::f16, DType::bf16, DType::i32}) {
      const Array other = cast(there * 1e-3, dtype);
      const std::vector<double> before = sum(other, {1}).to_doubles();
      const WithNumerics precise(kPrecise);
      EXPECT_EQ(sum(other, {1}).to_doubles(), before) << device.name() << name(dtype);
    }
    const auto gradient = [&] {
      const Array w = Array::from_data(x, {40, 130}, device).require_grad();
      const Array loss = sum(w * w);
      return backward(loss).get(w).to_doubles();
    };
    const std::vector<double> before = gradient();
    const WithNumerics precise(kPrecise);
    EXPECT_EQ(gradient(), before) << device.name();
  }
}

}  // namespace
}  // namespace hearth
