// Systems whose matrix is a triangle, of every extent and layout: their residuals, and that neither
// threads nor neighbouring columns matter.
#include <string>

#include "check.h"
#include "hearth/hearth.h"
#include "hearth/ops/decompositions.h"
#include "runtime/device/worker_pool.h"

namespace hearth {
namespace {

using namespace check;

// With elements that are not read NaN.
Array triangle_of(std::int64_t n, DType dtype, bool upper, bool unit, bool turned) {
  const Array full =
      add(mul(random_array({n, n}, dtype, -1, 1, 3), 0.5 / static_cast<double>(n)), eye(n, dtype));
  const std::int64_t inside = unit ? 1 : 0;
  const Array ones_read = ones({n, n}, dtype);
  const Array read = upper ? triu(ones_read, inside) : tril(ones_read, -inside);
  const Array values = where(greater(read, 0.0), full, kNan);
  return turned ? transpose(transpose(values).eval()) : values.eval();
}

TEST(TriangularSolve, EveryExtentAndLayout) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double share = dtype == DType::f64 ? 1e-14 : 4e-6;
    for (const std::int64_t n : {1, 2, 7, 8, 9, 47, 49, 97, 200}) {
      for (const std::int64_t cols : {0, 1, 2, 5, 8, 16, 31, 33, 64, 130}) {
        const Array b = random_array({n, cols}, dtype, -1, 1, 5);
        for (int form = 0; form < 8; ++form) {
          const bool upper = (form & 1) != 0, unit = (form & 2) != 0, turned = (form & 4) != 0;
          const std::string what =
              to_string(Shape{n, cols}) + " form " + std::to_string(form) + " ";
          const Array a = triangle_of(n, dtype, upper, unit, turned);
          const Array x = triangular_solve(a, b, upper, unit).eval();
          Array known = where(is_nan(a), 0.0, a);
          if (unit) known = add(known, eye(n, dtype));
          expect_within(matmul(known, x), b, share, what);
        }
      }
    }
  }
}

TEST(TriangularSolve, DoesNotDependOnThreadsOrNeighbours) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Array a = triangle_of(150, dtype, true, false, false);
    const Array b = random_array({150, 200}, dtype, -1, 1, 5).eval();
    const Values first = triangular_solve(a, b, true).to_doubles();
    {
      const ThreadLimit one(1);
      EXPECT_EQ(triangular_solve(a, b, true).to_doubles(), first);
    }
    // A column that is not finite leaves the others as they are.
    const Array poison = where(equal(reshape(arange(0, 200), {1, 200}), 7), kNan, b);
    const Values got = triangular_solve(a, poison, true).to_doubles();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (i % 200 == 7) {
        EXPECT_TRUE(std::isnan(got[i]));
      } else {
        EXPECT_EQ(got[i], first[i]);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
