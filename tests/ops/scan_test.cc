// What scans mean where samples cannot say it: special values, ties, the ends of dtypes, empty
// axes, how exact long rows are, gradients where elements are 0 or infinite.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/grad.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using check::array;
using check::expect_close;
using check::expect_error;
using check::kInf;
using check::kNan;
using check::Values;

constexpr std::int64_t kMillion = 1'000'000;

std::vector<Device> devices() {
  std::vector<Device> all = testing::devices_under_test();
  const Device kernels = testing::kernel_device_under_test();
  if (std::find(all.begin(), all.end(), kernels) == all.end()) all.push_back(kernels);
  return all;
}

template <class Test>
void on_devices(Test test) {
  for (const Device device : devices()) {
    SCOPED_TRACE(device.name());
    test([device](const Values& values, const Shape& shape, DType dtype) {
      return to_device(array(values, shape, dtype), device);
    });
  }
}

TEST(Scans, AreInclusiveAndKeepTheShape) {
  on_devices([](auto made) {
    const Array x = made({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f32);
    EXPECT_EQ(cumsum(x, 1).to_doubles(), (Values{1, 3, 6, 4, 9, 15}));
    EXPECT_EQ(cumsum(x, -2).to_doubles(), (Values{1, 2, 3, 5, 7, 9}));
    EXPECT_EQ(cumsum(x, 1, true).to_doubles(), (Values{6, 5, 3, 15, 11, 6}));
    EXPECT_EQ(cumsum(x, 0, true).to_doubles(), (Values{5, 7, 9, 4, 5, 6}));
    EXPECT_EQ(cumprod(x, 1).to_doubles(), (Values{1, 2, 6, 4, 20, 120}));
    EXPECT_EQ(cumprod(x, -1, true).to_doubles(), (Values{6, 6, 3, 120, 30, 6}));
    EXPECT_EQ(cumsum(x, 1).shape(), (Shape{2, 3}));
  });
}

TEST(Scans, ExtremesAreNanFromTheFirstOneOn) {
  on_devices([](auto made) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      const Array x = made({1, 3, kNan, 2, kNan, 9, -kInf, -kInf, 4, kInf, 5, 6}, {2, 6}, dtype);
      const auto [most, at] = cummax_with_indices(x, 1);
      const Values largest = {1, 3, kNan, kNan, kNan, kNan, -kInf, -kInf, 4, kInf, kInf, kInf};
      expect_close(most, largest, 0);
      expect_close(cummax(x, 1), largest, 0);
      EXPECT_EQ(at.dtype(), DType::i64);
      EXPECT_EQ(at.to_doubles(), (Values{0, 1, 2, 2, 4, 4, 0, 1, 2, 3, 3, 3}));
      const Values smallest = {1,     1,     kNan,  kNan,  kNan,  kNan,
                               -kInf, -kInf, -kInf, -kInf, -kInf, -kInf};
      expect_close(cummin(x, 1), smallest, 0);
      expect_close(cummin_with_indices(x, 1).first, smallest, 0);
    }
  });
}

// As PyTorch has it; and Burn, whose gradients go to the last of equals.
TEST(Scans, OfEqualExtremesTheLastCounts) {
  on_devices([](auto made) {
    const Array x = made({3, 1, 3, 3, 2, 4, 0, 0, 1, 0}, {2, 5}, DType::i32);
    EXPECT_EQ(cummax_with_indices(x, 1).second.to_doubles(),
              (Values{0, 0, 2, 3, 3, 0, 0, 0, 0, 0}));
    EXPECT_EQ(cummin_with_indices(x, 1).second.to_doubles(),
              (Values{0, 1, 1, 1, 1, 0, 1, 2, 2, 4}));
  });
}

