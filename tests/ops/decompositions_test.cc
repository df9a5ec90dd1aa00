// Factorizations of matrices: what they multiply to, special values, gradients, determinism.
#include "hearth/ops/decompositions.h"

#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/hearth.h"
#include "runtime/device/worker_pool.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

constexpr DType kDTypes[] = {DType::f64, DType::f32};

double share_of(DType dtype, std::int64_t n) {
  const double epsilon = dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
  return 12 * epsilon * static_cast<double>(std::max<std::int64_t>(n, 4));
}

Array eye_like(const Array& x, std::int64_t n) { return eye(n, x.dtype(), x.device()); }
Array symmetric(const Array& x) { return mul(add(x, transpose(x)), 0.5); }
// Positive definite.
Array definite(const Array& x) {
  const std::int64_t n = x.shape(-1);
  return add(matmul(x, transpose(x)), mul(eye_like(x, n), static_cast<double>(n)));
}

void expect_equal_to(const Array& got, const Array& want, double share, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  expect_within(got.to_doubles(), want.to_doubles(), share, what, 1e-30);
}

void expect_orthonormal_columns(const Array& q, double share, const std::string& what) {
  const Array products = matmul(transpose(q), q);
  expect_equal_to(products, expand(eye_like(q, q.shape(-1)), products.shape()), share, what);
}

// Square, tall and wide matrices, also none at all.
const Shape kShapes[] = {{0, 0}, {1, 1}, {2, 2},    {7, 7},    {64, 64},     {130, 130},
                         {5, 3}, {3, 5}, {130, 40}, {40, 130}, {2, 3, 6, 4}, {4, 4, 6},
                         {0, 3}, {3, 0}, {2, 0, 3}, {49, 48},  {48, 49}};

std::string text_of(const Shape& shape, DType dtype) {
  return to_string(shape) + " " + std::string(name(dtype));
}

// Random, of low rank, badly scaled, and a transposed view.
std::vector<Array> matrices(const Shape& shape, DType dtype) {
  const Array x = random_array(shape, dtype, -1, 1, 3);
  std::vector<Array> out = {x, zeros_like(x), ones_like(x)};
  if (x.size() > 0) {
    const Array column = random_array({shape[shape.rank() - 2], 1}, dtype, -1, 1, 5);
    const Array row = random_array({1, shape.back()}, dtype, -1, 1, 6);
    out.push_back(expand(matmul(column, row), shape));
    const double span = dtype == DType::f64 ? 40 : 12;
    const Array scales = exp(mul(random_array({shape.back()}, dtype, -1, 1, 9), span));
    out.push_back(mul(x, scales));
    out.push_back(mul(x, dtype == DType::f64 ? 1e200 : 1e25));
    out.push_back(mul(x, dtype == DType::f64 ? 1e-250 : 1e-30));
  }
  Shape turned = shape;
  std::swap(turned[shape.rank() - 1], turned[shape.rank() - 2]);
  out.push_back(transpose(random_array(turned, dtype, -1, 1, 4)));
  return out;
}

TEST(Decompositions, QrMultipliesBack) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : kShapes) {
      int number = 0;
      for (const Array& x : matrices(shape, dtype)) {
        const std::string what = text_of(shape, dtype) + " " + std::to_string(number++);
        const double share = share_of(dtype, std::max(shape.back(), shape[shape.rank() - 2]));
        for (const bool reduced : {true, false}) {
          const auto [q, r] = qr(x, reduced);
          expect_equal_to(matmul(q, r), x, share, what);
          expect_orthonormal_columns(q, share, what);
          expect_close(tril(r, -1), Values(static_cast<std::size_t>(r.size()), 0), 0, what);
        }
      }
    }
  }
}

