// Numbers beside arrays of integers.
#include <gtest/gtest.h>

#include "check.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;

// They wrapped: clamp(x, -5, 300) of u8 made every x 251.
TEST(Number, OutOfRangeIsRefused) {
  const Array u8 = array({1, 2}, {2}, DType::u8), i8 = array({1, 2}, {2}, DType::i8);
  expect_error(ErrorCode::dtype, [&] { clamp(u8, -5, 300); });
  expect_error(ErrorCode::dtype, [&] { less(u8, 256); });
  expect_error(ErrorCode::dtype, [&] { greater(i8, -129); });
  expect_error(ErrorCode::dtype, [&] { add(i8, 128.0); });
  expect_error(ErrorCode::dtype, [&] { where(less(u8, 2), u8, 999); });
  expect_error(ErrorCode::dtype, [&] { full({2}, 300, DType::u8); });
  expect_error(ErrorCode::dtype,
               [&] { equal(array({1}, {1}, DType::i32), (std::int64_t{1} << 32) + 1); });
  expect_error(ErrorCode::dtype, [&] { add(array({1}, {1}, DType::i64), 9223372036854775808.0); });
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

}  // namespace
}  // namespace hearth