TEST(Scans, IntegersWrapAndKeepTheirDtype) {
  on_devices([](auto made) {
    for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32,
                              DType::i64, DType::u64}) {
      SCOPED_TRACE(name(dtype));
      const Array x = made({100, 100, 100, 7}, {4}, dtype);
      const Array sums = cumsum(x, 0), products = cumprod(x, 0);
      EXPECT_EQ(sums.dtype(), dtype);
      EXPECT_EQ(sums.to_doubles(),
                cast(made({100, 200, 300, 307}, {4}, DType::i64), dtype).to_doubles());
      EXPECT_EQ(products.to_doubles(),
                cast(made({100, 1e4, 1e6, 7e6}, {4}, DType::i64), dtype).to_doubles());
    }
    const Array ends =
        to_device(Array::from_data(std::vector<std::int64_t>{INT64_MAX, 1, INT64_MIN}, {3}),
                  made({0}, {1}, DType::i64).device());
    EXPECT_EQ(cumsum(ends, 0).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, 0}));
    EXPECT_EQ(cummax(ends, 0).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{INT64_MAX, INT64_MAX, INT64_MAX}));
    EXPECT_EQ(cummin(ends, 0).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{INT64_MAX, 1, INT64_MIN}));
  });
}

TEST(Scans, EmptyAxesAndSingleElements) {
  on_devices([](auto made) {
    for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) {
      const Array x = made({}, shape, DType::f32);
      for (int axis = 0; axis < shape.rank(); ++axis) {
        EXPECT_EQ(cumsum(x, axis).shape(), shape);
        EXPECT_EQ(cumprod(x, axis).eval().shape(), shape);
        EXPECT_EQ(cummax(x, axis).eval().shape(), shape);
        EXPECT_EQ(cummin_with_indices(x, axis).second.eval().shape(), shape);
        EXPECT_EQ(logcumsumexp(x, axis).eval().shape(), shape);
      }
    }
    const Array one = made({-2.5}, {1, 1}, DType::f32);
    EXPECT_EQ(cumprod(one, 1).item(), -2.5);
    EXPECT_EQ(logcumsumexp(one, 0).item(), -2.5);
    EXPECT_TRUE(std::signbit(cumsum(made({-0.0}, {1}, DType::f32), 0).item()));
  });
}

TEST(Scans, HalvesAreAddedInF32) {
  on_devices([](auto made) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const Array x = made(Values(5000, 1.0), {5000}, dtype);
      const double last = narrow(cumsum(x, 0), 0, 4999, 1).item();
      EXPECT_EQ(last, cast(array({5000}, {1}), dtype).item());
      // Neither sum of the first two is an f16.
      const Array high = made({60000, 60000, -60000, -60000}, {4}, dtype);
      EXPECT_EQ(narrow(cumsum(high, 0), 0, 2, 2).to_doubles(),
                narrow(made({0, 0, high.to_doubles()[0], 0}, {4}, dtype), 0, 2, 2).to_doubles());
    }
  });
}

// A row of 10^6: no element is further off than a few units of the last place of the largest sum so
// far. One after the other, f32 would be off by a hundred times that.
TEST(Scans, ErrorsOfLongSumsDoNotGrow) {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<float> draw(0.5F, 1.5F);
  std::vector<float> x(kMillion);
  for (float& value : x) value = draw(random);
  on_devices([&](auto made) {
    const Device device = made({0}, {1}, DType::f32).device();
    for (const bool by_columns : {false, true}) {
      // As columns: the row beside itself.
      const Array row = Array::from_data(x, {kMillion, 1}, device);
      const Array in = by_columns ? contiguous(expand(row, {kMillion, 2})) : reshape(row, {1, -1});
      const std::vector<float> sums = cumsum(in, by_columns ? 0 : 1).to_vector<float>();
      double exact = 0, worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        exact += static_cast<double>(x[i]);
        const double got = sums[by_columns ? 2 * i + 1 : i];
        worst = std::max(worst, std::abs(got - exact) / exact);
      }
      EXPECT_LE(worst, 12 * 0x1p-24) << (by_columns ? "columns" : "row");
    }
  });
}

