// unfold: windows of any size and step, seen where the elements lie.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

Array ramp(const Shape& shape, DType dtype = DType::f32) {
  return cast(reshape(arange(0, element_count(shape)), shape), dtype);
}

TEST(Windows, AreTakenFromEveryStep) {
  const Array x = ramp({7});
  expect_values(unfold(x, 0, 3), {5, 3}, {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6});
  expect_values(unfold(x, 0, 3, 2), {3, 3}, {0, 1, 2, 2, 3, 4, 4, 5, 6});
  expect_values(unfold(x, 0, 2, 3), {2, 2}, {0, 1, 3, 4});
  expect_values(unfold(x, 0, 7, 9), {1, 7}, {0, 1, 2, 3, 4, 5, 6});
  expect_values(unfold(x, 0, 1, INT64_MAX), {1, 1}, {0});
}

TEST(Windows, StandInTheLastAxis) {
  const Array x = ramp({2, 4});
  expect_values(unfold(x, 1, 3), {2, 2, 3}, {0, 1, 2, 1, 2, 3, 4, 5, 6, 5, 6, 7});
  expect_values(unfold(x, 0, 2), {1, 4, 2}, {0, 4, 1, 5, 2, 6, 3, 7});
  expect_values(unfold(x, -1, 2, 2), {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
}

TEST(Windows, OfNothing) {
  const Array x = ramp({2, 3});
  expect_values(unfold(x, 1, 4), {2, 0, 4}, {});
  expect_values(unfold(x, 1, 0, 2), {2, 2, 0}, {});
  expect_values(unfold(ramp({0, 3}), 1, 2), {0, 2, 2}, {});
}

TEST(Windows, OfAnyLayoutAndDType) {
  for (const DType dtype : {DType::f64, DType::f16, DType::i32, DType::u8, DType::bool_}) {
    const Array x = ramp({4, 2}, dtype);
    const Values transposed =
        cast(array({0, 2, 4, 2, 4, 6, 1, 3, 5, 3, 5, 7}, {12}), dtype).to_doubles();
    expect_values(unfold(transpose(x), 1, 3), {2, 2, 3}, transposed);
    const Values reversed = cast(array({6, 4, 7, 5, 2, 0, 3, 1}, {8}), dtype).to_doubles();
    expect_values(unfold(flip(x, {0}), 0, 2, 2), {2, 2, 2}, reversed);
  }
  expect_values(unfold(expand(array({5}, {1}), {4}), 0, 2), {3, 2}, {5, 5, 5, 5, 5, 5});
  // Windows of windows, read by one op and by another.
  const Array twice = unfold(unfold(ramp({6}), 0, 4), 1, 2, 2);
  expect_values(twice, {3, 2, 2}, {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5});
  expect_values(sum(twice, {2}), {3, 2}, {1, 5, 3, 7, 5, 9});
  expect_values(add(twice, twice), {3, 2, 2}, {0, 2, 4, 6, 2, 4, 6, 8, 4, 6, 8, 10});
}

TEST(Windows, MovingSums) {
  const Array x = random_array({3, 40}, DType::f64);
  const Values all = x.to_doubles();
  Values expected;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t at = 0; at + 5 <= 40; at += 3) {
      double total = 0;
      for (std::size_t i = 0; i < 5; ++i) total += all[row * 40 + at + i];
      expected.push_back(total);
    }
  }
  expect_values(sum(unfold(x, 1, 5, 3), {-1}), {3, 12}, expected);
}

// What is written does not share memory with windows that are still read.
TEST(Windows, AreNotWrittenThrough) {
  Array x = ramp({4}).eval();
  const Array windows = unfold(x, 0, 2);
  x = slice_assign(x, {{0, 4}}, Array(std::int64_t{9}));
  expect_values(windows, {3, 2}, {0, 1, 1, 2, 2, 3});
  const Array changed =
      slice_assign(unfold(ramp({4}).eval(), 0, 2), {{0, 1}}, array({7, 7}, {2}, DType::f32));
  expect_values(changed, {3, 2}, {7, 7, 1, 2, 2, 3});
}

TEST(Windows, Gradients) {
  for (const std::int64_t step : {1, 2, 4}) {
    const auto windows = [&](std::span<const Array> in) {
      return square(unfold(in[0], 1, 3, step));
    };
    check_gradients(windows, {random_array({2, 8, 2})});
    check_second_gradients(windows, {random_array({2, 8, 2})});
  }
  check_gradients([](std::span<const Array> in) { return unfold(transpose(in[0]), 0, 2); },
                  {random_array({2, 5})});
}

TEST(Windows, WrongArgumentsAreErrors) {
  const Array x = ramp({2, 3});
  expect_error(ErrorCode::invalid_argument, [&] { (void)unfold(x, 2, 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)unfold(x, 0, -1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)unfold(x, 0, 1, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)unfold(x, 0, 1, -2); });
  expect_error(ErrorCode::shape, [&] { (void)unfold(ramp({1, 1, 1, 1, 1, 1, 1, 1}), 0, 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)unfold(Array(), 0, 1); });
}

}  // namespace
}  // namespace hearth
