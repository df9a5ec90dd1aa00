// What the matrix multiply needs of a SIMD target.
#pragma once

#include <cstdint>
#include <utility>

#include "devices/cpu/gemm/gemm.h"
#include "hearth/dtype.h"

namespace hearth::cpu {

// Rows of A in a packed panel, but where GemmBlocking says otherwise.
inline constexpr std::int64_t kRowPanel = 12;

// How a product is cut for its kernels.
struct GemmBlocking {
  std::int64_t row_panel = kRowPanel;  // rows of A in a panel, those that are not there zero
  std::int64_t row_unit = kRowPanel;   // tasks have whole ones of rows
  std::int64_t group_unit = 1;         // B has whole ones of groups of k, the last one's rest zero
  // Bytes of a column of B that are multiplied before the sums go back to C, where sums are not by
  // class. Part of the rounding.
  std::int64_t depth_bytes = 1536;
  // A task's part of C; its sums stay in a second-level cache.
  std::int64_t task_rows = 96;
  std::int64_t task_cols = 256;
  // Up to this many rows, a task packs the part of B that it needs, and uses it while it is cached.
  std::int64_t local_rows = 384;
  // Tasks are not made narrower for more threads while they can be made lower.
  std::int64_t least_cols = 0;
};

// A block of C = A * B whose operands are ready: A strided, B in panels.
//
// The columns of a block are cut into panels of whole vectors (see panel_vectors). Row p of the
// panel that starts at column j is at b + j * b_panel_stride + (b_first + p) * b_step. Where B
// is packed b_step is the width of the panel, whatever the field says, and the last one is filled
// with zeros to a whole vector. A matrix with contiguous rows is its own panels: b_panel_stride = 1
// and b_step its row stride; its columns must be whole vectors unless the target reads partial
// ones.
//
// A holds elements of type X, a row of a panel elements of type P, C sums of type T. P is X, or a
// group of values of X that follow one another in k; b_step counts rows of such groups, and
// the last group is filled with zeros.
template <class X, class P, class T>
struct GemmBlock {
  std::int64_t m, n, k;
  // Row i begins at a + (i / panel) * a_panel_stride + (i % panel) * a_row_stride, where `panel` is
  // row_panel of GemmBlocking, and the step to the next value of k, or group of values, or tile, is
  // a_step.
  const X* a;
  std::int64_t a_row_stride, a_panel_stride, a_step;
  // Where not null, row i begins at a + a_rows[i] instead, and value or group p of it is
  // a_offsets[p] further.
  const std::int64_t* a_rows;
  const std::int64_t* a_offsets;
  const P* b;
  std::int64_t b_panel_stride, b_step;
  std::int64_t b_first;  // the row of the panels where the block begins
  T* c;
  std::int64_t c_row_stride;
  bool a_packed;
  bool b_packed;
  bool accumulate;
};

// Vectors in the next panel when `left` vectors of columns remain and a panel holds `most`. Avoids
// ending on a panel of one vector, which cannot keep the multipliers busy.
constexpr std::int64_t panel_vectors(std::int64_t left, std::int64_t most) {
  if (left == most + 1 && most > 2) return most - 1;
  return left < most ? left : most;
}

// Copies `rows` rows and n columns of B, the first at `src`, into panels `height` rows high. Panels
// are `width` columns wide, or as panel_vectors says if it is 0; the first row goes to row `first`
// of them. Where `class_rows` is above 0 rows are dealt out to classes, the first to class 0, whose
// rows begin so many apart. A is packed like this too, its rows taken for columns.
template <class S, class P>
using PackPanels = void (*)(const S* src, std::int64_t row_stride, std::int64_t col_stride,
                            std::int64_t rows, std::int64_t n, std::int64_t height,
                            std::int64_t width, std::int64_t first, std::int64_t class_rows,
                            P* dst);

// Deals words out to classes: word p goes to class p modulo kSumClasses, one after the other; the
// classes lie `class_step` words apart.
using DealWords = void (*)(const void* src, std::int64_t words, void* dst, std::int64_t class_step);

// C [m, n] = the sums of chains of classes, `chains` of them, as order.h joins them, or C += these.
// The chains' sums lie `step` apart, rows of n.
template <class T>
using JoinChains = void (*)(const T* sums, std::int64_t step, std::int64_t chains, std::int64_t m,
                            std::int64_t n, bool accumulate, T* c, std::int64_t c_row_stride);

// Copies m rows and k columns of A into tiles of 16 rows of 32 values, filled with zeros; those of
// the same rows follow one another.
using PackTiles = void (*)(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride,
                           std::int64_t m, std::int64_t k, bfloat16* dst);

// dst[i * dst_stride + j] = src[i * row_stride + j * col_stride], converted.
template <class S, class D>
using CopyRows = void (*)(const S* src, std::int64_t row_stride, std::int64_t col_stride,
                          std::int64_t rows, std::int64_t cols, D* dst, std::int64_t dst_stride);

// Asks for the part of a matrix that the next step of packing reads: its rows are too short, and
// too far apart, for the processor to see them coming. One of the strides should be 1.
template <class S>
inline void prefetch_rows(const S* src, std::int64_t row_stride, std::int64_t col_stride,
                          std::int64_t rows, std::int64_t cols) {
#if defined(__GNUC__)
  if (col_stride != 1) {
    std::swap(row_stride, col_stride);
    std::swap(rows, cols);
  }
  constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(S));
  if (col_stride != 1) return;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; j += kLine) __builtin_prefetch(src + i * row_stride + j);
  }
