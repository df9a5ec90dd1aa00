// What products do that add up by class, see order.h: A is dealt out to the classes, and each
// class's part of a block is multiplied by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/integer_math.h"
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/order.h"
#include "devices/cpu/gemm/scratch.h"

namespace hearth::cpu {

// The rows of A, dealt out block by block: of each kBlockWords words of k, each class of a row, one
// after the other. S is what A holds; X and P are those of `Kernels`, and a word is a P.
template <class S, class Kernels>
class DealtRows {
 public:
  using X = typename Kernels::X;
  using P = typename Kernels::P;
  using T = typename Kernels::T;
  static constexpr std::int64_t kGroup = sizeof(P) / sizeof(X);  // values of k in a word
  static constexpr std::int64_t kDepth = kBlockWords * kGroup;   // values of k in a block

  // What it is given must outlive it.
  DealtRows(const GemmArgs& args, const Kernels& kernels, CopyRows<S, X> copy)
      : g_(args), kernels_(kernels), copy_(copy) {}

  // Elements of all rows.
  std::int64_t size() const { return ceil_div(g_.k, kDepth) * g_.m * block_at(0).stride; }

  // Where row i of the block that begins at p lies among all rows.
  std::int64_t offset(std::int64_t i, std::int64_t p) const {
    return p / kDepth * g_.m * block_at(0).stride + i * block_at(p).stride;
  }

  // Elements of m rows of the block that begins at p.
  std::int64_t size_of_rows(std::int64_t m, std::int64_t p) const { return m * block_at(p).stride; }

  // Deals m rows out, from row i and, of these, the block that begins at p. `scratch` holds a row
  // that cannot be read where it lies.
  void deal(std::int64_t i, std::int64_t m, std::int64_t p, X* to, GemmScratch& scratch) const {
    const Block block = block_at(p);
    const std::int64_t words = ceil_div(block.values, kGroup);
    const bool has_words =
        std::is_same_v<S, X> && g_.a_col_stride == 1 && block.values % kGroup == 0;
    X* row = nullptr;
    for (; m > 0; --m, ++i, to += block.stride) {
      const S* const from = static_cast<const S*>(g_.a) + i * g_.a_row_stride + p * g_.a_col_stride;
      // Pairs of rows of an odd length may lie between words.
      const bool in_place = has_words && reinterpret_cast<std::uintptr_t>(from) % sizeof(P) == 0;
      if (!in_place && row == nullptr) {
        row = scratch.take<X>(words * kGroup);
        row[words * kGroup - 1] = X{};
      }
      if (!in_place) copy_(from, 0, g_.a_col_stride, 1, block.values, row, 0);
      kernels_.deal(in_place ? static_cast<const void*>(from) : row, words, to,
                    block.step / kGroup);
    }
  }

  // Makes rows that deal() made of the block that begins at p those of `block`.
  void place(const X* rows, std::int64_t p, GemmBlock<X, P, T>& block) const {
    const std::int64_t stride = block_at(p).stride;
    block.a = rows;
    block.a_packed = true;
    block.a_row_stride = stride;
    block.a_panel_stride = kRowPanel * stride;
    block.a_step = kGroup;
  }

 private:
  struct Block {
    std::int64_t values;  // of k
    std::int64_t step;    // from a class to the next
    std::int64_t stride;  // from a row to the next, which is kept off the same cache sets
  };
  Block block_at(std::int64_t p) const {
    const std::int64_t values = std::min(kDepth, g_.k - p);
    const std::int64_t step = words_of_class(ceil_div(values, kGroup), 0) * kGroup;
    return {values, step, kSumClasses * step + 16 * kGroup};
  }

  const GemmArgs& g_;
  const Kernels& kernels_;
  CopyRows<S, X> copy_;
};

// The part of C that `block` is, of at least one value of k, of rows that were dealt out and panels
// that were packed by class. Either of all columns, so that a long class's part of A stays cached,
// or panel by panel, so that sums, which are in `scratch`, do.
template <class Kernels>
void multiply_by_class(
    const Kernels& kernels,
    const GemmBlock<typename Kernels::X, typename Kernels::P, typename Kernels::T>& block,
    GemmScratch& scratch) {
  using P = typename Kernels::P;
  using T = typename Kernels::T;
  constexpr std::int64_t kGroup = sizeof(P) / sizeof(typename Kernels::X);
  constexpr std::int64_t kLongClass = 48;  // words
  const std::int64_t words = ceil_div(block.k, kGroup), step = words_of_class(words, 0);
  const std::int64_t rows = class_rows(words), lanes = kernels.lanes;
  for (std::int64_t j = 0; j < block.n;) {
    auto part = block;
    if (step < kLongClass) {
      part.n = std::min(block.n - j,
                        panel_vectors(ceil_div(block.n - j, lanes), kernels.vectors) * lanes);
    }
    part.b += j * block.b_panel_stride;
    const std::int64_t classes = std::min(kSumClasses, words), size = part.m * part.n;
    T* const chains = scratch.take<T>(kSumChains * size);
    part.c_row_stride = part.n;
    for (std::int64_t which = 0; which < classes; ++which) {
      part.k = kGroup * words_of_class(words, which);
      part.c = chains + which / kChainClasses * size;
      part.accumulate = which % kChainClasses != 0;
      kernels.block(part);
      part.a += step * kGroup;
      part.b_first += rows;
    }
    kernels.join(chains, size, ceil_div(classes, kChainClasses), part.m, part.n, block.accumulate,
                 block.c + j, block.c_row_stride);
    j += part.n;
  }
}

}  // namespace hearth::cpu
