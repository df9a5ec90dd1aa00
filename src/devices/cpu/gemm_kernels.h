// What the matrix multiply needs of a SIMD target.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::cpu {

// A block of C = A * B whose operands are ready: A strided, B in panels.
//
// The columns of a block are cut into panels of whole vectors (see panel_vectors). Row p of the
// panel that starts at column j is at b + j * b_panel_stride + (b_row + p) * b_step. For packed
// panels b_step is the width of the panel, whatever the field says, and the last one is filled with
// zeros to a whole vector. A matrix with contiguous rows is its own panels: b_panel_stride = 1 and b_step its
// row stride; its columns must be whole vectors unless the target reads partial ones.
template <class T>
struct GemmBlock {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row_stride, a_col_stride;
  const T* b;
  std::int64_t b_panel_stride, b_step;
  std::int64_t b_row;  // where the block begins in k
  T* c;
  std::int64_t c_row_stride;
  bool packed;
  bool accumulate;
};

// Vectors in the next panel when `left` vectors of columns remain and a panel holds `most`. Avoids
// ending on a panel of one vector, which cannot keep the multipliers busy.
constexpr std::int64_t panel_vectors(std::int64_t left, std::int64_t most) {
  if (left == most + 1 && most > 2) return most - 1;
  return left < most ? left : most;
}

// Copies rows [k_begin, k_begin + rows) of a group of columns into panels `k` rows high. `src` is
// the element of B in row k_begin and the first column.
template <class S, class T>
using PackPanels = void (*)(const S* src, std::int64_t row_stride, std::int64_t col_stride,
                            std::int64_t k_begin, std::int64_t rows, std::int64_t n, std::int64_t k,
                            T* dst);

// dst[i * dst_stride + j] = src[i * row_stride + j * col_stride], converted.
template <class S, class T>
using CopyRows = void (*)(const S* src, std::int64_t row_stride, std::int64_t col_stride,
                          std::int64_t rows, std::int64_t cols, T* dst, std::int64_t dst_stride);

template <class T>
struct GemmKernels {
  std::int64_t lanes;    // elements in a vector
  std::int64_t vectors;  // most vectors in a panel
  bool partial_vectors;  // panels that are not packed may end in a partial vector
  void (*block)(const GemmBlock<T>&);
};

template <class S, class T>
struct GemmCopies {
  PackPanels<S, T> pack;
  CopyRows<S, T> copy;
};

// Kernels for the best target that this processor has.
struct CpuGemm {
  GemmKernels<float> f32;
  GemmKernels<double> f64;
  GemmCopies<float, float> from_f32;
  GemmCopies<double, double> from_f64;
  GemmCopies<float16, float> from_f16;
  GemmCopies<bfloat16, float> from_bf16;
  CopyRows<float, float16> to_f16;
  CopyRows<float, bfloat16> to_bf16;
};
const CpuGemm& cpu_gemm();

}  // namespace hearth::cpu