TEST(Decompositions, SvdMultipliesBack) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : kShapes) {
      int number = 0;
      for (const Array& x : matrices(shape, dtype)) {
        const std::string what = text_of(shape, dtype) + " " + std::to_string(number++);
        const double share = 4 * share_of(dtype, std::max(shape.back(), shape[shape.rank() - 2]));
        const auto [u, s, vh] = svd(x);
        expect_equal_to(matmul(mul(u, unsqueeze(s, {-2})), vh), x, share, what);
        expect_orthonormal_columns(u, share, what + " u");
        expect_orthonormal_columns(transpose(vh), share, what + " vh");
        const Values values = s.to_doubles();
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_GE(values[i], 0) << what;
          if (i % static_cast<std::size_t>(s.shape(-1)) == 0) continue;
          EXPECT_LE(values[i], values[i - 1]) << what;
        }
        expect_equal_to(svdvals(x), s, share, what);
      }
    }
  }
}

TEST(Decompositions, LuMultipliesBack) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : kShapes) {
      int number = 0;
      for (const Array& x : matrices(shape, dtype)) {
        const std::string what = text_of(shape, dtype) + " " + std::to_string(number++);
        const auto [p, l, u] = lu(x);
        expect_equal_to(matmul(p, matmul(l, u)), x, share_of(dtype, shape.back()), what);
        expect_orthonormal_columns(p, 0, what);
        for (const double value : l.to_doubles()) EXPECT_LE(std::abs(value), 1) << what;
        const auto [packed, rows] = lu_decomposition(x);
        EXPECT_EQ(packed.shape(), x.shape());
        EXPECT_EQ(rows.dtype(), DType::i64);
      }
    }
  }
}

TEST(Decompositions, SymmetricOnesMultiplyBack) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t n : {0, 1, 2, 7, 64, 130}) {
      const double share = share_of(dtype, n);
      int number = 0;
      for (const Array& x : matrices({2, n, n}, dtype)) {
        const std::string what = text_of({n}, dtype) + " " + std::to_string(number++);
        const Array a = symmetric(x);
        const auto [w, v] = eigh(a);
        expect_equal_to(matmul(mul(v, unsqueeze(w, {-2})), transpose(v)), a, 2 * share, what);
        expect_orthonormal_columns(v, share, what);
        expect_equal_to(eigvalsh(tril(a)), w, share, what + " of the lower triangle");
        const Values values = w.to_doubles();
        for (std::size_t i = 1; i < values.size(); ++i) {
          if (i % static_cast<std::size_t>(n) == 0) continue;
          EXPECT_GE(values[i], values[i - 1]) << what;
        }
      }
      const Array a = definite(random_array({2, n, n}, dtype));
      const Array l = cholesky(a);
      expect_equal_to(matmul(l, transpose(l)), a, share, "cholesky");
      expect_equal_to(cholesky(tril(a)), l, 0, "cholesky of the lower triangle");
      expect_equal_to(triu(l, 1), zeros_like(l), 0, "cholesky above");
    }
  }
}

TEST(Decompositions, SystemsAreSolved) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t n : {0, 1, 2, 7, 64, 130}) {
      const std::string what = text_of({n}, dtype);
      const double share = 20 * share_of(dtype, n);
      const Array one = expand(random_array({n, n}, dtype, -1, 1, 8), {3, n, n});
      const Array a = transpose(add(one, mul(eye_like(one, n), 2 * std::sqrt(1.0 + n))));
      const Array b = random_array({2, 1, n, 5}, dtype, -1, 1, 9);
      expect_equal_to(matmul(a, solve(a, b)), expand(b, {2, 3, n, 5}), share, what);
      const Array vector = random_array({n}, dtype, -1, 1, 10);
      expect_equal_to(matvec(a, solve(a, vector)), expand(vector, {3, n}), share, what);
      expect_equal_to(matmul(a, inverse(a)), expand(eye_like(a, n), a.shape()), share, what);
      for (const bool upper : {false, true}) {
        for (const bool unit : {false, true}) {
          // So that a unit diagonal is well conditioned as well.
          const Array scaled = unit ? div(a, 4.0 * (1 + n)) : a;
          Array triangle = upper ? triu(scaled, unit ? 1 : 0) : tril(scaled, unit ? -1 : 0);
          if (unit) triangle = add(triangle, eye_like(a, n));
          const Array x = triangular_solve(scaled, b, upper, unit);
          expect_equal_to(matmul(triangle, x), expand(b, {2, 3, n, 5}), share, what);
        }
      }
    }
  }
}

