// Products of vectors and covariances, against what NumPy gives.
#include "check.h"

namespace hearth {
namespace {

using namespace check;

TEST(Products, Outer) {
  for (const DType dtype : {DType::f64, DType::f16, DType::i32}) {
    const Array a = array({1, 2}, {2}, dtype), b = array({3, 4, 5}, {3}, dtype);
    expect_values(outer(a, b), {2, 3}, {3, 4, 5, 6, 8, 10});
  }
  const Array rows = array({1, 2, 3, 4}, {2, 2});
  expect_values(outer(rows, array({1, 10}, {2})), {2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  expect_values(outer(transpose(rows), rows), {2, 2, 2}, {1, 2, 3, 6, 6, 8, 12, 16});
  expect_values(outer(zeros({0}), ones({2})), {0, 2}, {});
  expect_error(ErrorCode::shape, [] { (void)outer(zeros({}), ones({2})); });
  expect_error(ErrorCode::dtype,
               [] { (void)outer(ones({2}, DType::bool_), ones({2}, DType::bool_)); });
}

TEST(Products, Matvec) {
  const Array a = array({1, 2, 3, 4, 5, 6}, {2, 3}), x = array({1, 0, -1}, {3});
  expect_values(matvec(a, x), {2}, {-2, -2});
  expect_values(matvec(transpose(a), array({1, 1}, {2})), {3}, {5, 7, 9});
  expect_values(matvec(expand(a, {2, 2, 3}), array({1, 0, 0, 0, 1, 0}, {2, 3})), {2, 2},
                {1, 4, 2, 5});
  expect_values(matvec(cast(a, DType::i64), cast(x, DType::i64)), {2}, {-2, -2});
  expect_error(ErrorCode::shape, [&] { (void)matvec(a, array({1, 2}, {2})); });
  expect_error(ErrorCode::shape, [&] { (void)matvec(x, x); });
  expect_error(ErrorCode::shape, [&] { (void)matvec(a, zeros({}, DType::f64)); });
}

TEST(Products, Cross) {
  const Array a = array({1, -2, 3, 0.5, 4, -1.5}, {2, 3});
  const Array b = array({2, 0, -1, 1, 1, 1}, {2, 3});
  expect_values(cross(a, b), {2, 3}, {2, 7, 4, 5.5, -2, -3.5});
  expect_values(cross(a, narrow(b, 0, 0, 1)), {2, 3}, {2, 7, 4, -4, -2.5, -8});
  expect_values(cross(a, array({2, 0, -1}, {3})), {2, 3}, {2, 7, 4, -4, -2.5, -8});
  expect_values(cross(transpose(a), transpose(b), 0), {3, 2}, {2, 5.5, 7, -2, 4, -3.5});
  expect_values(cross(array({1, 0, 0}, {3}, DType::i32), array({0, 1, 0}, {3}, DType::i32)), {3},
                {0, 0, 1});
  expect_error(ErrorCode::shape, [&] { (void)cross(a, b, 0); });
  expect_error(ErrorCode::shape, [] { (void)cross(ones({1}), ones({3})); });
  expect_error(ErrorCode::shape, [] { (void)cross(ones({3, 3}), ones({3}), 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)cross(a, b, 2); });
}

const Values kTable = {1, 2, 4, 3, -1, 0.5, 0, 5, 2, 2, 2, 1};

TEST(Products, Cov) {
  const Array x = array(kTable, {4, 3});
  const Values columns = {1.6666666666666665, -3, -1.25, -3, 6, 1.5, -1.25, 1.5, 2.395833333333333};
  expect_values(cov(x), {3, 3}, columns);
  expect_values(cov(transpose(x), 1), {3, 3}, columns);
  expect_values(cov(x, 1, 0), {4, 4},
                {1.5555555555555556, -0.9444444444444442, 0.5555555555555555, -0.5555555555555556,
                 -0.9444444444444442, 2.722222222222222, -3.2777777777777777, 0.11111111111111108,
                 0.5555555555555555, -3.2777777777777777, 4.222222222222221, 0.1111111111111111,
                 -0.5555555555555556, 0.11111111111111108, 0.1111111111111111, 0.2222222222222222});
  expect_values(cov(cast(x, DType::f16)), {3, 3}, columns);
  // 2^63 more elements than there are, and as many fewer.
  expect_values(cov(x, 0, INT64_MIN), {3, 3}, Values(9, 0));
  EXPECT_TRUE(std::isinf(cov(x, 0, INT64_MAX).to_doubles()[0]));
  expect_values(cov(array({1, 2}, {1, 2})), {2, 2}, {kNan, kNan, kNan, kNan});
  expect_error(ErrorCode::shape, [] { (void)cov(ones({3})); });
  expect_error(ErrorCode::dtype, [] { (void)cov(ones({3, 2}, DType::i64)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)cov(x, 2); });
}

TEST(Products, Corrcoef) {
  const Array x = array(kTable, {4, 3});
  const Values expected = {1, -0.9486832980505139, -0.6255432421712244, -0.9486832980505139,
                           1, 0.39562828403747224, -0.6255432421712244, 0.3956282840374723,
                           1};
  expect_values(corrcoef(x), {3, 3}, expected);
  expect_values(corrcoef(transpose(x), -1), {3, 3}, expected);
  expect_values(corrcoef(cast(x, DType::bf16)), {3, 3}, expected);
  expect_values(corrcoef(array({1, 5, 2, 5}, {2, 2})), {2, 2}, {1, kNan, kNan, kNan});
  expect_error(ErrorCode::shape, [] { (void)corrcoef(ones({3})); });
}

TEST(Products, Gradients) {
  const Array a = random_array({2, 3}), b = random_array({2, 3}, DType::f64, -1, 1, 2);
  check_second_gradients([](std::span<const Array> in) { return outer(in[0], in[1]); }, {a, b});
  check_second_gradients([](std::span<const Array> in) { return cross(in[0], in[1]); }, {a, b});
  check_gradients([](std::span<const Array> in) { return matvec(in[0], in[1]); },
                  {a, random_array({3})});
  check_second_gradients([](std::span<const Array> in) { return cov(in[0]); },
                         {random_array({4, 3})});
  // The diagonal is 1 whatever x is, and the clamp lets its gradient pass.
  check_gradients([](std::span<const Array> in) { return corrcoef(in[0]); },
                  {array(kTable, {4, 3})}, 1e-4);
}

}  // namespace
}  // namespace hearth
