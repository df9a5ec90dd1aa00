// quantile, bincount, histogram, multinomial: special values, bounds, gradients, frequencies. What
// NumPy gives is in order_golden_test.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

Array there(const Values& values, const Shape& shape, DType dtype, Device device) {
  return to_device(array(values, shape, dtype), device);
}

TEST(Quantile, Shapes) {
  const Array x = random_array({2, 3, 4}, DType::f32);
  EXPECT_EQ(quantile(x, {0.5}).shape(), Shape({1}));
  EXPECT_EQ(quantile(x, {0.25, 0.75}).shape(), Shape({2}));
  EXPECT_EQ(quantile(x, {0.25, 0.75}, std::nullopt, true).shape(), Shape({2, 1, 1, 1}));
  EXPECT_EQ(quantile(x, {0.5}, 1).shape(), Shape({1, 2, 4}));
  EXPECT_EQ(quantile(x, {0.5}, -1, true).shape(), Shape({1, 2, 3, 1}));
  EXPECT_EQ(quantile(x, {0.25, 0.75}, 0).shape(), Shape({2, 3, 4}));
  EXPECT_EQ(quantile(x, {0.25, 0.75}, 1, true).shape(), Shape({2, 2, 1, 4}));
  EXPECT_EQ(quantile(x, {}, 1).shape(), Shape({0, 2, 4}));
  EXPECT_EQ(quantile(zeros({0, 3}), {0.5}, 1).shape(), Shape({1, 0}));
  EXPECT_EQ(quantile(full({}, 2.0), {0.5}).shape(), Shape({1}));
  EXPECT_EQ(quantile(cast(x, DType::f16), {0.5}, 1).dtype(), DType::f16);
  EXPECT_EQ(quantile(x, {0.5}).to_doubles(), quantile(reshape(x, {24}), {0.5}, 0).to_doubles());
}

TEST(Quantile, NanAndInfinities) {
  for (const Device& device : devices_under_test()) {
    const Array x = there({1, kNan, 3, 4, -kInf, kInf, kInf, kInf}, {2, 4}, DType::f32, device);
    expect_values(quantile(x, {0, 0.5, 1}, 1), {3, 2}, {kNan, -kInf, kNan, kInf, kNan, kInf});
    const Array ends = there({-kInf, 2, 5}, {3}, DType::f32, device);
    expect_values(quantile(ends, {0, 0.25, 0.5, 1}), {4}, {-kInf, -kInf, 2, 5});
    const Array large = there({-3e38, 3e38}, {2}, DType::f32, device);
    expect_values(quantile(large, {0.5}), {1}, {0});
    // Equal elements are the result to the bit.
    const Array same = there({0.1, 0.1, 0.1}, {3}, DType::f32, device);
    EXPECT_EQ(quantile(same, {0.3}).item<float>(), 0.1f);
  }
}

TEST(Quantile, Gradients) {
  const Array x = random_array({3, 5}, DType::f64, -1, 1, 4);
  const std::vector<double> q = {0.1, 0.5, 0.9};
  for (const Interpolation method :
       {Interpolation::linear, Interpolation::lower, Interpolation::higher, Interpolation::midpoint,
        Interpolation::nearest}) {
    const Many f = [&](std::span<const Array> in) {
      return square(quantile(in[0], q, 1, false, method));
    };
    check_gradients(f, {x});
    check_second_gradients(f, {x});
  }
}

TEST(Quantile, RefusesWhatIsNoQuantile) {
  const Array x = ones({3});
  for (const double q : {-0.1, 1.1, kNan, kInf}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)quantile(x, {q}); });
  }
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantile(x, {0.5}, 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantile(zeros({2, 0}), {0.5}, 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantile(zeros({0}), {0.5}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)quantile(Array(), {0.5}); });
  expect_error(ErrorCode::dtype, [&] { (void)quantile(ones({3}, DType::i32), {0.5}); });
}