#endif
}

template <class X_, class P_, class T_>
struct GemmKernels {
  using X = X_;
  using P = P_;
  using T = T_;
  std::int64_t lanes;    // elements of C in a vector
  std::int64_t vectors;  // most vectors in a panel
  bool partial_vectors;  // panels that are not packed may end in a partial vector
  void (*block)(const GemmBlock<X, P, T>&);
  DealWords deal;  // words of the size of P
  JoinChains<T> join;
  PackTiles pack_tiles = nullptr;  // how A is packed where it is multiplied in tiles
  GemmBlocking blocking = {};
};

template <class S, class X, class P>
struct GemmCopies {
  PackPanels<S, P> pack;
  CopyRows<S, X> copy;
};

// Kernels for the best target that this processor has.
struct CpuGemm {
  GemmKernels<float, float, float> f32;
  GemmKernels<double, double, double> f64;
  GemmCopies<float, float, float> from_f32;
  GemmCopies<double, double, double> from_f64;
  GemmCopies<float16, float, float> from_f16;
  GemmCopies<bfloat16, float, float> from_bf16;
  CopyRows<bfloat16, bfloat16> copy_bf16;
  CopyRows<float, float16> to_f16;
  CopyRows<float, bfloat16> to_bf16;
};
const CpuGemm& cpu_gemm();

// C = A * B by tiles, or C += A * B; the 32 values of k of step s begin at b + step_offsets[s],
// stored as rows of pairs. A is in tiles, 16 or 32 rows of it; columns are whole tiles too.
struct AmxWalk {
  const bfloat16* a;
  std::int64_t a_panel_stride;  // from 16 rows to the next
  const std::uint32_t* b;
  std::int64_t b_row_stride;
  const std::int64_t* step_offsets;
  std::int64_t steps;
  float* c;
  std::int64_t c_row_stride;
  std::int64_t rows, cols;
  bool accumulate;
};

// Products of pairs of bf16 in one instruction.
struct Bf16Gemm {
  GemmKernels<bfloat16, std::uint32_t, float> kernels;
  GemmCopies<bfloat16, bfloat16, std::uint32_t> copies;
  void (*walk)(const AmxWalk&) = nullptr;  // of tiles
};
// Null where the processor lacks it.
const Bf16Gemm* bf16_gemm();

// The same in tiles of pairs (see amx.h). Null where the processor lacks them, or the system
// keeps them to itself.
const Bf16Gemm* amx_gemm();
// In plain C++, for tests.
const Bf16Gemm& emulated_amx_gemm();

// gemm() of bf16 by these kernels, whatever else the processor has.
void gemm_bf16(const Bf16Gemm& how, const GemmArgs& args, const GemmBatch& batch = {});

struct AmxPacking {
  PackTiles a;
  PackPanels<bfloat16, std::uint32_t> b;
};
const AmxPacking& amx_packing();

}  // namespace hearth::cpu