TEST(Decompositions, PseudoinversesAndLeastSquares) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{4, 4}, {6, 3}, {3, 6}, {2, 5, 3}, {0, 3}, {3, 0}}) {
      const double share = 30 * share_of(dtype, 6);
      const Array x = random_array(shape, dtype, -1, 1, 12);
      const Array p = pinv(x);
      expect_equal_to(matmul(matmul(x, p), x), x, share, text_of(shape, dtype));
      expect_equal_to(matmul(matmul(p, x), p), p, share, text_of(shape, dtype));
    }
    // Of rank 1: the least solution is the one along the row.
    const Array a = array({1, 2, 2, 4, 3, 6}, {3, 2}, dtype);
    const Array b = array({1, 2, 3}, {3}, dtype);
    expect_values(lstsq(a, b), {2}, {0.2, 0.4});
    expect_values(lstsq(array({1, 0, 0, 1, 1, 1}, {3, 2}, dtype), array({1, 2, 6}, {3}, dtype)),
                  {2}, {2, 3});
    expect_values(pinv(zeros({2, 3}, dtype)), {3, 2}, Values(6, 0));
    // What counts as 0 is chosen.
    expect_values(pinv(array({1, 0, 0, 1e-3}, {2, 2}, dtype), 1e-2), {2, 2}, {1, 0, 0, 0});
  }
}

TEST(Decompositions, DeterminantsOfKnownMatrices) {
  for (const DType dtype : kDTypes) {
    const Array x = array({0, 2, 3, 4, 2, 1, 1, 3}, {2, 2, 2}, dtype);
    expect_values(det(x), {2}, {-6, 5});
    const auto [sign, log] = slogdet(x);
    expect_values(sign, {2}, {-1, 1});
    expect_values(log, {2}, {std::log(6.0), std::log(5.0)});
    const Array singular = array({1, 2, 2, 4}, {2, 2}, dtype);
    expect_values(det(singular), {}, {0});
    expect_values(slogdet(singular).first, {}, {0});
    expect_values(slogdet(singular).second, {}, {-kInf});
    expect_values(det(zeros({3, 0, 0}, dtype)), {3}, {1, 1, 1});
    expect_values(slogdet(zeros({0, 0}, dtype)).second, {}, {0});
    EXPECT_EQ(det(zeros({0, 4, 4}, dtype)).shape(), (Shape{0}));
    // Too large for the dtype, not for its logarithm.
    const Array large = mul(eye(60, dtype), dtype == DType::f64 ? 1e10 : 1e3);
    EXPECT_TRUE(std::isinf(det(large).item()));
    EXPECT_NEAR(slogdet(large).second.item(), 60 * std::log(dtype == DType::f64 ? 1e10 : 1e3),
                1e-3);
  }
  expect_values(det(array({2, 1, 1, 3}, {2, 2}, DType::f16)), {}, {5});
}