TEST(VarMean, AreVarAndMean) {
  for (const Device& device : devices_under_test()) {
    const Array x = to_device(random_array({3, 7}, DType::f32), device);
    const auto [spread, middle] = var_mean(x, {1}, true, 0);
    EXPECT_EQ(spread.to_doubles(), var(x, {1}, true, 0).to_doubles());
    EXPECT_EQ(middle.to_doubles(), mean(x, {1}, true).to_doubles());
  }
}

TEST(Bincount, CountsAndWeighs) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : {DType::i64, DType::i32, DType::i8, DType::u8, DType::u64}) {
      const Array x = there({1, 3, 1, 0, 5, 1}, {2, 3}, dtype, device);
      expect_values(bincount(x), {6}, {1, 3, 0, 1, 0, 1});
      expect_values(bincount(x, Array(), 8), {8}, {1, 3, 0, 1, 0, 1, 0, 0});
      expect_values(bincount(x, Array(), 0, 2), {2}, {1, 3});
      EXPECT_EQ(bincount(x).dtype(), DType::i64);
    }
    const Array x = there({1, -7, 1, 9}, {4}, DType::i64, device);
    const Array weights = there({0.5, 1, 0.25, 2}, {4}, DType::f32, device);
    expect_values(bincount(x, weights, 0, 3), {3}, {0, 0.75, 0});
    const Array none = zeros({0}, DType::i64, device);
    EXPECT_EQ(bincount(none).shape(), Shape({0}));
    expect_values(bincount(none, Array(), 2), {2}, {0, 0});
  }
}

TEST(Bincount, WaitsOnlyForALength) {
  const Array x = array({1, 2}, {2}, DType::i64);
  const std::int64_t before = statistics().syncs;
  (void)bincount(x, Array(), 0, 3);
  EXPECT_EQ(statistics().syncs, before);
  (void)bincount(x);
  EXPECT_EQ(statistics().syncs, before + 1);
}

TEST(Bincount, GradientsReachWeights) {
  const Array x = array({0, 2, 2, 1, 9}, {5}, DType::i64);
  const Many f = [&](std::span<const Array> in) { return square(bincount(x, in[0], 0, 3)); };
  check_gradients(f, {random_array({5})});
}

TEST(Bincount, RefusesWhatDoesNotFit) {
  const Array x = array({1, -1}, {2}, DType::i64);
  expect_error(ErrorCode::invalid_argument, [&] { (void)bincount(x); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)bincount(abs(x), Array(), -1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)bincount(x, Array(), 0, -1); });
  expect_error(ErrorCode::shape, [&] { (void)bincount(x, ones({3})); });
  expect_error(ErrorCode::dtype, [&] { (void)bincount(x, ones({2}, DType::bool_)); });
  expect_error(ErrorCode::dtype, [&] { (void)bincount(ones({2})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)bincount(Array()); });
  const Array far = ints({std::numeric_limits<std::int64_t>::max()}, {1});
  expect_error(ErrorCode::shape, [&] { (void)bincount(far); });
  expect_error(ErrorCode::shape, [&] { (void)bincount(far - 1); });
}

TEST(Histogram, BinsHaveTheirLowerEdgeAndTheLastBoth) {
  for (const Device& device : devices_under_test()) {
    const Array x = there({0, 0.5, 1, 1.5, 2, 2.5, 3, -1, 4, kNan, kInf}, {11}, DType::f32, device);
    const auto [counts, edges] = histogram(x, 3, Bounds{0, 3});
    expect_values(counts, {3}, {2, 2, 3});
    expect_values(edges, {4}, {0, 1, 2, 3});
    EXPECT_EQ(counts.dtype(), DType::i64);
    expect_values(histogram_by_edges(x, edges), {3}, {2, 2, 3});
    const Array uneven = there({0, 1, 1, 4}, {4}, DType::f32, device);
    expect_values(histogram_by_edges(x, uneven), {3}, {2, 0, 6});
    const Array whole = there({1, 2, 2, 5, 9}, {5}, DType::i64, device);
    expect_values(histogram_by_edges(whole, there({1, 2, 5}, {3}, DType::i64, device)), {2},
                  {1, 3});
  }
}

