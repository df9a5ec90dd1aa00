// paged_attention of few rows: a piece of the keys for all lines of a sequence, and the pieces'
// results added up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/ops/attention/paged.h"
#include "devices/cpu/ops/attention/running.h"

namespace hearth::cpu {

inline constexpr std::int64_t kPagedPieceKeys = 256;

// Calls run(kernels, rows, stride) for `count` rows of a cache, from one at `offset` on: in compute
// precision, or as they lie where kernels read that.
template <class T, class Run>
void with_cache_rows(const Operand& cache, std::int64_t offset, std::int64_t count,
                     const Run& run) {
  const std::int64_t n = cache.shape()[2], stride = cache.stride(0);
  const Address at = cache.at(offset);
  const CpuSkinny& kernels = cpu_skinny();
  if constexpr (std::is_same_v<T, float>) {
    if (cache.stride(2) == 1) {
      if (cache.dtype() == DType::f16) {
        return run(kernels.f16, reinterpret_cast<const float16*>(at), stride);
      }
      if (cache.dtype() == DType::bf16) {
        return run(kernels.bf16, reinterpret_cast<const bfloat16*>(at), stride);
      }
    }
  }
  const T* rows = reinterpret_cast<const T*>(at);
  std::int64_t step = stride;
  if (cache.stride(2) != 1 || cache.dtype() != dtype_of_v<T>) {
    T* const copy = scratch<T>(2, count * n);
    for (std::int64_t i = 0; i < count; ++i) {
      load_cache_row(cache.dtype(), cache.at(offset + i * stride), cache.stride(2), n,
                     copy + i * n);
    }
    rows = copy;
    step = n;
  }
  if constexpr (std::is_same_v<T, float>) {
    run(kernels.f32, rows, step);
  } else {
    run(kernels.f64, rows, step);
  }
}

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

// Keys of a piece that lie one after the other, at most kMost of them; slot below 0: hidden.
struct PagedBlock {
  static constexpr std::int64_t kMost = 16;
  std::int64_t begin, count, slot;
};

// Asks for part `part` of `parts` of what a block's rows hold for some heads, which dense caches
// have side by side. Processors do not foresee that by themselves: a row of one head is short, and
// the next one far away.
inline void fetch_block(const Operand& cache, const PagedBlock& block, const PagedPiece& piece,
                        std::int64_t part) {
  if (block.slot < 0) return;
  const std::int64_t first = block.count * part / piece.heads;
  const std::int64_t end = block.count * (part + 1) / piece.heads;
  const std::int64_t bytes = piece.heads * cache.shape()[2] * size_of(cache.dtype());
  for (std::int64_t i = first; i < end; ++i) {
    const Address row = cache.at(PagedArgs::at(cache, block.slot + i, piece.first_head));
    for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at, 0, 2);
  }
}

// Calls run(block, part, kernels, rows, stride) for each block, and within it for each head.
template <class T, class Run>
void with_blocks(const Operand& cache, const std::vector<PagedBlock>& blocks,
                 const PagedPiece& piece, const Run& run) {
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const PagedBlock& block = blocks[b];
    for (std::int64_t part = 0; part < piece.heads; ++part) {
      if (b + 1 < blocks.size()) fetch_block(cache, blocks[b + 1], piece, part);
      if (block.slot < 0) continue;
      const std::int64_t at = PagedArgs::at(cache, block.slot, piece.first_head + part);
      with_cache_rows<T>(cache, at, block.count,
                         [&](const auto& kernels, const auto* rows, std::int64_t stride) {
                           run(block, part, kernels, rows, stride);
                         });
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
  std::vector<PagedBlock> blocks;
  a.for_runs(s, key, end, [&](std::int64_t begin, std::int64_t n, std::int64_t slot) {
    misses |= slot < 0;
    for (std::int64_t i = 0; i < n; i += PagedBlock::kMost) {
      blocks.push_back(
          {begin - key + i, std::min(PagedBlock::kMost, n - i), slot < 0 ? slot : slot + i});
    }
  });
  T* const q = scratch<T>(0, all * d);
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t at = a.q_at(s, piece.first_head + i / count, i % count);
    load_row(a.q.dtype(), a.q.at(at), a.q.stride(2), d, q + i * d);
    math.scale(q + i * d, static_cast<T>(a.scale), q + i * d, d, false);
  }
  T* const scores = scratch<T>(1, all * width);
  std::fill_n(scores, all * width, T(0));
  with_blocks<T>(a.keys, blocks, piece,
                 [&](const PagedBlock& block, std::int64_t head, const auto& kernels,
                     const auto* rows, std::int64_t stride) {
                   kernels.cols(count, block.count, d, q + head * count * d, d, rows, stride,
                                scores + head * count * width + block.begin, width);
                 });
  for (std::int64_t part = 0; part < piece.heads; ++part) {
    fetch_block(a.values, blocks[0], piece, part);
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
  with_blocks<T>(a.values, blocks, piece,
                 [&](const PagedBlock& block, std::int64_t head, const auto& kernels,
                     const auto* rows, std::int64_t stride) {
                   kernels.rows(count, dv, block.count, scores + head * count * width + block.begin,
                                width, rows, stride, result + head * count * dv, dv);
                 });
}

// Adds the pieces of line `i` of key head `head` up, in order. `running` and `results` are those of
// all pieces.
template <class T>
void combine_pieces(const PagedArgs& a, const Operand& output, const PagedLines& lines,
                    std::int64_t head, std::int64_t i, const Running<T>* running,
                    const T* results) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  const RowMath<T>& math = row_math<T>();
  const std::int64_t dv = a.dv;
  const Running<T> sink = Running<T>::of_sink(a.sink(head * a.group() + i % a.group()));
  const auto line = [&](std::int64_t p) { return (p * a.kv_heads + head) * lines.count + i; };
  T max = sink.max, total = 0;
  for (std::int64_t p = 0; p < lines.pieces; ++p) max = std::max(max, running[line(p)].max);
  if (sink.sum != T(0)) total = std::exp(sink.max - max);
  T* const sum = scratch<T>(0, dv);
  std::fill_n(sum, dv, T(0));
  for (std::int64_t p = 0; p < lines.pieces; ++p) {
    const Running<T>& part = running[line(p)];
    if (part.sum == T(0)) continue;
    const T share = part.max == kNone ? T(1) : std::exp(part.max - max);
    total += part.sum * share;
    math.axpy(sum, share, results + line(p) * dv, dv);
  }
  math.scale(sum, Running<T>{max, total}.inverse(), sum, dv, false);
  store_row(output.dtype(), sum, dv, output.at(a.out_at(*lines.sequence, head, i)));
}

}  // namespace hearth::cpu
