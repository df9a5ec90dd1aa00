// Factorizations, systems of equations and determinants against PyTorch: matrices.txt.
#include <gtest/gtest.h>

#include <optional>

#include "hearth/ops.h"
#include "ops/golden_rows.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;
using Row = const GoldenRow&;

// A function of the row's one input.
template <class F>
GoldenFunction of_one(F f) {
  return [f](Row, const Arrays& in) -> Arrays { return {f(in[0])}; };
}

std::optional<double> relative_of(Row row) {
  return row.has("relative") ? std::optional(row.number("relative", 0)) : std::nullopt;
}

Arrays both(const std::pair<Array, Array>& pair) { return {pair.first, pair.second}; }

const std::map<std::string, GoldenFunction>& functions() {
  static const std::map<std::string, GoldenFunction> kFunctions = {
      {"solve", [](Row, const Arrays& in) -> Arrays { return {solve(in[0], in[1])}; }},
      {"triangular_solve",
       [](Row row, const Arrays& in) -> Arrays {
         return {triangular_solve(in[0], in[1], row.whole("upper") != 0, row.whole("unit") != 0)};
       }},
      {"inverse", of_one([](const Array& x) { return inverse(x); })},
      {"det", of_one([](const Array& x) { return det(x); })},
      {"slogdet", [](Row, const Arrays& in) { return both(slogdet(in[0])); }},
      {"matrix_power",
       [](Row row, const Arrays& in) -> Arrays {
         return {matrix_power(in[0], row.whole("exponent"))};
       }},
      {"cholesky", of_one([](const Array& x) { return cholesky(x); })},
      {"qr_products",
       [](Row, const Arrays& in) -> Arrays {
         const auto [q, r] = qr(in[0]);
         return {matmul(q, r), matmul(swap_axes(q, -1, -2), q), abs(r)};
       }},
      {"eigvalsh", of_one([](const Array& x) { return eigvalsh(x); })},
      {"eigh", [](Row, const Arrays& in) { return both(eigh(in[0])); }},
      {"svdvals", of_one([](const Array& x) { return svdvals(x); })},
      {"svd",
       [](Row, const Arrays& in) -> Arrays {
         const auto [u, s, vh] = svd(in[0]);
         return {u, s, vh};
       }},
      {"pinv", [](Row row, const Arrays& in) -> Arrays { return {pinv(in[0], relative_of(row))}; }},
      {"lstsq", [](Row row, const Arrays& in) -> Arrays {
         return {lstsq(in[0], in[1], relative_of(row))};
       }}};
  return kFunctions;
}

TEST(MatrixGolden, AgreesWithPyTorch) { expect_golden("matrices", functions()); }

}  // namespace
}  // namespace hearth::testing
