// The problem that a library's call of a factorization solves.
#pragma once

#include <cstdint>
#include <string_view>

#include "hearth/dtype.h"
#include "runtime/commands/library_call.h"

namespace hearth::gpu {

// LibraryCall::function of a FactorProblem.
inline constexpr std::string_view kFactorFunction = "factor";

// `batch` matrices of finite numbers, in place, as LAPACK's functions of the same names have them.
// All members have 8 bytes: they are the words of the call.
struct FactorProblem {
  // Parameters of the call; `info`, i32 [batch], is not 0 where it fails, and `workspace` has as
  // many bytes as runtime::LibraryTraits::Factorizations says.
  //   cholesky: a, info, workspace. potrf of the lower triangles of row-major matrices
  //     [rows, rows].
  //   lu: a, pivots i64 [batch, rank], info, workspace. getrf of column-major matrices
  //     [rows, cols] with the rank min(rows, cols); a pivot of 0 is no failure here, but info may
  //     say so.
  //   qr: a, tau [batch, rank], info, workspace. geqrf of column-major matrices [rows, cols].
  //   qr_columns: a, tau, info, workspace. orgqr of `rank` reflections to the first `cols`
  //     columns.
  //   eigh: a, w [batch, rows], info, workspace. syevd of the lower triangles of row-major
  //     matrices [rows, rows]; with `vectors` each row of a is an eigenvector then.
  //   svd: a, s [batch, rank], v [batch, rank, cols], u [batch, rank, rows], info,
  //     workspace. gesvdj of row-major matrices [rows, cols], a row for each singular vector.
  //   triangular_solve: a, x. trsm of row-major triangles [rows, rows] and right sides x
  //     [rows, cols], which become the solutions.
  enum Kind : std::int64_t { cholesky, lu, qr, qr_columns, eigh, svd, triangular_solve };

  std::int64_t kind = cholesky;
  std::int64_t dtype = 0;  // a DType: f32 or f64
  std::int64_t batch = 0, rows = 0, cols = 0, rank = 0;
  std::int64_t batch_stride = 0;  // elements from one matrix a to the next
  std::int64_t vectors = 0;       // of eigh: are wanted
  std::int64_t upper = 0, unit_diagonal = 0;
};

runtime::LibraryCall factor_call(const FactorProblem& problem);
// The inverse of factor_call().
FactorProblem factor_problem(const runtime::LibraryCall& call);

}  // namespace hearth::gpu
