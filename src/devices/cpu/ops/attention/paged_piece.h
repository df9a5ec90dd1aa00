// paged_attention by pieces of the keys: how rows of caches are multiplied, and, for few rows, a
// piece for all lines of a sequence and the pieces' results added up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/ops/attention/cache_rows.h"
#include "devices/cpu/ops/attention/paged.h"
#include "devices/cpu/ops/attention/running.h"

namespace hearth::cpu {

inline constexpr std::int64_t kPagedPieceKeys = 256;

// Rows of a cache that lie one after the other, as decoding multiplies them: as they lie in memory
// where kernels read that, else in compute precision.
template <class T>
class CacheReader {
 public:
  CacheReader(const Operand& cache, paged::CacheFormat format, std::int64_t columns)
      : cache_(cache), format_(format), columns_(columns) {
    if constexpr (std::is_same_v<T, float>) {
      if (cache.stride(2) == 1) kernels_ = cache_row_kernels(cache.dtype(), format);
    }
  }

  // scores [m, score_stride] of lines q [m, columns] and `count` rows from `offset` on.
  void dots(std::int64_t m, const T* q, std::int64_t offset, std::int64_t count, T* scores,
            std::int64_t score_stride) const {
    if constexpr (std::is_same_v<T, float>) {
      if (kernels_ != nullptr) {
        return kernels_->dots(m, columns_, count, q, bytes(offset), row_bytes(), scores,
                              score_stride);
      }
    }
    const T* const rows = widened(offset, count);
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(scores + i * score_stride, count, T(0));
    skinny().cols(m, count, columns_, q, columns_, rows, columns_, scores, score_stride);
  }
  // sums [m, columns] += weights [m, weight_stride] times the rows.
  void sums(std::int64_t m, const T* weights, std::int64_t weight_stride, std::int64_t offset,
            std::int64_t count, T* sums) const {
    if constexpr (std::is_same_v<T, float>) {
      if (kernels_ != nullptr) {
        return kernels_->sums(m, columns_, count, weights, weight_stride, bytes(offset),
                              row_bytes(), sums);
      }
    }
    skinny().rows(m, columns_, count, weights, weight_stride, widened(offset, count), columns_,
                  sums, columns_);
  }

 private:
  static const auto& skinny() {
    if constexpr (std::is_same_v<T, float>) {
      return cpu_skinny().f32;
    } else {
      return cpu_skinny().f64;
    }
  }
  const std::byte* bytes(std::int64_t offset) const {
    return reinterpret_cast<const std::byte*>(cache_.at(offset));
  }
  std::int64_t row_bytes() const { return cache_.stride(0) * size_of(cache_.dtype()); }
  const T* widened(std::int64_t offset, std::int64_t count) const {
    T* const copy = scratch<T>(2, count * columns_);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = offset + i * cache_.stride(0);
      if (format_ != 0) {
        decode_cache_row(format_, bytes(at), columns_, copy + i * columns_);
      } else {
        load_cache_row(cache_.dtype(), cache_.at(at), cache_.stride(2), columns_,
                       copy + i * columns_);
      }
    }
    return copy;
  }

  const Operand& cache_;
  paged::CacheFormat format_;
  std::int64_t columns_;
  const CacheRowKernels* kernels_ = nullptr;
};

// The lines of a sequence of few rows: `count` for each key head. Those of a piece lie head by
// head, pieces one after the other, from `first_line` on.
struct PagedLines {
  const PagedSequence* sequence;
  std::int64_t count;
  std::int64_t first_piece, pieces;
  std::int64_t first_line;
};

// A piece of the keys for some key heads, which read what lies side by side.
struct PagedPiece {
  std::int64_t piece, first_head, heads;
};

// Keys of a piece that lie one after the other; slot below 0: hidden.
struct PagedBlock {
  std::int64_t begin, count, slot;
};

// Rows of a block, a power of two: two blocks, of which one is fetched while the other is worked
// on, stay in the first-level cache.
inline std::int64_t paged_block_rows(const Operand& cache, const PagedPiece& piece) {
  constexpr std::int64_t kBlockBytes = 16 * 1024, kLeast = 4, kMost = 16;
  const std::int64_t bytes = piece.heads * cache.shape()[2] * size_of(cache.dtype());
  std::int64_t rows = kMost;
  while (rows > kLeast && rows * bytes > kBlockBytes) rows /= 2;
  return rows;
}

// Asks for part `part` of `parts` of what a block's rows hold for some heads, which dense caches
// have side by side. Processors do not foresee that by themselves: a row of one head is short, and
// the next one far away. Inlined by force: g++ takes what does nothing but prefetch for a function
// without effects, and drops the call.
__attribute__((always_inline)) inline void fetch_block(const Operand& cache,
                                                       const PagedBlock& block,
                                                       const PagedPiece& piece, std::int64_t part) {
  if (block.slot < 0) return;
  const std::int64_t first = block.count * part / piece.heads;
  const std::int64_t end = block.count * (part + 1) / piece.heads;
  const std::int64_t bytes = piece.heads * cache.shape()[2] * size_of(cache.dtype());
  for (std::int64_t i = first; i < end; ++i) {
    const Address row = cache.at(PagedArgs::at(cache, block.slot + i, piece.first_head));
    for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
  }
}

