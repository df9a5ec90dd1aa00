#include "core/closest.h"

#include <algorithm>
#include <vector>

namespace hearth {
namespace {

// The optimal string alignment distance, row by row.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> two_before(to.size() + 1), before(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    two_before.swap(before);
    before.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t changed = before[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], two_before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> words) {
  std::string best;
  std::size_t fewest = std::max<std::size_t>(word.size() / 4, 1) + 1;
  for (const std::string& candidate : words) {
    const std::size_t count = edits(word, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

}  // namespace hearth