TEST(Scans, ErrorsOfLongSumsOfF64DoNotGrow) {
  const Array ones = full({1, kMillion}, 0.1, DType::f64);
  const std::vector<double> sums = cumsum(ones, 1).to_vector<double>();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const long double exact = static_cast<long double>(0.1) * static_cast<long double>(i + 1);
    ASSERT_LE(std::abs(static_cast<long double>(sums[i]) - exact), exact * 0x1p-52L) << i;
  }
}

TEST(Scans, ProductsDoNotLeaveTheRangeOnTheirWay) {
  on_devices([](auto made) {
    for (const std::int64_t count : {6, 200, 3000}) {
      Values x(static_cast<std::size_t>(count), 1.0);
      // A tiny number first: what follows would overflow alone.
      x[0] = 0x1p-120;
      for (std::size_t i = 1; i < 4; ++i) x[i] = 0x1p60;
      x[4] = 0;
      x[5] = 0x1p127;
      Values expected(x.size(), 0.0);
      expected[0] = 0x1p-120;
      expected[1] = 0x1p-60;
      expected[2] = 1;
      expected[3] = 0x1p60;
      EXPECT_EQ(cumprod(made(x, {count}, DType::f32), 0).to_doubles(), expected) << count;
      const Array columns = expand(made(x, {count, 1}, DType::f32), {count, 33});
      EXPECT_EQ(
          cumprod(columns, 0).to_doubles(),
          contiguous(expand(made(expected, {count, 1}, DType::f32), {count, 33})).to_doubles());
    }
  });
}

TEST(Scans, LogsOfSumsOfPowersNeitherOverflowNorLoseInfinities) {
  on_devices([](auto made) {
    const Array x =
        made({1000, 1000, 999, -kInf, -kInf, 0, kInf, kInf, 3, 0, kNan, 1}, {4, 3}, DType::f32);
    const double ln2 = std::log(2.0);
    expect_close(logcumsumexp(x, 1),
                 {1000, 1000 + ln2, 1000 + std::log(2 + std::exp(-1.0)), -kInf, -kInf, 0, kInf,
                  kInf, kInf, 0, kNan, kNan},
                 1e-6);
  });
}

TEST(Scans, StridedAndReversedViews) {
  on_devices([](auto made) {
    const Array x = made(check::random_values(4 * 6 * 10, -1, 1, 3), {4, 6, 10}, DType::f32);
    for (const Array& view :
         {permute(x, {2, 0, 1}), transpose(x), flip(x, {2}), slice(x, {{0, 4}, {1, 5}, {3, 8}}),
          expand(narrow(x, 1, 2, 1), {4, 6, 10})}) {
      const Array dense = contiguous(view);
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_EQ(cumsum(view, axis).to_doubles(), cumsum(dense, axis).to_doubles());
        expect_close(cumsum(view, axis, true),
                     flip(cumsum(flip(dense, {axis}), axis), {axis}).to_doubles(), 1e-6);
        EXPECT_EQ(cummin(view, axis).to_doubles(), cummin(dense, axis).to_doubles());
        EXPECT_EQ(cummax_with_indices(view, axis).second.to_doubles(),
                  cummax_with_indices(dense, axis).second.to_doubles());
      }
    }
  });
}

TEST(Scans, GiveTheSameBitsEveryTime) {
  on_devices([](auto made) {
    const Array x = made(check::random_values(70000, -1, 1, 9), {70000}, DType::f32);
    const std::vector<float> first = cumsum(x, 0).to_vector<float>();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cumsum(x, 0).to_vector<float>(), first);
  });
}

// ---- Gradients

Values gradient(const std::function<Array(const Array&)>& f, const Values& x) {
  const Array leaf = array(x, {static_cast<std::int64_t>(x.size())}).require_grad();
  return backward(sum(f(leaf))).get(leaf).to_doubles();
}