TEST(Decompositions, SingularSystemsGiveNoNumbers) {
  const Array singular = array({1, 2, 2, 4}, {2, 2});
  for (const Array& x : {inverse(singular), solve(singular, ones({2}, DType::f64)),
                         inverse(zeros({1, 1}, DType::f64))}) {
    bool finite = true;
    for (const double value : x.to_doubles()) finite = finite && std::isfinite(value);
    EXPECT_FALSE(finite);
  }
  const Array triangle = array({0, 0, 1, 1}, {2, 2});
  EXPECT_FALSE(std::isfinite(triangular_solve(triangle, ones({2}, DType::f64)).to_doubles()[0]));
  for (const Values& values : {Values{1, 2, 2, 1}, {-1, 0, 0, 1}, {0, 0, 0, 0}}) {
    for (const double value : cholesky(array(values, {2, 2})).to_doubles()) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
}

TEST(Decompositions, NanAndInfinityEnd) {
  for (const DType dtype : kDTypes) {
    for (const double bad : {kNan, kInf, -kInf}) {
      for (const std::int64_t n : {1, 5, 70}) {
        Values values = random_values(2 * n * n);
        values[static_cast<std::size_t>(n * n) - 1] = bad;
        const Array x = array(values, {2, n, n}, dtype);
        const auto poisoned = [&](const Array& y, const char* what) {
          const Values got = y.to_doubles();
          const std::size_t half = got.size() / 2;
          for (std::size_t i = 0; i < half; ++i) EXPECT_TRUE(std::isnan(got[i])) << what;
          for (std::size_t i = half; i < got.size(); ++i) EXPECT_FALSE(std::isnan(got[i])) << what;
        };
        const auto [q, r] = qr(x);
        poisoned(q, "q");
        const auto [u, s, vh] = svd(x);
        poisoned(u, "u");
        poisoned(s, "s");
        poisoned(vh, "vh");
        const auto [w, v] = eigh(x);
        poisoned(w, "w");
        poisoned(v, "v");
        poisoned(pinv(x), "pinv");
        poisoned(matrix_norm(x, MatrixNorm::nuclear), "nuclear");
        poisoned(lu_decomposition(x).first, "lu_decomposition");
        poisoned(det(x), "det");
        poisoned(slogdet(x).first, "sign");
        poisoned(slogdet(x).second, "slogdet");
        poisoned(inverse(x), "inverse");
        poisoned(solve(x, ones({n, 2}, dtype)), "solve");
        poisoned(lstsq(x, ones({n, 2}, dtype)), "lstsq");
        poisoned(triangular_solve(x, ones({n, 2}, dtype)), "triangular_solve");
        const Values kept = eye(n, dtype).to_doubles();
        const Values p = lu(x)[0].to_doubles();
        EXPECT_TRUE(std::equal(kept.begin(), kept.end(), p.begin()));
        const Array definite = expand(cast(eye(n, DType::f64) * 2.0, dtype), {1, n, n});
        poisoned(cholesky(cat({narrow(x, 0, 0, 1), definite}, 0)), "cholesky");
      }
    }
  }
}

// Of a triangle the elements that are read count alone, and of the right side a column.
TEST(Decompositions, WhatIsNotReadIsNoNan) {
  const Array b = array({1, 2, 3, kNan}, {2, 2});
  for (const bool upper : {false, true}) {
    const Values values = upper ? Values{2, 1, kNan, 4} : Values{2, kNan, 1, 4};
    const Values x = triangular_solve(array(values, {2, 2}), b, upper).to_doubles();
    EXPECT_TRUE(std::isfinite(x[0]) && std::isfinite(x[2]) && std::isnan(x[3]));
    const Values unit = upper ? Values{kInf, 1, kNan, kNan} : Values{kInf, kNan, 1, kNan};
    EXPECT_TRUE(
        std::isfinite(triangular_solve(array(unit, {2, 2}), b, upper, true).to_doubles()[2]));
    const Values read = upper ? Values{2, kInf, 0, 4} : Values{2, 0, kInf, 4};
    for (const double each : triangular_solve(array(read, {2, 2}), b, upper).to_doubles()) {
      EXPECT_TRUE(std::isnan(each));
    }
  }
  const Values x = solve(array({2, 0, 0, 4}, {2, 2}), b).to_doubles();
  EXPECT_TRUE(std::isfinite(x[0]) && std::isfinite(x[2]));
}

TEST(Decompositions, CholeskyReadsOneTriangle) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t n : {2, 50, 130}) {
      const Array a = definite(random_array({n, n}, dtype, -1, 1, 3));
      const Array above = triu(ones({n, n}, dtype), 1);
      const Array read = cholesky(where(greater(above, 0.0), kNan, a));
      EXPECT_EQ(read.to_doubles(), cholesky(a).to_doubles());
    }
  }
}