// Numbers at and beside each edge, and far away, are counted as by the edges themselves.
TEST(Histogram, EvenBinsAgreeWithTheirEdges) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const auto& [bounds, bins] : {std::pair(Bounds{-4, 4}, 100),
                                         {Bounds{0.1, 0.7}, 7},
                                         {Bounds{-3e38, 3e38}, 33},
                                         {Bounds{1000, 1064}, 64}}) {
        const auto edges = histogram(zeros({1}, dtype, device), bins, bounds).second;
        std::vector<double> values = {-INFINITY, INFINITY, NAN, 0, 1e30, -1e30};
        for (const double edge : cast(edges, DType::f64).to_vector<double>()) {
          const auto at = static_cast<float>(edge);
          values.push_back(at);
          values.push_back(std::nextafter(at, INFINITY));
          values.push_back(std::nextafter(at, -INFINITY));
        }
        const auto count = static_cast<std::int64_t>(values.size());
        const Array x = cast(there(values, {count}, DType::f32, device), dtype);
        EXPECT_EQ(histogram(x, bins, bounds).first.to_vector<std::int64_t>(),
                  histogram_by_edges(x, edges).to_vector<std::int64_t>())
            << device.name() << " " << name(dtype) << " " << bins << " bins from " << bounds.low;
      }
    }
  }
}

TEST(Histogram, TakesBoundsFromTheElements) {
  for (const Device& device : devices_under_test()) {
    const Array x = there({-1, 0, 3, 1}, {2, 2}, DType::f32, device);
    const auto [counts, edges] = histogram(x, 4);
    expect_values(edges, {5}, {-1, 0, 1, 2, 3});
    expect_values(counts, {4}, {1, 1, 1, 1});
    const auto [same, around] = histogram(full({3}, 2.0, DType::f32, device), 2);
    expect_values(around, {3}, {1.5, 2, 2.5});
    expect_values(same, {2}, {0, 3});
    const auto [none, unit] = histogram(zeros({0}, DType::f32, device), 2);
    expect_values(none, {2}, {0, 0});
    expect_values(unit, {3}, {0, 0.5, 1});
    for (const double odd : {kNan, kInf, -kInf}) {
      const auto [odd_counts, odd_edges] =
          histogram(there({1, odd, 2}, {3}, DType::f32, device), 2);
      expect_values(odd_counts, {2}, {0, 0});
      expect_values(odd_edges, {3}, {kNan, kNan, kNan});
    }
    const auto [wide_counts, wide_edges] =
        histogram(there({-3e38, 3e38, 1}, {3}, DType::f32, device), 2);
    expect_values(wide_counts, {2}, {1, 2});
  }
}

TEST(Histogram, Weighs) {
  const Array x = array({0.5, 1.5, 1.7}, {3}, DType::f64);
  const Many f = [&](std::span<const Array> in) {
    return square(histogram(x, 2, Bounds{0, 2}, in[0]).first);
  };
  expect_values(f(std::vector<Array>{array({1, 2, 4}, {3})}), {2}, {1, 36});
  check_gradients(f, {random_array({3})});
}

