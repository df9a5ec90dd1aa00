// The problem that a library's call of a matrix product solves.
#pragma once

#include <cstdint>
#include <string_view>

#include "hearth/dtype.h"
#include "runtime/commands/library_call.h"

namespace hearth::gpu {

// LibraryCall::function of a MatmulProblem.
inline constexpr std::string_view kMatmulFunction = "matmul";

// c = activation(a b + bias + residual), `batches` times, with sums in f32, or in f64 for f64.
// Parameters of the call: a, b, bias and residual as far as they are there, c and the workspace. A
// residual lies like c. All members have 8 bytes: they are the words of the call.
struct MatmulProblem {
  // Rows are `stride` elements apart and contiguous; columns are where `transposed`.
  // 0 as `batch_stride` is the same matrix for all.
  struct Matrix {
    std::int64_t transposed = 0;
    std::int64_t stride = 0;
    std::int64_t batch_stride = 0;
  };

  std::int64_t dtype = 0;  // of all three, a DType
  std::int64_t tf32 = 0;   // f32 may be multiplied as TF32
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batches = 1;
  Matrix a, b, c;
  std::int64_t has_bias = 0, has_residual = 0;
  std::int64_t activation = 0;  // MatmulEpilogue::Activation
  std::int64_t workspace_bytes = 0;
};

runtime::LibraryCall matmul_call(const MatmulProblem& problem);
// The inverse of matmul_call().
MatmulProblem matmul_problem(const runtime::LibraryCall& call);

}  // namespace hearth::gpu
