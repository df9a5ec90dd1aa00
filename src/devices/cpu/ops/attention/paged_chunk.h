// paged_attention of many rows: a chunk of lines of a sequence, over pieces of keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/ops/attention/paged.h"
#include "devices/cpu/ops/attention/paged_piece.h"
#include "devices/cpu/ops/attention/running.h"

namespace hearth::cpu {

inline constexpr std::int64_t kPagedChunkLines = 512;
inline constexpr std::int64_t kPagedBlockLines = 48;  // a multiple of gemm's register rows

// A chunk of lines of a sequence of many rows.
struct PagedChunk {
  const PagedSequence* sequence;
  std::int64_t kv_head, first, count;
};

// Values [count, a.dv] of keys from `key` on, one after the other; zeros where they lie in no page.
template <class T>
void read_values(const PagedArgs& a, const PagedChunk& chunk, std::int64_t key, std::int64_t count,
                 T* to) {
  const std::int64_t dv = a.dv;
  a.for_runs(*chunk.sequence, key, key + count,
             [&](std::int64_t begin, std::int64_t n, std::int64_t slot) {
               T* row = to + (begin - key) * dv;
               for (std::int64_t i = 0; i < n; ++i, row += dv) {
                 if (slot < 0) {
                   std::fill_n(row, dv, T(0));
                   continue;
                 }
                 const Address from = a.values.at(PagedArgs::at(a.values, slot + i, chunk.kv_head));
                 if (a.value_format != 0) {
                   decode_cache_row(a.value_format, reinterpret_cast<const std::byte*>(from), dv,
                                    row);
                 } else {
                   load_cache_row(a.values.dtype(), from, a.values.stride(2), dv, row);
                 }
               }
             });
}

// sums [m, n] = weights [m, count] * values, each a chain over all of `count`, as of few rows.
template <class T>
void sum_values(std::int64_t m, std::int64_t n, std::int64_t count, const T* weights,
                const T* values, T* sums) {
  if constexpr (std::is_same_v<T, double>) {  // of which a block of gemm's is shorter
    std::fill_n(sums, m * n, T(0));
    cpu_skinny().f64.rows(m, n, count, weights, kPagedPieceKeys, values, n, sums, n);
    return;
  }
  static_assert(kPagedPieceKeys * 4 <= GemmBlocking().depth_bytes);
  GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = count;
  args.a = weights;
  args.a_row_stride = kPagedPieceKeys;
  args.b = values;
  args.b_row_stride = n;
  args.c = sums;
  args.c_row_stride = n;
  args.dtype = args.c_dtype = dtype_of_v<T>;
  args.threads = 1;
  gemm(args);
}

// Adds up in the order of few rows: pieces at the same places, each summed up alone and joined to
// those before it.
template <class T>
void attend_paged_chunk(const PagedArgs& a, const Operand& output, const PagedChunk& chunk) {
  const RowMath<T>& math = row_math<T>();
  const PagedSequence& s = *chunk.sequence;
  const std::int64_t d = a.d, dv = a.dv, group = a.group();
  const std::int64_t first = chunk.first, count = chunk.count;
  const auto row_of = [&](std::int64_t line) { return (first + line) / group; };
  T* const q = scratch<T>(0, count * d);
  T* const values = scratch<T>(1, kPagedPieceKeys * dv);
  T* const scores = scratch<T>(3, kPagedBlockLines * kPagedPieceKeys);
  T* const part = scratch<T>(4, kPagedBlockLines * dv);
  T* const result = scratch<T>(5, count * dv);
  std::fill_n(result, count * dv, T(0));
  Running<T> running[kPagedChunkLines];
  for (std::int64_t i = 0; i < count; ++i) {
    load_row(a.q.dtype(), a.q.at(a.q_at(s, chunk.kv_head, first + i)), a.q.stride(2), d, q + i * d);
    math.scale(q + i * d, static_cast<T>(a.scale), q + i * d, d, false);
    running[i] = Running<T>::of_sink(a.sink(chunk.kv_head * group + (first + i) % group));
  }
  const CacheReader<T> keys(a.keys, a.key_format, d);
  const std::int64_t end = a.visible(s, row_of(count - 1));
  const std::int64_t begin = a.hidden(s, row_of(0)) / kPagedPieceKeys * kPagedPieceKeys;
  for (std::int64_t key = begin; key < end; key += kPagedPieceKeys) {
    const std::int64_t width = std::min(kPagedPieceKeys, end - key);
    bool has_values = false;
    for (std::int64_t block = 0; block < count; block += kPagedBlockLines) {
      const std::int64_t lines = std::min(kPagedBlockLines, count - block);
      const std::int64_t seen = std::min(width, a.visible(s, row_of(block + lines - 1)) - key);
      const std::int64_t unseen = std::max<std::int64_t>(a.hidden(s, row_of(block)) - key, 0);
      if (seen <= unseen) continue;
      if (!has_values) read_values(a, chunk, key, width, values);
      has_values = true;
      bool misses = false;
      a.for_runs(s, key + unseen, key + seen,
                 [&](std::int64_t at, std::int64_t n, std::int64_t slot) {
                   misses |= slot < 0;
                   if (slot < 0) return;
                   keys.dots(lines, q + block * d, PagedArgs::at(a.keys, slot, chunk.kv_head), n,
                             scores + (at - key), kPagedPieceKeys);
                 });
      Running<T> own[kPagedBlockLines];
      for (std::int64_t i = 0; i < lines; ++i) {
        const std::int64_t row = row_of(block + i);
        const std::int64_t from = std::clamp<std::int64_t>(a.hidden(s, row) - key, 0, seen);
        const std::int64_t to = std::clamp<std::int64_t>(a.visible(s, row) - key, from, seen);
        T* const line = scores + i * kPagedPieceKeys;
        soften(a, line + from, to - from);
        if (misses) hide_missing(a, s, key + from, key + to, line + from);
        own[i].update(math, line + from, to - from);
        std::fill(line, line + from, T(0));
        std::fill(line + to, line + seen, T(0));
      }
      sum_values(lines, dv, seen, scores, values, part);
      for (std::int64_t i = 0; i < lines; ++i) {
        running[block + i].join(math, own[i], part + i * dv, result + (block + i) * dv, dv);
      }
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    T* const row = result + i * dv;
    math.scale(row, running[i].inverse(), row, dv, false);
    store_row(output.dtype(), row, dv, output.at(a.out_at(s, chunk.kv_head, first + i)));
  }
}

}  // namespace hearth::cpu
