// How the tables of unicode_tables.cc are searched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth::models::tokens {

// The value of the run that `code` is in; runs are first << 8 | value. 0 before the first.
inline std::uint32_t value_of_run(std::span<const std::uint32_t> runs, std::uint32_t code) {
  const auto after = std::upper_bound(runs.begin(), runs.end(), code << 8 | 0xff);
  return after == runs.begin() ? 0 : *(after - 1) & 0xff;
}

// The first of [0, count) for which `holds`, as it does for all behind it; `count` where none is.
template <class Holds>
std::size_t first_where(std::size_t count, Holds holds) {
  std::size_t low = 0, high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace hearth::models::tokens
