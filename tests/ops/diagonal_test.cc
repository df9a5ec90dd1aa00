// Diagonals read, summed and put back.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

Array ramp(const Shape& shape, DType dtype = DType::f32) {
  return cast(reshape(arange(0, element_count(shape)), shape), dtype);
}

TEST(Diagonal, OfAnyOffset) {
  const Array x = ramp({3, 4});
  expect_values(diagonal(x), {3}, {0, 5, 10});
  expect_values(diagonal(x, 1), {3}, {1, 6, 11});
  expect_values(diagonal(x, 3), {1}, {3});
  expect_values(diagonal(x, 4), {0}, {});
  expect_values(diagonal(x, -2), {1}, {8});
  expect_values(diagonal(x, -3), {0}, {});
  expect_values(diagonal(x, INT64_MIN), {0}, {});
  expect_values(diagonal(x, INT64_MAX), {0}, {});
  expect_values(diagonal(transpose(x), 1), {2}, {4, 9});
  expect_values(diagonal(flip(x, {1})), {3}, {3, 6, 9});
  expect_values(diagonal(expand(array({1, 2}, {2}), {3, 2})), {2}, {1, 2});
}

TEST(Diagonal, OfAnyTwoAxes) {
  const Array x = ramp({2, 2, 3});
  expect_values(diagonal(x), {2, 2}, {0, 4, 6, 10});
  expect_values(diagonal(x, 0, 0, 1), {3, 2}, {0, 9, 1, 10, 2, 11});
  expect_values(diagonal(x, 1, 0, -1), {2, 2}, {1, 8, 4, 11});
  expect_values(diagonal(x, 1, 2, 0), {2, 1}, {6, 9});
}

TEST(Diagonal, Trace) {
  const Array x = ramp({2, 2, 3});
  expect_values(trace(x), {2}, {4, 16});
  expect_values(trace(x, 1), {2}, {6, 18});
  expect_values(trace(ramp({3, 3}, DType::i32)), {}, {12});
  expect_values(trace(ramp({0, 3})), {}, {0});
  EXPECT_EQ(trace(ramp({3, 3}, DType::i32)).dtype(), DType::i32);
}

TEST(Diagonal, PutsVectorsOnMatrices) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8}) {
    const Array x = array({3, 4}, {2}, dtype);
    expect_values(diag_embed(x), {2, 2}, {3, 0, 0, 4});
    expect_values(diag_embed(x, 1), {3, 3}, {0, 3, 0, 0, 0, 4, 0, 0, 0});
    expect_values(diag_embed(x, -1), {3, 3}, {0, 0, 0, 3, 0, 0, 0, 4, 0});
    EXPECT_EQ(diag_embed(x).dtype(), dtype);
  }
  expect_values(diag_embed(array({1, 0}, {2}, DType::bool_)), {2, 2}, {1, 0, 0, 0});
  expect_values(diag_embed(ramp({2, 2})), {2, 2, 2}, {0, 0, 0, 1, 2, 0, 0, 3});
  expect_values(diag_embed(array({}, {0}), 1), {1, 1}, {0});
  // What is not finite stays on the diagonal.
  expect_values(diag_embed(array({kNan, kInf}, {2})), {2, 2}, {kNan, 0, 0, kInf});
}

TEST(Diagonal, DiagGoesBothWays) {
  expect_values(diag(array({1, 2}, {2})), {2, 2}, {1, 0, 0, 2});
  expect_values(diag(ramp({3, 3}), -1), {2}, {3, 7});
  expect_values(diag(diag(array({1, 2, 3}, {3}), 2), 2), {3}, {1, 2, 3});
}

TEST(Diagonal, Mask) {
  expect_values(diag_mask(2, 3), {2, 3}, {0, 1, 1, 1, 0, 1});
  expect_values(diag_mask(2, 3, -1), {2, 3}, {1, 1, 1, 0, 1, 1});
  expect_values(diag_mask(0, 3), {0, 3}, {});
  EXPECT_EQ(diag_mask(1, 1).dtype(), DType::bool_);
}

TEST(Diagonal, Gradients) {
  for (const std::int64_t offset : {-2, 0, 1, 5}) {
    const auto squares = [&](std::span<const Array> in) { return square(diagonal(in[0], offset)); };
    if (offset < 4) check_second_gradients(squares, {random_array({2, 3, 4})});
    check_gradients(squares, {random_array({2, 3, 4})});
    check_gradients([&](std::span<const Array> in) { return diagonal(in[0], offset, 2, 0); },
                    {random_array({4, 2, 3})});
    check_gradients([&](std::span<const Array> in) { return diag_embed(in[0], offset); },
                    {random_array({2, 3})});
  }
  check_gradients([](std::span<const Array> in) { return trace(mul(in[0], in[0])); },
                  {random_array({3, 3})});
}

TEST(Diagonal, WrongArgumentsAreErrors) {
  const Array x = ramp({2, 3});
  expect_error(ErrorCode::shape, [&] { (void)diagonal(ramp({3})); });
  expect_error(ErrorCode::shape, [&] { (void)trace(ramp({3})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)diagonal(x, 0, 1, 1); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)diagonal(x, 0, 0, -2); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)diagonal(x, 0, 0, 2); });
  expect_error(ErrorCode::shape, [&] { (void)diag_embed(ramp({})); });
  expect_error(ErrorCode::shape, [&] { (void)diag_embed(ramp({1, 1, 1, 1, 1, 1, 1, 1})); });
  expect_error(ErrorCode::shape, [&] { (void)diag_embed(ramp({2}), INT64_MAX); });
  expect_error(ErrorCode::shape, [&] { (void)diag_embed(ramp({2}), INT64_MIN); });
  expect_error(ErrorCode::dtype, [&] { (void)trace(ones({2, 2}, DType::bool_)); });
  expect_error(ErrorCode::shape, [&] { (void)diag_mask(-1, 2); });
}

}  // namespace
}  // namespace hearth