TEST(Decompositions, PowersOfMatrices) {
  const Array x = array({1, 1, 1, 0}, {2, 2});
  expect_values(matrix_power(x, 10), {2, 2}, {89, 55, 55, 34});
  expect_values(matrix_power(x, 1), {2, 2}, {1, 1, 1, 0});
  expect_values(matrix_power(x, 0), {2, 2}, {1, 0, 0, 1});
  expect_values(matrix_power(x, -3), {2, 2}, {-1, 2, 2, -3});
  const Array whole = ints({1, 1, 1, 0}, {2, 2});
  expect_values(matrix_power(whole, 10), {2, 2}, {89, 55, 55, 34});
  expect_values(matrix_power(eye(2, DType::f64), std::numeric_limits<std::int64_t>::min()), {2, 2},
                {1, 0, 0, 1});
  expect_values(matrix_power(zeros({0, 3, 3}, DType::f64), 2), {0, 3, 3}, {});
  // Of the identity it is 0, whatever x is.
  const Array leaf = array({kInf, 1, kNan, 0}, {2, 2}).require_grad();
  expect_values(backward(sum(matrix_power(leaf, 0) * 3.0)).get(leaf), {2, 2}, {0, 0, 0, 0});
  expect_values(matrix_power(whole, 0), {2, 2}, {1, 0, 0, 1});
}

TEST(Decompositions, NormsOfMatrices) {
  // The singular values are 5, 4 and 0.
  const Array x = array({0, 4, 0, -3, 0, 0, 4, 0, 0}, {3, 3});
  const std::pair<MatrixNorm, double> expected[] = {{MatrixNorm::frobenius, std::sqrt(41.0)},
                                                    {MatrixNorm::nuclear, 9},
                                                    {MatrixNorm::spectral, 5},
                                                    {MatrixNorm::least_singular, 0},
                                                    {MatrixNorm::column, 7},
                                                    {MatrixNorm::least_column, 0},
                                                    {MatrixNorm::row, 4},
                                                    {MatrixNorm::least_row, 3}};
  for (const auto& [norm, value] : expected) {
    expect_values(matrix_norm(x, norm), {}, {value});
    expect_values(matrix_norm(x, norm, true), {1, 1}, {value});
    expect_values(matrix_norm(cast(expand(x, {2, 3, 3}), DType::f32), norm), {2}, {value, value});
  }
  const Array none = zeros({0, 3}, DType::f64);
  expect_values(matrix_norm(none), {}, {0});
  expect_values(matrix_norm(none, MatrixNorm::nuclear), {}, {0});
  expect_error(ErrorCode::invalid_argument, [&] { (void)matrix_norm(none, MatrixNorm::spectral); });
}

TEST(Decompositions, HalvesAreComputedInF32) {
  const Values values = {4, 1, 1, 3};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Array x = array(values, {2, 2}, dtype), exact = array(values, {2, 2}, DType::f32);
    const auto same = [&](const Array& got, const Array& want) {
      EXPECT_EQ(got.dtype(), dtype);
      expect_close(got, cast(want, dtype).to_doubles(), 0);
    };
    same(cholesky(x), cholesky(exact));
    same(qr(x).second, qr(exact).second);
    same(svd(x)[0], svd(exact)[0]);
    same(eigh(x).second, eigh(exact).second);
    same(inverse(x), inverse(exact));
    same(lu(x)[1], lu(exact)[1]);
    same(det(x), det(exact));
  }
}

