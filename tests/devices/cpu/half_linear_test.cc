// Products of f32 with weights in halves on the CPU: how exact they are, and that nothing
// overflows.
#include "ops/linalg/half_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "hearth/ops.h"

namespace hearth {
namespace {

std::vector<float> normal_values(std::int64_t count, float scale, std::mt19937& engine) {
  std::normal_distribution<float> draw(0, scale);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = draw(engine);
  return values;
}

// Relative to the sum of the magnitudes of terms; x is rounded to `rounded` first.
void expect_products(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, DType rounded,
                     double allowed, float scale, bool has_bias) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + ", " + std::to_string(n) +
               " columns of " + std::string(name(dtype)));
  std::mt19937 engine(static_cast<unsigned>(m * 131 + n * 17 + k));
  const Device cpu = Device::cpu();
  const Array x = Array::from_data(normal_values(m * k, scale, engine), {m, k}, cpu);
  const Array weight =
      cast(Array::from_data(normal_values(n * k, 0.1f, engine), {n, k}, cpu), dtype);
  const Array bias =
      has_bias ? Array::from_data(normal_values(n, scale, engine), {n}, cpu) : Array();
  const std::vector<double> got = half_linear(x, weight, bias).to_doubles();
  const std::vector<double> a = cast(x, rounded).to_doubles(), b = weight.to_doubles();
  const std::vector<double> added =
      has_bias ? bias.to_doubles() : std::vector<double>(static_cast<std::size_t>(n));
  ASSERT_EQ(got.size(), static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = added[static_cast<std::size_t>(j)], terms = std::fabs(sum) + 1e-30;
      for (std::int64_t p = 0; p < k; ++p) {
        const double term =
            a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(j * k + p)];
        sum += term;
        terms += std::fabs(term);
      }
      ASSERT_NEAR(got[static_cast<std::size_t>(i * n + j)], sum, allowed * terms) << i << ", " << j;
    }
  }
}

// Few rows, many, and so many that all tasks share what is packed.
TEST(HalfLinear, WeightsOfF16MeetWholeFloats) {
  for (const std::int64_t m : {1, 2, 7, 24, 25, 48, 49, 130}) {
    for (const bool has_bias : {false, true}) {
      expect_products(m, 37, 65, DType::f16, DType::f32, 3e-7, 3, has_bias);
      expect_products(m, 300, 96, DType::f16, DType::f32, 3e-7, 3, has_bias);
    }
  }
  expect_products(3, 90, 20000, DType::f16, DType::f32, 1e-6, 3, true);
  expect_products(26, 150, 20000, DType::f16, DType::f32, 1e-6, 3, true);
  expect_products(70, 150, 5000, DType::f16, DType::f32, 1e-6, 3, true);
  expect_products(400, 70, 100, DType::f16, DType::f32, 1e-6, 3, true);
}

TEST(HalfLinear, ValuesBeyondF16DoNotOverflow) {
  for (const std::int64_t m : {1, 40}) {
    expect_products(m, 50, 64, DType::f16, DType::f32, 3e-7, 1e9f, true);
    expect_products(m, 50, 64, DType::f16, DType::f32, 3e-7, 1e-9f, false);
  }
}

TEST(HalfLinear, SumsWithBf16AreWhole) {
  for (const std::int64_t m : {1, 3, 12, 130}) {
    for (const bool has_bias : {false, true}) {
      expect_products(m, 130, 96, DType::bf16, DType::bf16, 1e-6, 3, has_bias);
    }
  }
}

TEST(HalfLinear, LayoutsChangeNothing) {
  const Device cpu = Device::cpu();
  std::mt19937 engine(5);
  const Array x = Array::from_data(normal_values(40 * 64, 1, engine), {40, 64}, cpu);
  const Array weight =
      cast(Array::from_data(normal_values(64 * 80, 1, engine), {64, 80}, cpu), DType::f16);
  const Array turned = narrow(transpose(weight), 0, 8, 48);
  EXPECT_EQ(half_linear(x, turned).to_doubles(),
            half_linear(contiguous(x), contiguous(turned)).to_doubles());
  EXPECT_EQ(half_linear(narrow(x, 0, 3, 30), turned).to_doubles(),
            narrow(half_linear(x, turned), 0, 3, 30).to_doubles());
}

}  // namespace
}  // namespace hearth
