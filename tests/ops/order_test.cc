// Axes and elements in another order, against what NumPy gives.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

Array ramp(const Shape& shape, DType dtype = DType::f32) {
  return cast(reshape(arange(0, element_count(shape)), shape), dtype);
}

TEST(Order, Movedim) {
  const Array x = ramp({2, 3, 4, 5});
  EXPECT_EQ(movedim(x, {0, 1}, {-1, -2}).shape(), (Shape{4, 5, 3, 2}));
  EXPECT_EQ(movedim(x, {3}, {0}).shape(), (Shape{5, 2, 3, 4}));
  EXPECT_EQ(movedim(x, {}, {}).shape(), x.shape());
  expect_values(movedim(ramp({2, 3}), {0}, {1}), {3, 2}, {0, 3, 1, 4, 2, 5});
  const Values moved = movedim(x, {0, 2}, {2, 0}).to_doubles();
  expect_close(moved, permute(x, {2, 1, 0, 3}).to_doubles(), 0);
  expect_error(ErrorCode::invalid_argument, [&] { (void)movedim(x, {0}, {1, 2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)movedim(x, {0, 0}, {1, 2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)movedim(x, {0, 1}, {2, -2}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)movedim(x, {4}, {0}); });
}

TEST(Order, Roll) {
  const Array x = ramp({2, 3});
  expect_values(roll(x, {1}, {0}), {2, 3}, {3, 4, 5, 0, 1, 2});
  expect_values(roll(x, {1, -1}, {0, 1}), {2, 3}, {4, 5, 3, 1, 2, 0});
  expect_values(roll(x, {1, 1}, {1, 1}), {2, 3}, {1, 2, 0, 4, 5, 3});
  expect_values(roll(x, {7}, {-1}), {2, 3}, {2, 0, 1, 5, 3, 4});
  expect_values(roll(x, {INT64_MIN}, {0}), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(roll(x, {INT64_MAX}, {0}), {2, 3}, {3, 4, 5, 0, 1, 2});
  expect_values(roll(x, {}, {}), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(roll(ramp({0, 3}), {1, 1}, {0, 1}), {0, 3}, {});
  for (const DType dtype : {DType::f16, DType::i32, DType::bool_}) {
    const Array y = transpose(array({1, 0, 2, 3}, {2, 2}, dtype));
    expect_values(roll(y, {1}, {1}), {2, 2}, array({2, 1, 3, 0}, {4}, dtype).to_doubles());
  }
  expect_error(ErrorCode::invalid_argument, [&] { (void)roll(x, {1}, {0, 1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)roll(x, {1}, {2}); });
}

TEST(Order, Rot90) {
  const Array x = ramp({2, 3});
  expect_values(rot90(x), {3, 2}, {2, 5, 1, 4, 0, 3});
  expect_values(rot90(x, 2), {2, 3}, {5, 4, 3, 2, 1, 0});
  expect_values(rot90(x, 3), {3, 2}, {3, 0, 4, 1, 5, 2});
  expect_values(rot90(x, -1), {3, 2}, {3, 0, 4, 1, 5, 2});
  expect_values(rot90(x, 8), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(rot90(x, 1, 1, 0), {3, 2}, {3, 0, 4, 1, 5, 2});
  expect_values(rot90(ramp({2, 2, 3}), 1, 1, 2), {2, 3, 2}, {2, 5, 1, 4, 0, 3, 8, 11, 7, 10, 6, 9});
  expect_error(ErrorCode::invalid_argument, [&] { (void)rot90(x, 1, 0, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)rot90(ramp({3})); });
}

TEST(Order, RepeatInterleave) {
  const Array x = ramp({2, 2});
  expect_values(repeat_interleave(x, 2, 0), {4, 2}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect_values(repeat_interleave(x, 3, -1), {2, 6}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
  expect_values(repeat_interleave(transpose(x), 2, 1), {2, 4}, {0, 0, 2, 2, 1, 1, 3, 3});
  expect_values(repeat_interleave(x, 0, 0), {0, 2}, {});
  expect_values(repeat_interleave(x, 1, 0), {2, 2}, {0, 1, 2, 3});
  expect_values(repeat_interleave(ramp({0, 2}), 3, 0), {0, 2}, {});
  expect_values(repeat_interleave(ramp({1, 1, 1, 1, 1, 1, 1, 2}), 2, 7), {1, 1, 1, 1, 1, 1, 1, 4},
                {0, 0, 1, 1});
  expect_error(ErrorCode::invalid_argument, [&] { (void)repeat_interleave(x, -1, 0); });
  expect_values(repeat_interleave(x, {0, 3}, 0), {3, 2}, {2, 3, 2, 3, 2, 3});
  expect_values(repeat_interleave(transpose(x), {2, 1}, -1), {2, 3}, {0, 0, 2, 1, 1, 3});
  expect_values(repeat_interleave(x, {0, 0}, 1), {2, 0}, {});
  expect_values(repeat_interleave(x, std::vector<std::int64_t>{2}, 1), {2, 4},
                {0, 0, 1, 1, 2, 2, 3, 3});
  expect_values(repeat_interleave(ramp({0, 2}), std::vector<std::int64_t>(), 0), {0, 2}, {});
  expect_values(repeat_interleave(ramp({1, 1, 1, 1, 1, 1, 1, 2}), {1, 2}, 7),
                {1, 1, 1, 1, 1, 1, 1, 3}, {0, 1, 1});
  expect_values(repeat_interleave(cast(x, DType::bool_), {1, 2}, 0), {3, 2}, {0, 1, 1, 1, 1, 1});
  expect_error(ErrorCode::invalid_argument, [&] { (void)repeat_interleave(x, {1, -1}, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)repeat_interleave(x, {1, 2, 3}, 0); });
  expect_error(ErrorCode::shape, [&] { (void)repeat_interleave(x, {INT64_MAX, 1}, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)repeat_interleave(x, 2, 2); });
  expect_error(ErrorCode::shape, [&] { (void)repeat_interleave(x, INT64_MAX, 0); });
}

TEST(Order, Gradients) {
  const Array x = random_array({2, 3, 2});
  check_gradients([](std::span<const Array> in) { return movedim(in[0], {0}, {2}); }, {x});
  check_gradients([](std::span<const Array> in) { return roll(in[0], {1, 2}, {0, 1}); }, {x});
  check_gradients([](std::span<const Array> in) { return rot90(in[0], 3, 0, 2); }, {x});
  const auto repeated = [](std::span<const Array> in) {
    return square(repeat_interleave(in[0], 3, 1));
  };
  check_gradients(repeated, {x});
  check_second_gradients(repeated, {x});
  check_second_gradients(
      [](std::span<const Array> in) { return square(repeat_interleave(in[0], {2, 0, 1}, 1)); },
      {x});
}

}  // namespace
}  // namespace hearth
