// Stable sorts of entries by unsigned keys inside them: radix sort from the lowest digit on, and
// merges of short runs for few, whose entries are each compared with each other.
//
// All digits are counted in one reading; a digit that all keys share takes no pass. A pass is bound
// by its scattered stores.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/rows/rows.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {

struct IndexedKey {
  std::uint64_t key, index;
};

// Where the key is: `count` bits of an entry from bit `low` on; all of an IndexedKey's key.
struct KeyBits {
  int low, count;
};

namespace radix {

constexpr int kShortDigit = 8, kLongDigit = 11;
// Long digits pay between these numbers of entries: before, counters take longer than passes;
// after, stores to as many places miss the caches.
constexpr std::int64_t kMinForLongDigits = 16384, kMaxForLongDigits = 131072;
constexpr std::int64_t kRankedEntries = 16, kMergedEntries = 48;
constexpr int kMaxPasses = 64 / kShortDigit;
// What the threads that share a sort take at a time, at least, and how many such parts there are.
constexpr std::int64_t kSharedEntries = 65536, kMaxParts = 64;
constexpr ScratchSlot kCountSlot = 15;

template <class E>
auto key_word(const E& entry) {
  if constexpr (std::is_same_v<E, IndexedKey>) {
    return entry.key;
  } else {
    return entry;
  }
}

// A digit of entries. By value, so that nothing that is stored may change it.
struct Digit {
  template <class E>
  std::size_t of(const E& entry) const {
    return static_cast<std::size_t>(key_word(entry) >> shift) & mask;
  }
  int shift;
  std::size_t mask;
};

struct Digits {
  Digits(KeyBits keys, std::int64_t entries) : low(keys.low) {
    const bool has_long = entries >= kMinForLongDigits && entries < kMaxForLongDigits;
    const int most = has_long ? kLongDigit : kShortDigit;
    passes = ceil_div(keys.count, most);
    width = ceil_div(keys.count, passes);
  }
  std::int64_t bins() const { return std::int64_t{1} << width; }
  Digit digit(int pass) const { return {low + pass * width, static_cast<std::size_t>(bins() - 1)}; }

  int low, passes, width;
};

// Sorts up to kRankedEntries of them into `to`, without branches.
template <class E>
void rank(const E* entries, std::int64_t n, int low, E* to) {
  std::int64_t ranks[kRankedEntries];
  for (std::int64_t i = 0; i < n; ++i) {
    const auto key = key_word(entries[i]) >> low;
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < i; ++j) {
      const std::int64_t first = (key_word(entries[j]) >> low) <= key ? 1 : 0;
      before += first;
      ranks[j] += 1 - first;
    }
    ranks[i] = before;
  }
  for (std::int64_t i = 0; i < n; ++i) to[ranks[i]] = entries[i];
}

// Merges two runs, of which the first ends at `middle`.
template <class E>
void merge(const E* from, std::int64_t first, std::int64_t middle, std::int64_t last, int low,
           E* to) {
  std::int64_t a = first, b = middle, at = first;
  while (a < middle && b < last) {
    // In arithmetic: a branch would be guessed wrong half of the time.
    const std::int64_t right = (key_word(from[b]) >> low) < (key_word(from[a]) >> low) ? 1 : 0;
    to[at++] = from[a + (b - a) * right];
    b += right;
    a += 1 - right;
  }
  to = std::copy(from + a, from + middle, to + at);
  std::copy(from + b, from + last, to);
}

// Ranks runs of kRankedEntries and merges them. Returns where the entries are then.
template <class E>
E* merge_sort(E* entries, E* other, std::int64_t n, int low) {
  for (std::int64_t first = 0; first < n; first += kRankedEntries) {
    rank(entries + first, std::min(kRankedEntries, n - first), low, other + first);
  }
  for (std::int64_t size = kRankedEntries; size < n; size *= 2) {
    std::swap(entries, other);
    for (std::int64_t first = 0; first < n; first += 2 * size) {
      const std::int64_t middle = std::min(n, first + size);
      merge(entries, first, middle, std::min(n, middle + size), low, other);
    }
  }
  return other;
}