TEST(Histogram, RefusesWhatMakesNoBins) {
  const Array x = ones({3});
  expect_error(ErrorCode::invalid_argument, [&] { (void)histogram(x, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)histogram(x, 2, Bounds{1, 1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)histogram(x, 2, Bounds{1, kInf}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)histogram(x, 2, Bounds{kNan, 1}); });
  expect_error(ErrorCode::shape, [&] { (void)histogram_by_edges(x, ones({1})); });
  expect_error(ErrorCode::shape, [&] { (void)histogram_by_edges(x, ones({2, 2})); });
  expect_error(ErrorCode::shape, [&] { (void)histogram_by_edges(x, ones({2}), ones({2})); });
  expect_error(ErrorCode::dtype, [&] { (void)histogram_by_edges(x, ones({2}, DType::f64)); });
  expect_error(ErrorCode::dtype, [&] { (void)histogram(ones({3}, DType::i64), 2); });
  expect_error(ErrorCode::shape,
               [&] { (void)histogram(x, std::numeric_limits<std::int64_t>::max()); });
}

// Each count is within 5 standard deviations of what chance makes it.
void expect_frequencies(const std::vector<std::int64_t>& drawn, const Values& chances) {
  std::vector<std::int64_t> counts(chances.size());
  for (const std::int64_t category : drawn) {
    ASSERT_GE(category, 0);
    ASSERT_LT(category, static_cast<std::int64_t>(chances.size()));
    ++counts[static_cast<std::size_t>(category)];
  }
  const auto n = static_cast<double>(drawn.size());
  for (std::size_t i = 0; i < chances.size(); ++i) {
    const double deviation = std::sqrt(n * chances[i] * (1 - chances[i]));
    EXPECT_NEAR(static_cast<double>(counts[i]), n * chances[i], 5 * deviation) << "category " << i;
  }
}

TEST(Multinomial, FrequenciesFollowWeights) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
      const Array weights = there({1, 0, 3, 4, 1, 1, 0, 0}, {2, 4}, dtype, device);
      Generator source{7, 0};
      const Array drawn = multinomial(weights, 20000, true, &source);
      EXPECT_EQ(drawn.shape(), Shape({2, 20000}));
      EXPECT_EQ(drawn.dtype(), DType::i64);
      expect_frequencies(narrow(drawn, 0, 0, 1).to_vector<std::int64_t>(), {0.125, 0, 0.375, 0.5});
      expect_frequencies(narrow(drawn, 0, 1, 1).to_vector<std::int64_t>(), {0.5, 0.5, 0, 0});
    }
  }
}

TEST(Multinomial, FirstOfThoseWithoutReplacementFollowWeights) {
  const std::int64_t rows = 20000;
  for (const Device& device : devices_under_test()) {
    const Array weights = expand(there({1, 0, 3, 4}, {1, 4}, DType::f32, device), {rows, 4});
    Generator source{8, 0};
    const Array drawn = multinomial(weights, 2, false, &source);
    EXPECT_EQ(drawn.shape(), Shape({rows, 2}));
    expect_frequencies(narrow(drawn, 1, 0, 1).to_vector<std::int64_t>(), {0.125, 0, 0.375, 0.5});
    // Second after first: by the chances of what is left.
    expect_frequencies(
        narrow(drawn, 1, 1, 1).to_vector<std::int64_t>(),
        {3.0 / 8 / 5 + 4.0 / 8 / 4, 0, 3.0 / 8 / 7 + 0.5 * 3 / 4, 0.5 / 7 + 3.0 / 8 * 4 / 5});
  }
}

TEST(Multinomial, WithoutReplacementNothingComesTwice) {
  for (const Device& device : devices_under_test()) {
    const Array weights = to_device(random_array({50, 30}, DType::f32, 0, 1, 3), device);
    Generator source{9, 0};
    const std::vector<std::int64_t> drawn =
        multinomial(weights, 30, false, &source).to_vector<std::int64_t>();
    for (std::size_t row = 0; row < 50; ++row) {
      const auto begin = drawn.begin() + static_cast<std::ptrdiff_t>(row * 30);
      EXPECT_EQ(std::set<std::int64_t>(begin, begin + 30).size(), 30u);
    }
    // What weighs nothing comes last.
    const Array some = there({0, 1, 0, 2, 3}, {5}, DType::f32, device);
    const std::vector<std::int64_t> order =
        multinomial(some, 5, false, &source).to_vector<std::int64_t>();
    EXPECT_EQ(std::set<std::int64_t>(order.begin() + 3, order.end()),
              (std::set<std::int64_t>{0, 2}));
  }
}

