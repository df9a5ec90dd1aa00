// Products with so few rows, or columns, that reading the other matrix is all the work.
#pragma once

#include <cstdint>

#include "devices/cpu/gemm/gemm.h"

namespace hearth::cpu {

// Rows of the small matrix at most, on any processor, where the columns of the large one are
// contiguous: packing them first pays only later.
inline constexpr std::int64_t kSkinnyDotRows = 48;

// Whether products of such extents may be skinny: with the right strides, and m times as large
// where the rows of a batch follow one another.
bool can_be_skinny(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

// Whether gemm_skinny() runs the product, and sooner than gemm().
bool is_skinny(const GemmArgs& args);

// As gemm(), of products that are skinny.
void gemm_skinny(const GemmArgs& args, const GemmBatch& batch = {});

// The kernels. x holds m rows of k values of type X, `x_stride` apart; row i of the result goes to
// y + i * y_stride and adds to what is there.
template <class X, class S, class T>
using SkinnyProduct = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, const X* x,
                               std::int64_t x_stride, const S* b, std::int64_t b_stride, T* y,
                               std::int64_t y_stride);

template <class S, class T>
struct SkinnyKernels {
  SkinnyProduct<T, S, T> rows;  // B has contiguous rows: chains over k
  SkinnyProduct<T, S, T> cols;  // B has contiguous columns: sums by class, see order.h
};

struct CpuSkinny {
  std::int64_t dot_rows;  // as kSkinnyDotRows, of this processor
  SkinnyKernels<float, float> f32;
  SkinnyKernels<double, double> f64;
  SkinnyKernels<float16, float> f16;
  SkinnyKernels<bfloat16, float> bf16;
  // y[j] += sums[j][0] + ... as order.h joins them, of n columns of kSumClasses sums.
  void (*add_classes)(const float* sums, std::int64_t n, float* y);
};
const CpuSkinny& cpu_skinny();

// `cols` in pairs of bf16, in the order of bf16_gemm(). Null where the processor lacks them.
SkinnyProduct<bfloat16, bfloat16, float> bf16_columns();

}  // namespace hearth::cpu