template <int kPasses, class E, class Count>
void count_digits(const E* entries, std::int64_t n, Digits digits, Count* counts) {
  const std::size_t bins = static_cast<std::size_t>(digits.bins());
  const Digit lowest = digits.digit(0);
  for (std::int64_t i = 0; i < n; ++i) {
    auto rest = key_word(entries[i]) >> lowest.shift;
#pragma GCC unroll 8
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      ++counts[pass * bins + (static_cast<std::size_t>(rest) & lowest.mask)];
      rest >>= digits.width;
    }
  }
}

template <class E, class Count>
void place(const E* entries, std::int64_t first, std::int64_t last, Digit digit, Count* places,
           E* to) {
  for (std::int64_t i = first; i < last; ++i) {
    const E entry = entries[i];
    to[places[digit.of(entry)]++] = entry;
  }
}

template <class E, class Count>
void count_all(const E* entries, std::int64_t n, Digits digits, Count* counts) {
  using Counter = void (*)(const E*, std::int64_t, Digits, Count*);
  constexpr auto kCounters = []<int... kPasses>(std::integer_sequence<int, kPasses...>) {
    return std::array<Counter, sizeof...(kPasses)>{count_digits<kPasses + 1, E, Count>...};
  }(std::make_integer_sequence<int, kMaxPasses>());
  kCounters[static_cast<std::size_t>(digits.passes) - 1](entries, n, digits, counts);
}

}  // namespace radix

// Sorts n entries, by the calling thread, in `entries` or `other`, which has room for as many.
// Returns where they are then. Count holds n.
template <class Count, class E>
E* radix_sort(E* entries, E* other, std::int64_t n, KeyBits keys) {
  if (n <= radix::kMergedEntries) return radix::merge_sort(entries, other, n, keys.low);
  const radix::Digits digits(keys, n);
  const std::int64_t bins = digits.bins();
  Count* const counts = scratch<Count>(radix::kCountSlot, digits.passes * bins);
  std::fill_n(counts, digits.passes * bins, Count{0});
  radix::count_all(entries, n, digits, counts);
  for (int pass = 0; pass < digits.passes; ++pass) {
    Count* const places = counts + pass * bins;
    const radix::Digit digit = digits.digit(pass);
    if (places[digit.of(entries[0])] == static_cast<Count>(n)) continue;
    Count before = 0;
    for (std::int64_t bin = 0; bin < bins; ++bin) before += std::exchange(places[bin], before);
    radix::place(entries, 0, n, digit, places, other);
    std::swap(entries, other);
  }
  return entries;
}

// The same, by all threads.
template <class Count, class E>
E* shared_radix_sort(E* entries, E* other, std::int64_t n, KeyBits keys) {
  WorkerPool& pool = WorkerPool::global();
  if (pool.threads() == 1 || n < 2 * radix::kSharedEntries) {
    return radix_sort<Count>(entries, other, n, keys);
  }
  const radix::Digits digits(keys, n);
  const std::int64_t bins = digits.bins();
  const std::int64_t size =
      std::max(radix::kSharedEntries, (n + radix::kMaxParts - 1) / radix::kMaxParts);
  const std::int64_t parts = ceil_div(n, size);
  Count* const counts = scratch<Count>(radix::kCountSlot, parts * bins);
  for (int pass = 0; pass < digits.passes; ++pass) {
    const radix::Digit digit = digits.digit(pass);
    pool.parallel_for(parts, [&](std::int64_t part) {
      Count* const own = counts + part * bins;
      std::fill_n(own, bins, Count{0});
      const std::int64_t last = std::min(n, (part + 1) * size);
      for (std::int64_t i = part * size; i < last; ++i) ++own[digit.of(entries[i])];
    });
    Count before = 0;
    bool trivial = false;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const Count first = before;
      for (std::int64_t part = 0; part < parts; ++part) {
        before += std::exchange(counts[part * bins + bin], before);
      }
      trivial = trivial || before - first == static_cast<Count>(n);
    }
    if (trivial) continue;
    pool.parallel_for(parts, [&](std::int64_t part) {
      const std::int64_t last = std::min(n, (part + 1) * size);
      radix::place(entries, part * size, last, digit, counts + part * bins, other);
    });
    std::swap(entries, other);
  }
  return entries;
}

}  // namespace hearth::cpu