TEST(Multinomial, OneSeedDrawsTheSameOnEveryDevice) {
  const Array weights = random_array({3, 1000}, DType::f32, 0, 1, 5);
  Values first[2];
  for (const Device& device : devices_under_test()) {
    for (const bool replacement : {false, true}) {
      Generator source{11, 4};
      const Array drawn = multinomial(to_device(weights, device), 100, replacement, &source);
      EXPECT_EQ(source.counter, 5u);
      Values& expected = first[replacement ? 1 : 0];
      if (expected.empty()) expected = drawn.to_doubles();
      EXPECT_EQ(drawn.to_doubles(), expected);
      if (!replacement) continue;
      Generator again{11, 4};
      EXPECT_EQ(categorical(to_device(weights, device), 100, &again).to_doubles(), expected);
    }
  }
}

TEST(Multinomial, OddWeightsWeighNothing) {
  for (const Device& device : devices_under_test()) {
    const Array odd = there({kNan, -1, 2, kNan}, {4}, DType::f32, device);
    for (const double category : categorical(odd, 50).to_doubles()) EXPECT_EQ(category, 2);
    const Array infinite = there({kInf, 1, 3, kInf}, {4}, DType::f32, device);
    Generator source{12, 0};
    expect_frequencies(categorical(infinite, 20000, &source).to_vector<std::int64_t>(),
                       {0, 0.25, 0.75, 0});
    const std::vector<std::int64_t> order =
        multinomial(infinite, 4, false, &source).to_vector<std::int64_t>();
    EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.begin() + 2),
              (std::set<std::int64_t>{1, 2}));
    // Little is more than nothing.
    const Array little = expand(there({0, 1.2e-38}, {1, 2}, DType::f32, device), {2000, 2});
    for (const double category : multinomial(little, 1, false, &source).to_doubles()) {
      EXPECT_EQ(category, 1);
    }
    for (const Array& weights :
         {zeros({3}, DType::f32, device), full({3}, kInf, DType::f32, device),
          full({3}, kNan, DType::f32, device), full({3}, -1.0, DType::f32, device)}) {
      for (const bool replacement : {false, true}) {
        for (const double category : multinomial(weights, 3, replacement).to_doubles()) {
          EXPECT_GE(category, 0);
          EXPECT_LE(category, 2);
        }
      }
    }
    const Array tiny = there({1e-40, 2e-40}, {2}, DType::f32, device);
    for (const double category : categorical(tiny, 20).to_doubles()) EXPECT_LE(category, 1);
    EXPECT_EQ(categorical(ones({0, 3}, DType::f32, device), 4).shape(), Shape({0, 4}));
    EXPECT_EQ(categorical(ones({2, 3}, DType::f32, device), 0).shape(), Shape({2, 0}));
    EXPECT_EQ(categorical(ones({2, 3, 4}, DType::f32, device), 5).shape(), Shape({2, 3, 5}));
  }
}

TEST(Multinomial, RefusesWhatCannotBeDrawn) {
  expect_error(ErrorCode::invalid_argument, [] { (void)multinomial(ones({3}), 4); });
  expect_error(ErrorCode::invalid_argument, [] { (void)multinomial(ones({3}), -1, true); });
  expect_error(ErrorCode::shape, [] { (void)multinomial(ones({3, 0}), 0); });
  expect_error(ErrorCode::shape, [] { (void)categorical(ones({}), 1); });
  expect_error(ErrorCode::dtype, [] { (void)categorical(ones({3}, DType::i64), 1); });
  expect_error(ErrorCode::invalid_argument, [] { (void)categorical(Array(), 1); });
}

}  // namespace
}  // namespace hearth
