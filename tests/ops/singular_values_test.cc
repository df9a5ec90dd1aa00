// Singular values, with and without vectors: as exact as the largest of them, whatever the matrix.
#include "check.h"
#include "hearth/hearth.h"
#include "hearth/ops/decompositions.h"
#include "runtime/device/worker_pool.h"

namespace hearth {
namespace {

using namespace check;

// [m, n] with these singular values, as exact as f64 has them.
Array matrix_with(const Values& values, std::int64_t m, std::int64_t n) {
  const auto rank = static_cast<std::int64_t>(values.size());
  const Array u = qr(random_array({m, rank}, DType::f64, -1, 1, 3)).first;
  const Array v = qr(random_array({n, rank}, DType::f64, -1, 1, 4)).first;
  return matmul(mul(u, array(values, {1, rank})), transpose(v));
}

void expect_values_of(const Values& want, std::int64_t m, std::int64_t n, const std::string& what) {
  const Array x = matrix_with(want, m, n);
  const double share = 8 * std::sqrt(static_cast<double>(std::max(m, n)));
  expect_within(svdvals(x).to_doubles(), want, share * 0x1p-52, what);
  expect_within(svdvals(transpose(x)).to_doubles(), want, share * 0x1p-52, what);
  expect_within(svdvals(cast(x, DType::f32)).to_doubles(), want, share * 0x1p-23, what);
  for (const DType dtype : {DType::f64, DType::f32}) {
    const double rounding = share * (dtype == DType::f64 ? 0x1p-52 : 0x1p-23);
    const auto [u, s, vh] = svd(cast(x, dtype));
    expect_within(s.to_doubles(), want, rounding, what + " s");
    expect_within(matmul(mul(u, unsqueeze(s, {-2})), vh), x, 2 * rounding, what + " product");
    const Values unit = eye(static_cast<std::int64_t>(want.size()), dtype).to_doubles();
    expect_within(matmul(transpose(u), u).to_doubles(), unit, 2 * rounding, what + " u");
    expect_within(matmul(vh, transpose(vh)).to_doubles(), unit, 2 * rounding, what + " vh");
  }
}

TEST(SingularValues, OfKnownMatrices) {
  for (const std::int64_t n : {1, 2, 3, 8, 33, 130}) {
    for (const std::int64_t m : {n, n + 1, n + n / 2, 3 * n}) {
      const std::string shape = to_string(Shape{m, n});
      Values graded, clustered, few, same, falling;
      for (std::int64_t i = 0; i < n; ++i) {
        const double part = static_cast<double>(i) / static_cast<double>(n);
        graded.push_back(std::pow(10.0, -14 * part));
        clustered.push_back(2 * i < n ? 1 : 1e-5);
        few.push_back(3 * i <= n ? 3 - part : 0);
        same.push_back(2);
        falling.push_back(static_cast<double>(n - i));
      }
      expect_values_of(graded, m, n, shape + " graded");
      expect_values_of(clustered, m, n, shape + " clustered");
      expect_values_of(few, m, n, shape + " few");
      expect_values_of(same, m, n, shape + " same");
      expect_values_of(falling, m, n, shape + " falling");
    }
  }
}

// Matrices that are bidiagonal already, or nearly 0 there.
TEST(SingularValues, OfDiagonals) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {2, 5, 60}) {
      const Array ones_beside = diag_embed(ones({n - 1}, dtype), 1);
      const Array identity = eye(n, dtype);
      // 2 cos(pi k / (2 n + 1)), as its square is a matrix of second differences.
      Values want;
      for (std::int64_t k = 1; k <= n; ++k) {
        want.push_back(2 * std::cos(3.14159265358979323846 * static_cast<double>(k) /
                                    static_cast<double>(2 * n + 1)));
      }
      expect_within(svdvals(add(identity, ones_beside)).to_doubles(), want,
                    dtype == DType::f64 ? 4e-15 : 2e-6);
      // Without a diagonal one value is 0, the others are 1.
      want.assign(static_cast<std::size_t>(n), 1);
      want.back() = 0;
      expect_within(svdvals(ones_beside).to_doubles(), want, dtype == DType::f64 ? 4e-15 : 2e-6);
      expect_within(svdvals(zeros({n, n}, dtype)).to_doubles(),
                    Values(static_cast<std::size_t>(n), 0), 0, "", 1);
      const Values tiny = svdvals(mul(identity, dtype == DType::f64 ? 1e-300 : 1e-38)).to_doubles();
      for (const double value : tiny) EXPECT_GT(value, 0);
    }
  }
}

TEST(SingularValues, DoNotDependOnThreads) {
  for (const Shape& shape : {Shape{200, 200}, {300, 100}, {7, 30, 20}}) {
    const Array x = random_array(shape, DType::f32, -1, 1, 31);
    const Values all = svdvals(x).to_doubles();
    const ThreadLimit one(1);
    EXPECT_EQ(svdvals(x).to_doubles(), all);
  }
}

}  // namespace
}  // namespace hearth
