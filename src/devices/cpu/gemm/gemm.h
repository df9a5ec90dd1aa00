// Matrix multiply of the CPU device.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::cpu {

// Work on a finished tile of the result while it is in the cache: add a bias, apply an activation.
// `tile` holds rows [row, row + rows) and columns [col, col + cols) of the result of batch item
// `batch` before it is rounded to the dtype of C: double for f64, float for the other floats.
// Integer products have no epilogue. Called once for every element, from any thread.
struct GemmEpilogue {
  void (*apply)(void* context, void* tile, std::int64_t tile_row_stride, std::int64_t batch,
                std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) = nullptr;
  void* context = nullptr;
};

// C = A * B, or C += A * B. Strides are in elements and may be anything for A and B: zero and
// negative too. Rows of C are contiguous (column stride 1) and must not overlap one another, A or
// B.
struct GemmArgs {
  std::int64_t m = 0;  // rows of A and C
  std::int64_t n = 0;  // columns of B and C
  std::int64_t k = 0;  // columns of A, rows of B; with k = 0 the product is zero

  const void* a = nullptr;
  std::int64_t a_row_stride = 0;
  std::int64_t a_col_stride = 1;
  const void* b = nullptr;
  std::int64_t b_row_stride = 0;
  std::int64_t b_col_stride = 1;
  void* c = nullptr;
  std::int64_t c_row_stride = 0;

  DType dtype = DType::f32;    // of A and B; any but bool
  DType c_dtype = DType::f32;  // the same, or f32 for f16 and bf16
  bool accumulate = false;     // add to what C holds
  bool by_row = false;         // a row of bf16 has the bits that it has alone: never on tiles
  GemmEpilogue epilogue{};
  int threads = 0;  // upper bound; 0 means as many as the worker pool has
};

// Several products of the same extents and strides; matrix i starts i strides after the pointers in
// GemmArgs. The strides (in elements) may be zero or negative for A and B.
struct GemmBatch {
  std::int64_t count = 1;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
  std::int64_t c_stride = 0;
};

// Every dot product is a chain of fused multiply-adds over k in blocks of fixed size, or is dealt
// out to classes (order.h), in f32 for f16 and bf16 (rounded once, at the end) and modulo 2^bits
// for integers. The result does not depend on the number of threads. NaN and infinity propagate as
// in the plain triple loop. bf16 instructions, where the processor has them, take subnormal inputs
// and sums as zero; those on tiles sum the even and the odd ones of 32 values of k first. Throws
// Error for negative extents and for dtypes that do not fit.
void gemm(const GemmArgs& args, const GemmBatch& batch = {});

// The same for A and C of f32, as `args` says, and B of f16: the bits of gemm() with a B that was
// converted before.
void gemm_f16_weights(const GemmArgs& args);

}  // namespace hearth::cpu
