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

// A cache as products read it: as it is, or the rows of a block of codes decoded into `copy`
// [kPagedBlockKeys, columns], one after the other.
template <class T>
class ChunkCache {
 public:
  ChunkCache(const Operand& cache, paged::CacheFormat format, std::int64_t columns, T* copy)
      : cache_(cache), format_(format), columns_(columns), copy_(copy), decoded_(cache) {
    if (format == 0) return;
    spec_.dtype = dtype_of_v<T>;
    spec_.shape = {kPagedBlockKeys, 1, columns};
    spec_.strides = contiguous_strides(spec_.shape);
    decoded_ = {&spec_, reinterpret_cast<Address>(copy)};
  }
  ChunkCache(const ChunkCache&) = delete;
  ChunkCache& operator=(const ChunkCache&) = delete;

  const Operand& operand() const { return decoded_; }
  // The offset in operand() of a row that lies at `offset`, as row `i` of the block.
  std::int64_t place(std::int64_t offset, std::int64_t i) const {
    if (format_ == 0) return offset;
    const auto* const codes = reinterpret_cast<const std::byte*>(cache_.at(offset));
    decode_cache_row(format_, codes, columns_, copy_ + i * columns_);
    return i * columns_;
  }

 private:
  const Operand& cache_;
  paged::CacheFormat format_;
  std::int64_t columns_;
  T* copy_;
  TensorSpec spec_{};
  Operand decoded_;
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
  const auto copy_of = [](paged::CacheFormat format, ScratchSlot slot, std::int64_t columns) {
    return format == 0 ? nullptr : scratch<T>(slot, kPagedBlockKeys * columns);
  };
  const ChunkCache<T> keys(a.keys, a.key_format, a.d, copy_of(a.key_format, 7, a.d));
  const ChunkCache<T> values(a.values, a.value_format, dv, copy_of(a.value_format, 8, dv));
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
            if (slot < 0) {
              offsets[at] = value_offsets[at] = kNoRow;
              continue;
            }
            offsets[at] = keys.place(PagedArgs::at(a.keys, slot + i, chunk.kv_head), at);
            value_offsets[at] = values.place(PagedArgs::at(a.values, slot + i, chunk.kv_head), at);
          }
        };
        a.for_runs(s, key, key + width, place);
        products.set_keys({&keys.operand(), offsets}, {&values.operand(), value_offsets}, width,
                          kPagedBlockKeys);
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