TEST(Decompositions, Errors) {
  const Array wide_one = zeros({2, 3}), vector = zeros({3}), square = zeros({3, 3});
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { (void)cholesky(wide_one); }, [&] { (void)eigh(wide_one); },
           [&] { (void)det(wide_one); }, [&] { (void)inverse(vector); }, [&] { (void)qr(vector); },
           [&] { (void)svd(vector); }, [&] { (void)lu(vector); },
           [&] { (void)solve(square, zeros({4})); },
           [&] { (void)solve(zeros({2, 3, 3}), zeros({3, 3, 1})); },
           [&] { (void)matrix_power(wide_one, 2); }, [&] { (void)matrix_norm(vector); },
           [&] { (void)lstsq(wide_one, zeros({3})); },
           [&] { (void)triangular_solve(square, zeros({2, 1})); }}) {
    expect_error(ErrorCode::shape, call);
  }
  const Array whole = ints({1, 0, 0, 1}, {2, 2});
  expect_error(ErrorCode::dtype, [&] { (void)cholesky(whole); });
  expect_error(ErrorCode::dtype, [&] { (void)matrix_power(whole, -1); });
  expect_error(ErrorCode::dtype, [&] { (void)solve(square, zeros({3}, DType::f64)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)svd(Array()); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)pinv(square, -1.0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)pinv(square, kNan); });
}

Many of(Array (*function)(const Array&)) {
  return [function](std::span<const Array> in) { return function(in[0]); };
}

TEST(Decompositions, Gradients) {
  const Array x = add(random_array({2, 3, 3}, DType::f64, -1, 1, 21), mul(eye(3, DType::f64), 2.0));
  const Array tall = random_array({4, 3}, DType::f64, -1, 1, 22);
  const Array b = random_array({2, 3, 2}, DType::f64, -1, 1, 23);
  const auto both = [](const std::pair<Array, Array>& pair) {
    return cat({flatten(pair.first), flatten(pair.second)}, 0);
  };
  const std::vector<std::pair<Many, std::vector<Array>>> cases = {
      {of(cholesky), {add(x, mul(eye(3, DType::f64), 3.0))}},
      {of(inverse), {x}},
      {of(det), {x}},
      {of(svdvals), {tall}},
      {of(eigvalsh), {x}},
      {[](auto in) { return solve(in[0], in[1]); }, {x, b}},
      {[](auto in) { return triangular_solve(in[0], in[1], true); }, {x, b}},
      {[](auto in) { return slogdet(in[0]).second; }, {x}},
      {[](auto in) { return pinv(in[0]); }, {tall}},
      {[](auto in) { return lstsq(in[0], in[1]); }, {tall, random_array({4})}},
      {[](auto in) { return matrix_power(in[0], -2); }, {x}},
      {[](auto in) { return matrix_norm(in[0], MatrixNorm::nuclear); }, {tall}},
      {[&](auto in) { return both(qr(in[0])); }, {tall}},
      {[&](auto in) { return both(qr(in[0])); }, {transpose(tall)}},
      {[&](auto in) { return both(eigh(in[0])); }, {x}},
      {[](auto in) { return lu(in[0])[1]; }, {tall}},
      {[](auto in) { return lu(in[0])[2]; }, {transpose(tall)}},
      {[](auto in) { return svd(in[0])[0]; }, {tall}},
      {[](auto in) { return svd(in[0])[2]; }, {transpose(tall)}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    check_gradients(cases[i].first, cases[i].second, 1e-5);
    check_second_gradients(cases[i].first, cases[i].second, 2e-4);
  }
}

// Of cofactors, which a singular matrix has as well.
TEST(Decompositions, DeterminantsOfSingularMatricesHaveGradients) {
  for (const Values& values : {Values{1, 2, 3, 2, 4, 6, 1, 0, 1},
                               {0, 0, 0, 1, 2, 3, 4, 5, 7},
                               {0, 1, 2, 0, 3, 5, 0, 7, 7}}) {
    const Array leaf = array(values, {3, 3}).require_grad();
    const Values got = backward(det(leaf)).get(leaf).to_doubles();
    Values want;
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 3; ++c) {
        const auto at = [&](std::size_t i, std::size_t j) {
          return values[(r + i) % 3 * 3 + (c + j) % 3];
        };
        want.push_back(at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1));
      }
    }
    expect_close(got, want, 1e-10);
  }
  const Array zero = zeros({3, 3}, DType::f64).require_grad();
  expect_close(backward(det(zero)).get(zero), Values(9, 0), 1e-12);
}

