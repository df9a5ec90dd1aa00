// paged_attention on the CPU: operands, and where the keys of a sequence lie.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "devices/cpu/ops/attention/products.h"
#include "ops/attention/paged.h"

namespace hearth::cpu {

// The rows of one sequence and its keys.
struct PagedSequence {
  std::int64_t item;          // its row of pages
  std::int64_t first, count;  // of its rows in q
  std::int64_t length;        // keys, none of which is read unless a row sees it

  std::int64_t position(std::int64_t row) const { return length - count + row; }
};

// A row of codes as `n` floats.
void decode_cache_row(paged::CacheFormat format, const std::byte* codes, std::int64_t n, float* to);
void decode_cache_row(paged::CacheFormat format, const std::byte* codes, std::int64_t n,
                      double* to);

struct PagedArgs {
  Operand q, keys, values, pages, sinks;  // sinks with null data where absent
  paged::CacheFormat key_format, value_format;
  std::int64_t rows, heads, kv_heads, d, dv;
  std::int64_t page_size, page_count;
  double scale, softcap;
  std::int64_t window;                   // 0: none
  std::vector<PagedSequence> sequences;  // those with rows, in order

  std::int64_t group() const { return heads / kv_heads; }
  // Row `row` of a sequence sees keys from hidden() to visible(), if that is more; both rise from
  // row to row.
  std::int64_t visible(const PagedSequence& s, std::int64_t row) const {
    return std::max<std::int64_t>(s.position(row) + 1, 0);
  }
  std::int64_t hidden(const PagedSequence& s, std::int64_t row) const {
    return window > 0 ? std::max<std::int64_t>(s.position(row) + 1 - window, 0) : 0;
  }
  // Where the head of line `line` of a sequence's rows lies: lines are the heads of a group, row by
  // row.
  std::int64_t q_at(const PagedSequence& s, std::int64_t kv_head, std::int64_t line) const {
    return (s.first + line / group()) * q.stride(0) +
           (kv_head * group() + line % group()) * q.stride(1);
  }
  std::int64_t out_at(const PagedSequence& s, std::int64_t kv_head, std::int64_t line) const {
    return ((s.first + line / group()) * heads + kv_head * group() + line % group()) * dv;
  }
  // Where the key or value of a slot lies.
  static std::int64_t at(const Operand& cache, std::int64_t slot, std::int64_t kv_head) {
    return slot * cache.stride(0) + kv_head * cache.stride(1);
  }
  // The slot of the first key of page `page` of a sequence; below 0 where there is no such page.
  std::int64_t page_slot(const PagedSequence& s, std::int64_t page) const {
    const std::int64_t at = index_at(pages, s.item * pages.stride(0) + page * pages.stride(1));
    return at < 0 || at >= page_count ? -1 : at * page_size;
  }
  // Calls run(begin, count, slot) for keys [key, end) in pieces that lie one after the other; slot
  // is below 0 where they are hidden.
  template <class Run>
  void for_runs(const PagedSequence& s, std::int64_t key, std::int64_t end, const Run& run) const {
    while (key < end) {
      const std::int64_t page = key / page_size, within = key - page * page_size;
      const std::int64_t slot = page_slot(s, page);
      std::int64_t stop = (page + 1) * page_size;
      for (std::int64_t next = page + 1; stop < end; ++next, stop += page_size) {
        const std::int64_t after = page_slot(s, next);
        if (slot < 0 ? after >= 0 : after != slot + (next - page) * page_size) break;
      }
      const std::int64_t count = std::min(stop, end) - key;
      run(key, count, slot < 0 ? -1 : slot + within);
      key += count;
    }
  }
  double sink(std::int64_t head) const {
    if (sinks.data == nullptr) return -std::numeric_limits<double>::infinity();
    double score = 0;
    load_cache_row(sinks.dtype(), sinks.at(head * sinks.stride(0)), 1, 1, &score);
    return score;
  }
};

template <class T>
void soften(const PagedArgs& a, T* scores, std::int64_t n) {
  if (a.softcap <= 0) return;
  const T cap = static_cast<T>(a.softcap);
  for (std::int64_t i = 0; i < n; ++i) scores[i] = cap * std::tanh(scores[i] / cap);
}

// Scores of keys [key, end) that lie in no page become -inf.
template <class T>
void hide_missing(const PagedArgs& a, const PagedSequence& s, std::int64_t key, std::int64_t end,
                  T* scores) {
  a.for_runs(s, key, end, [&](std::int64_t begin, std::int64_t count, std::int64_t slot) {
    if (slot >= 0) return;
    std::fill_n(scores + (begin - key), count, -std::numeric_limits<T>::infinity());
  });
}

void launch_paged_attention(const Launch& launch);

}  // namespace hearth::cpu
