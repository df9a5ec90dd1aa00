// paged_attention of many rows: a chunk of lines of a sequence, over blocks of keys.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "devices/cpu/ops/attention/paged.h"
#include "devices/cpu/ops/attention/products.h"
#include "devices/cpu/ops/attention/running.h"

namespace hearth::cpu {

inline constexpr std::int64_t kPagedBlockKeys = 512;
inline constexpr std::int64_t kPagedChunkLines = 512;

// A chunk of lines of a sequence of many rows.
struct PagedChunk {
  const PagedSequence* sequence;
  std::int64_t kv_head, first, count;
};

template <class Products>
void attend_paged_chunk(const PagedArgs& a, const Operand& output, const PagedChunk& chunk) {
  using T = typename Products::T;
  constexpr std::int64_t kBlockRows = Products::kBlockRows;
  const RowMath<T>& math = row_math<T>();
  const PagedSequence& s = *chunk.sequence;
  const std::int64_t dv = a.dv, group = a.group(), first = chunk.first, count = chunk.count;
  const auto row_of = [&](std::int64_t line) { return (first + line) / group; };
  Products products({a.d, dv, a.scale}, a.q, count,
                    [&](std::int64_t line) { return a.q_at(s, chunk.kv_head, first + line); });
  T* const scores = scratch<T>(3, kBlockRows * kPagedBlockKeys);
  T* const result = scratch<T>(4, count * dv);
  std::int64_t* const offsets = scratch<std::int64_t>(0, 2 * kPagedBlockKeys);
  std::int64_t* const value_offsets = offsets + kPagedBlockKeys;
  Running<T> running[kPagedChunkLines];
  for (std::int64_t i = 0; i < count; ++i) {
    running[i] = Running<T>::of_sink(a.sink(chunk.kv_head * group + (first + i) % group));
  }
  bool started[kPagedChunkLines / kBlockRows + 1] =
      {};  // of each block: its rows of `result` are sums
  const std::int64_t end = a.visible(s, row_of(count - 1));
  for (std::int64_t key = a.hidden(s, row_of(0)); key < end;) {
    const std::int64_t width = std::min(round_up(key + 1, kPagedBlockKeys), end) - key;
    bool has_keys = false, misses = false;
    for (std::int64_t block = 0; block < count; block += kBlockRows) {
      const std::int64_t rows = std::min(kBlockRows, count - block);
      const std::int64_t seen = std::min(width, a.visible(s, row_of(block + rows - 1)) - key);
      if (seen <= 0 || a.hidden(s, row_of(block)) >= key + seen) continue;
      if (!has_keys) {
        const auto place = [&](std::int64_t begin, std::int64_t n, std::int64_t slot) {
          misses |= slot < 0;
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t at = begin - key + i;
            offsets[at] = slot < 0 ? kNoRow : PagedArgs::at(a.keys, slot + i, chunk.kv_head);
            value_offsets[at] =
                slot < 0 ? kNoRow : PagedArgs::at(a.values, slot + i, chunk.kv_head);
          }
        };
        a.for_runs(s, key, key + width, place);
        products.set_keys({&a.keys, offsets}, {&a.values, value_offsets}, width, kPagedBlockKeys);
        has_keys = true;
      }
      const bool older = started[block / kBlockRows];
      started[block / kBlockRows] = true;
      T* const sums = result + block * dv;
      const std::int64_t whole = products.whole(seen);
      products.scores(block, rows, whole, scores);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t row = row_of(block + r);
        const std::int64_t from = std::clamp<std::int64_t>(a.hidden(s, row) - key, 0, seen);
        const std::int64_t visible = std::clamp<std::int64_t>(a.visible(s, row) - key, from, seen);
        T* const line = scores + r * whole;
        products.scale(line + from, visible - from);
        soften(a, line + from, visible - from);
        if (misses) hide_missing(a, s, key + from, key + visible, line + from);
        const T shrink = running[block + r].update(math, line + from, visible - from);
        std::fill(line, line + from, T(0));
        std::fill(line + visible, line + seen, T(0));
        if (older && shrink != T(1)) math.scale(sums + r * dv, shrink, sums + r * dv, dv, false);
      }
      products.add_values(scores, rows, whole, seen, sums, older);
    }
    key += width;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    T* const row = result + i * dv;
    const bool sees = a.visible(s, row_of(i)) > a.hidden(s, row_of(i));
    if (!started[i / kBlockRows] || !sees) {
      std::fill_n(row, dv, T(0));
    } else {
      math.scale(row, running[i].inverse(), row, dv, false);
    }
    store_row(output.dtype(), row, dv, output.at(a.out_at(s, chunk.kv_head, first + i)));
  }
}

}  // namespace hearth::cpu
