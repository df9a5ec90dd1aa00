// Products of a few rows whose sums are those of gemm()'s tiles, bit for bit: one chain of
// multiplications and additions for each part of k, then the parts one after the other.
//
// Where the columns of B are contiguous, as those of a linear layer's weight are, lanes are columns
// all the same: square blocks of B are turned in registers on their way.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::cpu {

// y = x * B or, if `accumulate`, y += x * B.
template <class X, class S, class T>
struct ChainProduct {
  std::int64_t m, n, k;
  std::int64_t depth;  // values of k in a part, which are whole vectors of all targets
  const X* x;          // [m, k], rows contiguous
  std::int64_t x_stride;
  const S* b;
  std::int64_t b_stride;  // from column to column
  T* y;                   // [m, n]
  std::int64_t y_stride;
  bool accumulate;
};

struct CpuChains {
  void (*f32)(const ChainProduct<float, float, float>&);
  void (*f64)(const ChainProduct<double, double, double>&);
  void (*f16)(const ChainProduct<float, float16, float>&);
  void (*bf16)(const ChainProduct<float, bfloat16, float>&);
};
const CpuChains& cpu_chains();

// Of pairs of bf16, as Bf16Gemm multiplies them.
struct PairChains {
  void (*columns)(const ChainProduct<bfloat16, bfloat16, float>&);
  // B has contiguous rows, b_stride apart. Chains go on from what is in y, whatever `depth` and
  // `accumulate` say.
  void (*rows)(const ChainProduct<bfloat16, bfloat16, float>&);
  bool has_parts;  // else all of k is one, which goes on from what is in y
};
// In the order of bf16_gemm(), and in that of amx_gemm(). Null without AVX512-BF16.
const PairChains* bf16_chains();
const PairChains* amx_chains();

}  // namespace hearth::cpu