// What depends on the space that vectors span alone has a gradient where values repeat.
TEST(Decompositions, RepeatedValuesKeepGradientsOfWhatIsDefined) {
  const Array leaf = eye(3, DType::f64).require_grad();
  const auto [w, v] = eigh(leaf);
  const Array back = matmul(mul(v, unsqueeze(w, {-2})), transpose(v));
  for (const double value : backward(sum(back)).get(leaf).to_doubles()) {
    EXPECT_TRUE(std::isfinite(value));
  }
  const Array other = eye(3, DType::f64).require_grad();
  expect_close(backward(matrix_norm(other, MatrixNorm::nuclear)).get(other),
               eye(3, DType::f64).to_doubles(), 1e-12);
}

TEST(Decompositions, DoNotDependOnThreads) {
  const Array x = random_array({150, 150}, DType::f32, -1, 1, 31);
  const Array many = random_array({9, 20, 20}, DType::f32, -1, 1, 32);
  const auto all = [&] {
    std::vector<Values> out;
    for (const Array& a : {x, many}) {
      for (const Array& part : svd(a)) out.push_back(part.to_doubles());
      for (const Array& part : lu(a)) out.push_back(part.to_doubles());
      const auto [q, r] = qr(a);
      const auto [w, v] = eigh(a);
      for (const Array& part : {q, r, w, v, inverse(a), cholesky(definite(a))}) {
        out.push_back(part.to_doubles());
      }
    }
    return out;
  };
  const std::vector<Values> alone = [&] {
    const ThreadLimit one(1);
    return all();
  }();
  EXPECT_EQ(all(), alone);
}

TEST(Decompositions, RunOnEveryDevice) {
  for (const Device& device : devices_under_test()) {
    const Array host = random_array({2, 6, 6}, DType::f32, -1, 1, 41);
    const Array x = to_device(host, device).require_grad();
    const auto [q, r] = qr(x);
    EXPECT_EQ(q.device(), device);
    const Gradients gradients = backward(sum(mul(q, r)));
    const Array leaf = host.require_grad();
    const auto [own_q, own_r] = qr(leaf);
    expect_within(gradients.get(x), backward(sum(mul(own_q, own_r))).get(leaf), 1e-4,
                  device.name());
    expect_within(solve(x.detach(), x.detach()), solve(host, host), 1e-4, device.name());
    expect_within(svd(x.detach())[1], svd(host)[1], 1e-5, device.name());
  }
}

TEST(Decompositions, TypedSolversTakeAVector) {
  const auto a = Tensor<2>(random_array({4, 4}, DType::f64));
  const auto v = Tensor<1>(random_array({4}, DType::f64, -1, 1, 7));
  const Tensor<1> x = solve(a, v);
  expect_within(x.array(), solve(a.array(), v.array()), 0);
  const Tensor<1> lower = triangular_solve(a, v, false, true);
  expect_within(lower.array(), triangular_solve(a.array(), v.array(), false, true), 0);
  const auto tall = Tensor<3>(random_array({2, 4, 3}, DType::f64));
  const Tensor<2> least = lstsq(tall, v);
  expect_within(least.array(), lstsq(tall.array(), v.array()), 0);
  const Tensor<2> same = solve(a, a);
  EXPECT_EQ(same.shape(), (Shape{4, 4}));
}

}  // namespace
}  // namespace hearth
