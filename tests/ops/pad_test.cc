// pad against what NumPy gives.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

Array ramp(const Shape& shape, DType dtype = DType::f32) {
  return cast(reshape(arange(0, element_count(shape)), shape), dtype);
}

TEST(Pad, Constant) {
  const Array x = ramp({2, 3});
  expect_values(pad(x, {1, 0}, {0, 1}, PadMode::constant, 7), {3, 4},
                {7, 7, 7, 7, 0, 1, 2, 7, 3, 4, 5, 7});
  expect_values(pad(x, {0, 2}, {0, 0}), {2, 5}, {0, 0, 0, 1, 2, 0, 0, 3, 4, 5});
  expect_values(pad(ramp({0, 2}), {1, 0}, {1, 1}), {2, 3}, {0, 0, 0, 0, 0, 0});
  expect_values(pad(x, {0, 0}, {0, 0}), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(pad(Array(2.5), {}, {}), {}, {2.5});
  expect_values(pad(array({1}, {1}), {1}, {1}, PadMode::constant, kInf), {3}, {kInf, 1, kInf});
  const Array value = sum(ramp({3}));
  expect_values(pad(ramp({2}), {1}, {0}, PadMode::constant, value), {3}, {3, 0, 1});
}

TEST(Pad, Reflect) {
  const auto reflect = [](const Array& x, const Dims& before, const Dims& after) {
    return pad(x, before, after, PadMode::reflect);
  };
  expect_values(reflect(ramp({3}), {2}, {1}), {6}, {2, 1, 0, 1, 2, 1});
  expect_values(reflect(ramp({3}), {5}, {7}), {15}, {1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1});
  expect_values(reflect(ramp({1}), {2}, {3}), {6}, {0, 0, 0, 0, 0, 0});
  expect_values(reflect(ramp({2}), {3}, {4}), {9}, {1, 0, 1, 0, 1, 0, 1, 0, 1});
  expect_values(reflect(ramp({2, 3}), {1, 2}, {0, 1}), {3, 6},
                {5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4});
}

TEST(Pad, Edge) {
  const auto edge = [](const Array& x, const Dims& before, const Dims& after) {
    return pad(x, before, after, PadMode::edge);
  };
  expect_values(edge(ramp({3}), {2}, {1}), {6}, {0, 0, 0, 1, 2, 2});
  expect_values(edge(ramp({2, 2}), {1, 0}, {0, 2}), {3, 4}, {0, 1, 1, 1, 0, 1, 1, 1, 2, 3, 3, 3});
}

TEST(Pad, Wrap) {
  const auto wrap = [](const Array& x, const Dims& before, const Dims& after) {
    return pad(x, before, after, PadMode::wrap);
  };
  expect_values(wrap(ramp({3}), {5}, {7}), {15}, {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
  expect_values(
      wrap(ramp({2, 3}), {1, 0}, {2, 3}), {5, 6},
      {3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
}

TEST(Pad, OfAnyLayoutAndDType) {
  for (const DType dtype : {DType::f64, DType::f16, DType::i64, DType::u8, DType::bool_}) {
    const Array x = transpose(array({1, 0, 2, 3}, {2, 2}, dtype));
    const auto as_dtype = [&](const Values& values) {
      return array(values, {12}, dtype).to_doubles();
    };
    expect_values(pad(x, {1, 0}, {0, 2}), {3, 4}, as_dtype({0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0}));
    expect_values(pad(x, {1, 0}, {0, 2}, PadMode::wrap), {3, 4},
                  as_dtype({0, 3, 0, 3, 1, 2, 1, 2, 0, 3, 0, 3}));
    expect_values(pad(flip(x, {1}), {1, 0}, {0, 2}, PadMode::edge), {3, 4},
                  as_dtype({2, 1, 1, 1, 2, 1, 1, 1, 3, 0, 0, 0}));
    EXPECT_EQ(pad(x, {1, 0}, {0, 2}, PadMode::reflect).dtype(), dtype);
  }
}

TEST(Pad, Gradients) {
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    const auto padded = [&](std::span<const Array> in) {
      return square(pad(in[0], {0, 4, 1}, {2, 3, 0}, mode));
    };
    check_gradients(padded, {random_array({2, 3, 2})});
    check_second_gradients(padded, {random_array({2, 3, 2})});
  }
  check_gradients(
      [](std::span<const Array> in) { return pad(in[0], {1}, {2}, PadMode::constant, in[1]); },
      {random_array({3}), random_array({}, DType::f64, 1, 2)});
}

TEST(Pad, WrongArgumentsAreErrors) {
  const Array x = ramp({2, 3});
  expect_error(ErrorCode::invalid_argument, [&] { (void)pad(x, {-1, 0}, {0, 0}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)pad(x, {0, 0}, {0, -1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)pad(x, {0}, {0}); });
  expect_error(ErrorCode::shape, [&] { (void)pad(x, {INT64_MAX, 0}, {0, 0}); });
  expect_error(ErrorCode::dtype,
               [&] { (void)pad(ones({2}, DType::i64), {1}, {0}, PadMode::constant, 0.5); });
  expect_error(ErrorCode::dtype,
               [&] { (void)pad(x, {1, 0}, {0, 0}, PadMode::constant, zeros({}, DType::f64)); });
  expect_error(ErrorCode::shape,
               [&] { (void)pad(x, {1, 0}, {0, 0}, PadMode::constant, zeros({1})); });
  for (const PadMode mode : {PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    expect_error(ErrorCode::invalid_argument,
                 [&] { (void)pad(ramp({0, 3}), {1, 0}, {0, 0}, mode); });
    expect_values(pad(ramp({0, 3}), {0, 1}, {0, 1}, mode), {0, 5}, {});
  }
}

}  // namespace
}  // namespace hearth
