// var and std against plain loops in f64.
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
