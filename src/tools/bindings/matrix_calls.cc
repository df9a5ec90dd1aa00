// Matrices: hearth/ops/{decompositions, einsum, linalg}.h.
#include "tools/bindings/call_lists.h"

#include "hearth/ops.h"
#include "tools/bindings/call_macros.h"
#include "tools/bindings/op_document.h"

namespace hearth::tools {
namespace {

const char* const kSquare = "x [..., n, n] -> [..., n, n]";
const char* const kOfMatrices = "x [..., n, n] -> [...]";
const char* const kSystem =
    "a [..., n, n], b [..., n, k] or [n] -> [..., n, k] or [..., n], leading axes broadcast";
const char* const kVariables =
    "x [n, variables] -> [variables, variables], or of x [variables, n] for axis 1";

}  // namespace

std::vector<FunctionCall> matrix_calls() {
  const SampleInput table = {{2, 3}};
  const SampleInput square = {{2, 2}};
  return {
      {"outer",
       "a [..., m], b [..., n] -> [..., m, n], leading extents broadcast",
       {table, table},
       CALL(outer(in[0], in[1]))},
      {"matvec",
       "a [..., m, n], b [..., n] -> [..., m], leading extents broadcast",
       {table, {.shape = {3}}},
       CALL(matvec(in[0], in[1]))},
      {"cross",
       "a [..., 3, ...], b [..., 3, ...] -> [..., 3, ...], 3 at axis, both broadcast",
       {table, table},
       CALL(cross(in[0], in[1]))},
      {"cov", kVariables, {table}, CALL(cov(in[0]))},
      {"corrcoef", kVariables, {table}, CALL(corrcoef(in[0]))},
      {"vector_norm",
       kReductionShapes,
       {table},
       CALL(vector_norm(in[0], is_float(in[0].dtype()) ? 2 : 1))},
      {"vector_normalize", kSame, {table}, CALL(vector_normalize(in[0]))},
      {"max_abs", kReductionShapes, {table}, CALL(max_abs(in[0]))},
      {"cosine_similarity",
       "a [...], b [...] -> [... without axis, or 1 there for keepdim], both broadcast",
       {table, table},
       CALL(cosine_similarity(in[0], in[1]))},
      {"cdist",
       "a [..., m, d], b [..., n, d] -> [..., m, n], leading extents broadcast",
       {table, table},
       CALL(cdist(in[0], in[1]))},
      {"is_close",
       "a [...], b [...] -> [...], both broadcast",
       {table, table},
       CALL(is_close(in[0], in[1]))},
      {"all_close", "a [...], b [...] -> []", {table, table}, CALL(all_close(in[0], in[1]))},
      {"contains_nan", "x [...] -> []", {table}, CALL(contains_nan(in[0]))},
      {"cholesky", kSquare, {square}, CALL(cholesky(in[0]))},
      {"lu_decomposition",
       "x [..., m, n] -> factors [..., m, n] and rows [..., m]",
       {table},
       CALL_OF_ALL(lu_decomposition(in[0]))},
      {"lu",
       "x [..., m, n] -> p [..., m, m], l [..., m, k] and u [..., k, n], k = min(m, n)",
       {table},
       CALL_OF_ALL(lu(in[0]))},
      {"qr",
       "x [..., m, n] -> q [..., m, k] and r [..., k, n], k = min(m, n), or m unless reduced",
       {table},
       CALL_OF_ALL(qr(in[0]))},
      {"svd",
       "x [..., m, n] -> u [..., m, k], s [..., k] and vh [..., k, n], k = min(m, n)",
       {table},
       CALL_OF_ALL(svd(in[0]))},
      {"svdvals", "x [..., m, n] -> [..., min(m, n)]", {table}, CALL(svdvals(in[0]))},
      {"eigh", "x [..., n, n] -> w [..., n] and v [..., n, n]", {square}, CALL_OF_ALL(eigh(in[0]))},
      {"eigvalsh", "x [..., n, n] -> [..., n]", {square}, CALL(eigvalsh(in[0]))},
      {"triangular_solve", kSystem, {square, square}, CALL(triangular_solve(in[0], in[1]))},
      {"solve", kSystem, {square, square}, CALL(hearth::solve(in[0], in[1]))},
      {"inverse", kSquare, {square}, CALL(inverse(in[0]))},
      {"pinv", "x [..., m, n] -> [..., n, m]", {table}, CALL(pinv(in[0]))},
      {"lstsq",
       "a [..., m, n], b [..., m, k] or [m] -> [..., n, k] or [..., n]",
       {table, table},
       CALL(lstsq(in[0], in[1]))},
      {"matrix_power", kSquare, {square}, CALL(matrix_power(in[0], 2))},
      {"det", kOfMatrices, {square}, CALL(det(in[0]))},
      {"slogdet",
       "x [..., n, n] -> sign and logarithm [...]",
       {square},
       CALL_OF_ALL(slogdet(in[0]))},
      {"matrix_norm",
       "x [..., m, n] -> [...], or [..., 1, 1] with keepdim",
       {table},
       CALL(matrix_norm(in[0]))},
      {"einsum",
       "arrays, any number of them -> as the subscripts say",
       {table, table},
       CALL(einsum("ij,ij->ij", {in[0], in[1]}))},
  };
}

}  // namespace hearth::tools
