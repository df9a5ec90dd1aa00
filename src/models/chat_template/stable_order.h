// Sorting by comparisons that may throw, and that need not agree with one another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace hearth::models::chat_template {

// The indices [0, count) in order; those of which neither `is_less` keep theirs. Terminates for any
// `is_less(i, j)`, which floats that are no numbers make inconsistent.
template <class Less>
std::vector<std::size_t> stable_order(std::size_t count, Less is_less) {
  std::vector<std::size_t> order(count), merged(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * width) {
      std::size_t left = begin, right = std::min(begin + width, count);
      const std::size_t middle = right, end = std::min(begin + 2 * width, count);
      for (std::size_t at = begin; at < end; ++at) {
        const bool takes_right =
            left == middle || (right < end && is_less(order[right], order[left]));
        merged[at] = takes_right ? order[right++] : order[left++];
      }
    }
    std::swap(order, merged);
  }
  return order;
}

}  // namespace hearth::models::chat_template
