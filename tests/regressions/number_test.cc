// Numbers beside arrays of integers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;

__extension__ using Wide = __int128;

template <class T>
Array list(const std::vector<T>& values) {
  return Array::from_data(values, {static_cast<std::int64_t>(values.size())});
}

// They wrapped: clamp(x, -5, 300) of u8 made every x 251.
TEST(Number, OutOfRangeIsRefused) {
  const Array u8 = array({1, 2}, {2}, DType::u8), i8 = array({1, 2}, {2}, DType::i8);
  expect_error(ErrorCode::dtype, [&] { (void)clamp(u8, -5, 300); });
  expect_error(ErrorCode::dtype, [&] { (void)less(u8, 256); });
  expect_error(ErrorCode::dtype, [&] { (void)greater(i8, -129); });
  expect_error(ErrorCode::dtype, [&] { (void)add(i8, 128.0); });
  expect_error(ErrorCode::dtype, [&] { (void)where(less(u8, 2), u8, 999); });
  expect_error(ErrorCode::dtype, [&] { (void)full({2}, 300, DType::u8); });
  expect_error(ErrorCode::dtype,
               [&] { (void)equal(array({1}, {1}, DType::i32), (std::int64_t{1} << 32) + 1); });
  expect_error(ErrorCode::dtype,
               [&] { (void)add(array({1}, {1}, DType::i64), 9223372036854775808.0); });
  expect_values(add(u8, 255), {2}, {0, 1});
  expect_values(add(i8, -128), {2}, {-127, -126});
  expect_values(maximum(array({1}, {1}, DType::i64), INT64_MIN), {1}, {1});
  expect_values(minimum(array({1}, {1}, DType::i64), INT64_MAX), {1}, {1});
  expect_values(minimum(array({1}, {1}, DType::u64), 1e19), {1}, {1});
}

// A whole number wrapped where the same number in an array saturates.
TEST(Number, CastsLikeAnArray) {
  EXPECT_EQ(cast(1e10, DType::i32).item(), 2147483647);
  EXPECT_EQ(cast(-1e10, DType::i32).item(), -2147483648.0);
  EXPECT_EQ(cast(300.0, DType::u8).item(), 255);
  EXPECT_EQ(cast(-3.7, DType::u8).item(), 0);
  EXPECT_EQ(cast(-3.7, DType::i8).item(), -3);
  EXPECT_EQ(cast(check::kNan, DType::i16).item(), 0);
  EXPECT_EQ(cast(16777217.0, DType::i64).item(), 16777217);
  EXPECT_EQ(cast(1e300, DType::u64).to_vector<std::uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(cast(-1e300, DType::i64).to_vector<std::int64_t>()[0], INT64_MIN);
  EXPECT_EQ(cast(1e19, DType::u64).to_vector<std::uint64_t>()[0], 10000000000000000000u);
  EXPECT_EQ(cast(300, DType::u8).item(), 44);  // integers wrap
}

// The square overflows where its reciprocal is a subnormal number, or is one itself.
TEST(Number, PowersOfMinusTwoNearTheEndsOfTheRange) {
  for (const double value : {1e20, 1.9e19, -3e22, 7e-20, 6e-20, 1e30, 1e-30}) {
    const auto x = static_cast<float>(value);
    const Array number = array({value}, {1}, DType::f32);
    const double exact = 1 / (static_cast<double>(x) * static_cast<double>(x));
    const auto expected = static_cast<float>(exact);
    const float got = pow(number, -2.0).to_vector<float>()[0];
    const float ulp =
        std::isinf(expected)
            ? 0
            : std::nextafter(expected, std::numeric_limits<float>::infinity()) - expected;
    if (std::isinf(expected)) {
      EXPECT_EQ(got, expected) << value;
    } else {
      EXPECT_NEAR(got, expected, 2 * ulp) << value;
    }
  }
  const Array edges = array({0, -0.0, check::kInf, -check::kInf, check::kNan}, {5}, DType::f32);
  expect_values(pow(edges, -2.0), {5}, {check::kInf, check::kInf, 0, 0, check::kNan});
}

// The sum of 64-bit integers wrapped.
TEST(Number, MeansOfLargeIntegers) {
  const auto mean_of = [](const std::vector<std::int64_t>& values) {
    return mean(list(values)).to_vector<std::int64_t>()[0];
  };
  EXPECT_EQ(mean_of({INT64_MAX, INT64_MAX}), INT64_MAX);
  EXPECT_EQ(mean_of({INT64_MIN, INT64_MIN, INT64_MIN}), INT64_MIN);
  EXPECT_EQ(mean_of({INT64_MIN, INT64_MAX}), 0);
  EXPECT_EQ(mean_of({INT64_MIN, INT64_MAX, -1}), 0);
  EXPECT_EQ(mean_of({INT64_MIN, INT64_MAX - 1, -1}), -1);
  EXPECT_EQ(mean(list(std::vector<std::uint64_t>{UINT64_MAX, UINT64_MAX, 2}))
                .to_vector<std::uint64_t>()[0],
            12297829382473034410u);
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> values(1 + random() % 40);
    const int shift = static_cast<int>(random() % 64);
    Wide total = 0;
    for (std::int64_t& value : values) {
      value = static_cast<std::int64_t>(random()) >> shift;
      total += value;
    }
    const auto count = static_cast<Wide>(values.size());
    ASSERT_EQ(mean_of(values), static_cast<std::int64_t>(total / count)) << round;
  }
  const Array table = Array::from_data(
      std::vector<std::int64_t>{INT64_MAX, 5, INT64_MAX - 1, -8, INT64_MAX, 2}, {3, 2});
  EXPECT_EQ(mean(table, {0}, true).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{INT64_MAX - 1, 0}));
}

// They wrapped: the largest of 300 elements, the last one, was at 43.
TEST(Number, IndicesThatTheirDtypeDoesNotHold) {
  std::vector<float> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Array x = list(values);
  expect_error(ErrorCode::dtype, [&] { (void)argmax(x, 0, false, DType::u8); });
  expect_error(ErrorCode::dtype, [&] { (void)argmin(x, 0, false, DType::i8); });
  EXPECT_EQ(argmax(x, 0, false, DType::i16).item(), 299);
  EXPECT_EQ(argmax(narrow(x, 0, 0, 256), 0, false, DType::u8).item(), 255);
}

TEST(Number, RampsComplainInTheirOwnName) {
  const auto text_of = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(text_of([] { (void)linear_ramp(-1, 0, 1); }).rfind("linear_ramp: ", 0), 0u);
  const std::string long_range = text_of([] { (void)arange(INT64_MIN, INT64_MAX); });
  EXPECT_EQ(long_range.rfind("arange: ", 0), 0u) << long_range;
  EXPECT_NE(long_range.find("expected"), std::string::npos) << long_range;
}

}  // namespace
}  // namespace hearth