// Calls run(block, part, offset of its rows) for each block, and within it for each head.
template <class Run>
void with_blocks(const Operand& cache, const std::vector<PagedBlock>& blocks,
                 const PagedPiece& piece, const Run& run) {
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const PagedBlock& block = blocks[b];
    for (std::int64_t part = 0; part < piece.heads; ++part) {
      if (b + 1 < blocks.size()) fetch_block(cache, blocks[b + 1], piece, part);
      if (block.slot < 0) continue;
      run(block, part, PagedArgs::at(cache, block.slot, piece.first_head + part));
    }
  }
}

// `running` and `result` [lines, dv], not yet divided, are those of the piece's heads.
template <class T>
void attend_piece(const PagedArgs& a, const PagedLines& lines, const PagedPiece& piece,
                  Running<T>* running, T* result) {
  const RowMath<T>& math = row_math<T>();
  const PagedSequence& s = *lines.sequence;
  const std::int64_t count = lines.count, all = piece.heads * count, group = a.group();
  const std::int64_t d = a.d, dv = a.dv;
  std::fill_n(running, all, Running<T>{});
  std::fill_n(result, all * dv, T(0));
  const std::int64_t key = std::max(piece.piece * kPagedPieceKeys, a.hidden(s, 0));
  const std::int64_t end = std::min((piece.piece + 1) * kPagedPieceKeys, a.visible(s, s.count - 1));
  const std::int64_t width = end - key;
  if (width <= 0) return;
  bool misses = false;
  std::vector<PagedBlock> key_blocks, value_blocks;
  const auto cut = [](std::int64_t most, std::int64_t begin, std::int64_t n, std::int64_t slot,
                      std::vector<PagedBlock>& blocks) {
    for (std::int64_t i = 0; i < n; i += most) {
      blocks.push_back({begin + i, std::min(most, n - i), slot < 0 ? slot : slot + i});
    }
  };
  const std::int64_t key_rows = paged_block_rows(a.keys, piece);
  const std::int64_t value_rows = paged_block_rows(a.values, piece);
  a.for_runs(s, key, end, [&](std::int64_t begin, std::int64_t n, std::int64_t slot) {
    misses |= slot < 0;
    cut(key_rows, begin - key, n, slot, key_blocks);
    cut(value_rows, begin - key, n, slot, value_blocks);
  });
  T* const q = scratch<T>(0, all * d);
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t at = a.q_at(s, piece.first_head + i / count, i % count);
    load_row(a.q.dtype(), a.q.at(at), a.q.stride(2), d, q + i * d);
    math.scale(q + i * d, static_cast<T>(a.scale), q + i * d, d, false);
  }
  T* const scores = scratch<T>(1, all * width);
  std::fill_n(scores, all * width, T(0));
  const CacheReader<T> keys(a.keys, a.key_format, d);
  with_blocks(a.keys, key_blocks, piece,
              [&](const PagedBlock& block, std::int64_t head, std::int64_t offset) {
                keys.dots(count, q + head * count * d, offset, block.count,
                          scores + head * count * width + block.begin, width);
              });
  for (std::int64_t part = 0; part < piece.heads; ++part) {
    fetch_block(a.values, value_blocks[0], piece, part);
  }
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t row = i % count / group;
    const std::int64_t from = std::clamp<std::int64_t>(a.hidden(s, row) - key, 0, width);
    const std::int64_t to = std::clamp<std::int64_t>(a.visible(s, row) - key, from, width);
    T* const line = scores + i * width;
    soften(a, line + from, to - from);
    if (misses) hide_missing(a, s, key + from, key + to, line + from);
    running[i].update(math, line + from, to - from);
    std::fill(line, line + from, T(0));
    std::fill(line + to, line + width, T(0));
  }
  const CacheReader<T> values(a.values, a.value_format, dv);
  with_blocks(a.values, value_blocks, piece,
              [&](const PagedBlock& block, std::int64_t head, std::int64_t offset) {
                values.sums(count, scores + head * count * width + block.begin, width, offset,
                            block.count, result + head * count * dv);
              });
}

// Adds the pieces of line `i` of key head `head` up, in order. `running` and `results` are those of
// all pieces.
template <class T>
void combine_pieces(const PagedArgs& a, const Operand& output, const PagedLines& lines,
                    std::int64_t head, std::int64_t i, const Running<T>* running,
                    const T* results) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t dv = a.dv;
  Running<T> all = Running<T>::of_sink(a.sink(head * a.group() + i % a.group()));
  T* const sum = scratch<T>(0, dv);
  std::fill_n(sum, dv, T(0));
  for (std::int64_t p = 0; p < lines.pieces; ++p) {
    const std::int64_t line = (p * a.kv_heads + head) * lines.count + i;
    all.join(math, running[line], results + line * dv, sum, dv);
  }
  math.scale(sum, all.inverse(), sum, dv, false);
  store_row(output.dtype(), sum, dv, output.at(a.out_at(*lines.sequence, head, i)));
}

}  // namespace hearth::cpu
