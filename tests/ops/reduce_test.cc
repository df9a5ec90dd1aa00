// What reductions mean at the edges.
#include "check.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;
using check::kInf;
using check::kNan;
using check::Values;

TEST(Reduce, AxesAndKeepdim) {
  const Array x = array({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f32);
  expect_values(sum(x), {}, {21});
  expect_values(sum(x, {0}), {3}, {5, 7, 9});
  expect_values(sum(x, {-1}), {2}, {6, 15});
  expect_values(sum(x, {1, 0}, true), {1, 1}, {21});
  expect_values(sum(x, Dims{}), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(mean(x, {1}), {2}, {2, 5});
  expect_values(prod(x, {0}), {3}, {4, 10, 18});
  expect_values(max(x, {0}, true), {1, 3}, {4, 5, 6});
  expect_values(min(x), {}, {1});
  expect_error(ErrorCode::invalid_argument, [&] { (void)sum(x, {2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)sum(x, {0, -2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)sum(Array()); });
  expect_error(ErrorCode::dtype, [&] { (void)sum(array({1}, {1}, DType::bool_)); });
}

TEST(Reduce, Nothing) {
  const Array none = array({}, {0, 3}, DType::f32);
  expect_values(sum(none), {}, {0});
  expect_values(prod(none), {}, {1});
  expect_values(mean(none), {}, {kNan});
  expect_values(sum(none, {1}), {0}, {});
  expect_values(sum(none, {1}, true), {0, 1}, {});
  expect_values(sum(none, {0}), {3}, {0, 0, 0});
  expect_values(any(none), {}, {0});
  expect_values(all(none), {}, {1});
  expect_error(ErrorCode::invalid_argument, [&] { (void)max(none); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)min(none, {0}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)argmax(none, 0); });
  // Also where the result would be empty.
  expect_error(ErrorCode::invalid_argument, [&] { (void)max(array({}, {0, 0}, DType::f32), {1}); });
  expect_values(max(none, {1}), {0}, {});
  expect_error(ErrorCode::invalid_argument, [&] { (void)mean(array({}, {0}, DType::i32)); });
}

TEST(Reduce, IntegersKeepTheirDtype) {
  EXPECT_EQ(sum(array({200, 100}, {2}, DType::u8)).dtype(), DType::u8);
  expect_values(sum(array({200, 100}, {2}, DType::u8)), {}, {44});
  expect_values(mean(array({-7, 2}, {2}, DType::i32)), {}, {-2});
  expect_values(mean(array({7, 2}, {2}, DType::i64)), {}, {4});
  // Neither the sum nor the count fits the dtype.
  expect_values(mean(full({300}, 200, DType::u8)), {}, {200});
  expect_values(mean(full({2, 1000}, -100, DType::i8), {1}), {2}, {-100, -100});
  expect_values(mean(full({4}, 2000000000, DType::i32)), {}, {2000000000});
  expect_values(prod(array({2, 3, 7}, {3}, DType::i64)), {}, {42});
}

TEST(Reduce, HalfMeansDoNotOverflow) {
  const Array x = full({4096}, 100.0, DType::f16);
  expect_values(mean(x), {}, {100});
  expect_values(sum(x), {}, {kInf});
  // 4096 ones: a sum in bf16 would stop at 256.
  expect_values(sum(full({4096}, 1.0, DType::bf16)), {}, {4096});
}

TEST(Reduce, ProductsOfNegativesAndZeros) {
  expect_values(prod(array({-2, 3, -4}, {3}, DType::f32)), {}, {24});
  expect_values(prod(array({-2, 0, -4}, {3}, DType::f32)), {}, {0});
}

TEST(Reduce, NanWins) {
  const Array x = array({1, kNan, 3, 4, 5, 6}, {2, 3}, DType::f32);
  expect_values(max(x), {}, {kNan});
  expect_values(min(x), {}, {kNan});
  expect_values(max(x, {1}), {2}, {kNan, 6});
  expect_values(min(x, {0}), {3}, {1, kNan, 3});
  expect_values(argmax(x, 1), {2}, {1, 2});
  expect_values(argmin(x, 1), {2}, {1, 0});
}

// Neighbours that are one number in f32, or in f64.
TEST(Reduce, IntegersAreComparedAsIntegers) {
  const std::vector<std::int64_t> wide = {(std::int64_t{1} << 53) + 1, (std::int64_t{1} << 53) + 3,
                                          (std::int64_t{1} << 53) + 2};
  const std::vector<std::int32_t> narrow = {(1 << 24) + 1, (1 << 24) + 3, (1 << 24) + 2};
  for (const Array& x : {Array::from_data(wide, {3}), Array::from_data(narrow, {3})}) {
    expect_values(argmax(x, 0), {}, {1});
    expect_values(argmin(x, 0), {}, {0});
    EXPECT_EQ(max_with_indices(x, 0).second.item<std::int64_t>(), 1);
    EXPECT_EQ((max(x) - min(x)).item<std::int64_t>(), 2);
  }
}

TEST(Reduce, ViewsDoNotLeakWhatIsOutside) {
  const Array big = array({kNan, 1, 2, kNan, 3, 4, kNan, 100, 100}, {3, 3}, DType::f32);
  const Array x = slice(big, {{0, 2}, {1, 3}});
  expect_values(max(x), {}, {4});
  expect_values(sum(x, {0}), {2}, {4, 6});
  expect_values(sum(transpose(x), {0}), {2}, {3, 7});
}

TEST(Reduce, TiesPickTheLowestIndex) {
  const Array x = array({2, 5, 5, 1, 1, 5}, {6}, DType::f32);
  expect_values(argmax(x, 0), {}, {1});
  expect_values(argmin(x, 0), {}, {3});
  EXPECT_EQ(argmax(x, 0, true, DType::i32).dtype(), DType::i32);
  expect_values(argmax(flip(x, {0}), 0), {}, {0});
  expect_error(ErrorCode::dtype, [&] { (void)argmax(x, 0, false, DType::f32); });
}

TEST(Reduce, AnyAndAllTakeNanAsTrue) {
  const Array x = array({0, kNan, 0, 0}, {2, 2}, DType::f32);
  expect_values(any(x, {1}), {2}, {1, 0});
  expect_values(all(array({kNan, 1}, {2}, DType::f32)), {}, {1});
  expect_values(any(array({0, 0}, {2}, DType::i64)), {}, {0});
  expect_values(all(array({1, 0}, {2}, DType::bool_)), {}, {0});
  EXPECT_EQ(any(x).dtype(), DType::bool_);
}

// Sums of f32 end at 2^24, counts of truths do not.
TEST(Reduce, AnyAndAllOfMoreThanF32Counts) {
  constexpr std::int64_t kCount = (std::int64_t{1} << 24) + 2;
  const Array one = slice_assign(zeros({kCount}), {{kCount - 1}}, 1.0).eval();
  EXPECT_TRUE(any(one).item<bool>());
  EXPECT_FALSE(any(sub(one, one)).item<bool>());
  const Array most = sub(1.0, one).eval();
  EXPECT_FALSE(all(most).item<bool>());
  EXPECT_TRUE(all(add(most, 1.0)).item<bool>());
}

TEST(Reduce, ExtremesOfLongRows) {
  const std::int64_t n = 1111;
  for (const DType dtype : {DType::f32, DType::f64}) {
    // A row of numbers, one with infinities that cancel side by side, and NaN at many places.
    Values values(static_cast<std::size_t>(40 * n)), most, least;
    for (std::int64_t row = 0; row < 40; ++row) {
      double* const x = values.data() + row * n;
      for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<double>(i * 37 % n - n / 2);
      if (row > 0) x[16 * row] = -(x[16 * row + 16] = kInf);
      if (row > 1) x[row * row % n] = kNan;
      const bool odd = row > 1;
      most.push_back(odd ? kNan : row == 1 ? kInf : static_cast<double>(n - 1 - n / 2));
      least.push_back(odd ? kNan : row == 1 ? -kInf : static_cast<double>(-(n / 2)));
    }
    const Array x = array(values, {40, n}, dtype);
    expect_values(max(x, {1}), {40}, most);
    expect_values(min(x, {1}), {40}, least);
    expect_values(max(x), {}, {kNan});
  }
}

TEST(Reduce, LargeAndLongAxes) {
  const std::int64_t n = 100003;
  const Array x = full({n}, 1.0, DType::f32);
  expect_values(sum(x), {}, {static_cast<double>(n)});
  const Array y = arange(0, 3 * 5 * 7, 1, DType::f64);
  const Array cube = reshape(y, {3, 5, 7});
  Values expected(5, 0);
  for (int i = 0; i < 105; ++i) expected[static_cast<std::size_t>(i / 7 % 5)] += i;
  expect_values(sum(cube, {0, 2}), {5}, expected);
  expect_values(sum(square(cube) * 0 + cube, {0, 2}), {5}, expected);
}

}  // namespace
}  // namespace hearth