// Burn's cases: tests of its autodiff crate.
TEST(Scans, GradientsOfExtremesGoWhereTheyStand) {
  const auto largest = [](const Array& x) { return cummax(x, 0); };
  const auto smallest = [](const Array& x) { return cummin(x, 0); };
  EXPECT_EQ(gradient(largest, {1, 3, 2}), (Values{1, 2, 0}));
  EXPECT_EQ(gradient(smallest, {3, 1, 2}), (Values{1, 2, 0}));
  EXPECT_EQ(gradient(largest, {2, 2, 1, 2}), (Values{1, 2, 0, 1}));
}

TEST(Scans, GradientsOfProductsAreExactWhereElementsAreZero) {
  const auto products = [](const Array& x) { return cumprod(x, 0); };
  EXPECT_EQ(gradient(products, {2, 0, 4, 5}), (Values{1, 2 + 8 + 40, 0, 0}));
  EXPECT_EQ(gradient(products, {0, 3, 0, 5}), (Values{1 + 3, 0, 0, 0}));
  EXPECT_EQ(gradient(products, {0, 0}), (Values{1, 0}));
  const auto from_the_end = [](const Array& x) { return cumprod(x, 0, true); };
  EXPECT_EQ(gradient(from_the_end, {5, 4, 0, 2}), (Values{0, 0, 2 + 8 + 40, 1}));
  const check::Many first = [](std::span<const Array> x) { return cumprod(x[0], 0); };
  for (const Values& x : {Values{2, 0, 4, 5}, Values{0, 3, 0, 5}, Values{1.5, -2, 0.5, 3}}) {
    check::check_gradients(first, {array(x, {4})});
    check::check_second_gradients(first, {array(x, {4})});
  }
}

TEST(Scans, GradientsOfLogSumsNeedNoFiniteBeginning) {
  const auto logs = [](const Array& x) { return logcumsumexp(x, 0); };
  expect_close(gradient(logs, {-kInf, 0, 0}), {0, 1.5, 0.5}, 1e-12);
  expect_close(gradient(logs, {900, -900, 900}), {2.5, 0, 0.5}, 1e-12);
  const check::Many directed = [](std::span<const Array> x) { return logcumsumexp(x[0], 1, true); };
  check::check_gradients(directed, {check::random_array({2, 5}, DType::f64, -2, 2)});
  check::check_second_gradients(directed, {check::random_array({2, 4}, DType::f64, -2, 2)});
}

TEST(Scans, AreMethodsUnderBurnsNames) {
  const Tensor<2> x{{1, 5, 3}, {4, 2, 6}};
  EXPECT_EQ(x.cumsum(1).array().to_doubles(), (Values{1, 6, 9, 4, 6, 12}));
  EXPECT_EQ(x.cumprod(0).array().to_doubles(), (Values{1, 5, 3, 4, 10, 18}));
  EXPECT_EQ(x.cummax(1).array().to_doubles(), (Values{1, 5, 5, 4, 4, 6}));
  EXPECT_EQ(x.cummin(1).array().to_doubles(), (Values{1, 1, 1, 4, 2, 2}));
  EXPECT_EQ(x.cummax_with_indices(1).second.array().to_doubles(), (Values{0, 1, 1, 0, 0, 2}));
}

TEST(Scans, Errors) {
  const Array x = zeros({2, 3}, DType::f32);
  for (const std::int64_t axis : {-3, 2}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)cumsum(x, axis); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)cumprod(x, axis); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)cummax(x, axis); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)cummin_with_indices(x, axis); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)logcumsumexp(x, axis); });
  }
  expect_error(ErrorCode::dtype, [&] { (void)cumsum(cast(x, DType::bool_), 0); });
  expect_error(ErrorCode::dtype, [&] { (void)logcumsumexp(cast(x, DType::i32), 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)cumsum(zeros({}, DType::f32), 0); });
}

}  // namespace
}  // namespace hearth
