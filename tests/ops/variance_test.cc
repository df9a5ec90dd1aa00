// var and std against plain loops in f64.
#include <cmath>
#include <limits>

#include "check.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using namespace check;

class Variance : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, Variance, testing::Bool(), way_name);

double variance_of(const Values& row, double correction) {
  double mean = 0;
  for (const double value : row) mean += value / static_cast<double>(row.size());
  double squares = 0;
  for (const double value : row) squares += (value - mean) * (value - mean);
  return squares / (static_cast<double>(row.size()) - correction);
}

TEST_P(Variance, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Array x = random_array({3, 17}, dtype, -4, 9, 5);
    const Values all = x.to_doubles();
    Values variances, roots, biased;
    for (std::size_t row = 0; row < 3; ++row) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(17 * row);
      const Values values(begin, begin + 17);
      variances.push_back(variance_of(values, 1));
      roots.push_back(std::sqrt(variances.back()));
      biased.push_back(variance_of(values, 0));
    }
    expect_values(var(x, {1}), {3}, variances);
    expect_values(var(x, {-1}, true), {3, 1}, variances);
    expect_values(hearth::std(x, {1}), {3}, roots);
    expect_values(var(x, {1}, false, 0), {3}, biased);
    expect_values(var(transpose(x), {0}, true, 0), {1, 3}, biased);
    expect_values(var(x), {}, {variance_of(all, 1)});
    expect_values(hearth::std(x), {}, {std::sqrt(variance_of(all, 1))});
    expect_values(var(x, {}, false, 0), {3, 17}, Values(51, 0));
  }
}

TEST_P(Variance, FarFromZeroNothingCancels) {
  Values values = random_values(1000, -1, 1, 3);
  for (double& value : values) value += 4096;
  const Array x = array(values, {1000}, DType::f32);
  EXPECT_NEAR(var(x).item(), variance_of(x.to_doubles(), 1), 1e-4);
}

// Rows of 2048 elements and more are read once.
TEST_P(Variance, OfLongRows) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t length : {2047, 2048, 2051}) {
      const Array x = random_array({2, 32, length}, dtype, -4, 9, 5);
      const Values all = x.to_doubles();
      Values biased;
      for (std::int64_t row = 0; row < 64; ++row) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(length * row);
        biased.push_back(variance_of(Values(begin, begin + length), 0));
      }
      expect_values(var(x, {2}, false, 0), {2, 32}, biased);
      expect_values(var(x, {-1}, true, 0), {2, 32, 1}, biased);
      expect_values(var(transpose(contiguous(transpose(x))), {2}, false, 0), {2, 32}, biased);
      expect_values(var(x, {1, 2}, true, 7), {2, 1, 1},
                    {variance_of(Values(all.begin(), all.begin() + 32 * length), 7),
                     variance_of(Values(all.begin() + 32 * length, all.end()), 7)});
      expect_values(hearth::std(x), {}, {std::sqrt(variance_of(all, 1))});
    }
    Values values = random_values(2100, -1, 1, 4);
    for (double& value : values) value += dtype == DType::f64 || dtype == DType::f32 ? 4096 : 4;
    const Array far = array(values, {2100}, dtype);
    const auto of_row = [](const Array& row) {
      return narrow(var(expand(unsqueeze(row, {0}), {32, 2100}), {1}), 0, 31, 1);
    };
    expect_values(of_row(far), {1}, {variance_of(far.to_doubles(), 1)});
    values[1000] = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(std::isnan(of_row(array(values, {2100}, dtype)).item()));
    values[1000] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(of_row(array(values, {2100}, dtype)).item()));
    // A mean of sums is rounded: what is left is its error, squared.
    for (const double value : var(full({32, 3000}, 0.3, dtype), {1}).to_doubles()) {
      EXPECT_NEAR(value, 0, 1e-12);
    }
    EXPECT_TRUE(std::isnan(var(ones({32, 2048}, dtype), {1}, false, 2048).to_doubles().back()));
  }
}

TEST_P(Variance, OfLongRowsIsDifferentiableTwice) {
  const Array weights = array(random_values(2048, -1, 1, 9), {2048});
  const Array x = array(random_values(3, -1, 1, 7), {3});
  // x among a row of constants, so that finite differences are few.
  const auto deviation = [&](std::span<const Array> in) {
    const Array row = mul(weights, sum(in[0])) + cat({in[0], zeros({2045}, DType::f64)}, 0) * 40.0;
    return narrow(hearth::std(expand(reshape(row, {1, 2048}), {32, 2048}), {1}), 0, 0, 2);
  };
  check_gradients(deviation, {x});
  check_second_gradients(deviation, {x});
}

TEST_P(Variance, OfTooFewIsNotANumber) {
  EXPECT_TRUE(std::isnan(var(array({3}, {1})).item()));
  EXPECT_TRUE(std::isnan(hearth::std(array({3}, {1})).item()));
  EXPECT_TRUE(std::isnan(var(zeros({0})).item()));
  EXPECT_EQ(var(array({3}, {1}), {0}, false, 0).item(), 0);
}

TEST_P(Variance, IsDifferentiableTwice) {
  const Array x = array(random_values(12, -2, 2, 7), {3, 4});
  for (const std::int64_t correction : {0, 1}) {
    const auto variance = [&](std::span<const Array> in) {
      return var(in[0], {1}, false, correction);
    };
    const auto deviation = [&](std::span<const Array> in) {
      return hearth::std(in[0], {0}, true, correction);
    };
    check_gradients(variance, {x});
    check_second_gradients(variance, {x});
    check_gradients(deviation, {x});
    check_second_gradients(deviation, {x});
  }
}

TEST_P(Variance, TheRootOfNothingHasNoSlope) {
  const Array x = array({2, 2, 2}, {3}).require_grad();
  expect_values(backward(hearth::std(x)).get(x), {3}, {0, 0, 0});
}

TEST_P(Variance, WrongInputIsAnError) {
  EXPECT_THROW((void)var(ones({3}, DType::i64)), Error);
  EXPECT_THROW((void)hearth::std(ones({3}, DType::bool_)), Error);
  EXPECT_THROW((void)var(Array()), Error);
  EXPECT_THROW((void)hearth::std(Array(), {0}), Error);
  EXPECT_THROW((void)var(ones({3, 2}), {2}), Error);
  EXPECT_THROW((void)var(ones({3, 2}), {1, 1}), Error);
}

TEST(VarianceOfTensors, KeepsTheDimension) {
  const Tensor<2> x{{1, 2, 3}, {4, 6, 11}};
  EXPECT_EQ(x.var(1).shape(), (Shape{2, 1}));
  EXPECT_FLOAT_EQ(static_cast<float>(x.var(1)[1].item()), 13.0F);
  EXPECT_FLOAT_EQ(static_cast<float>(x.var(1, 0)[0].item()), 2.0F / 3);
  EXPECT_FLOAT_EQ(static_cast<float>(x.std(0)[0][2].item()), std::sqrt(32.0F));
  EXPECT_FLOAT_EQ(static_cast<float>(x.var().item()), 13.1F);
  EXPECT_FLOAT_EQ(static_cast<float>(x.std().item()), std::sqrt(13.1F));
  EXPECT_FLOAT_EQ(static_cast<float>(x.tan()[0][0].item()), std::tan(1.0F));
}

}  // namespace
}  // namespace hearth
