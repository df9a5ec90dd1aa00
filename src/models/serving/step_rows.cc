#include "models/serving/step_rows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hearth::models {

std::vector<std::int64_t> rows_of_step(std::span<const std::int64_t> pending, std::int64_t budget) {
  std::vector<std::int64_t> rows(pending.size());
  std::vector<std::size_t> prompts;  // those with the fewest rows first
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i] == 1) {
      rows[i] = 1;
      --budget;
    } else {
      prompts.push_back(i);
    }
  }
  if (prompts.empty()) return rows;
  budget = std::max<std::int64_t>(budget, 1);
  const std::size_t first = prompts.front();
  rows[first] = std::clamp<std::int64_t>(budget / 4, 1, pending[first]);
  budget -= rows[first];
  std::ranges::sort(prompts, {}, [&](std::size_t i) { return std::pair(pending[i] - rows[i], i); });
  for (const std::size_t i : prompts) {
    const std::int64_t more = std::min(budget, pending[i] - rows[i]);
    rows[i] += more;
    budget -= more;
  }
  return rows;
}

std::int64_t BlockCuts::rows(std::int64_t row, std::int64_t wanted) const {
  if (block == 1) return wanted;
  const std::int64_t end = in_blocks();
  if (row >= end) return std::min(wanted, block - 1);
  if (row % block != 0) return std::min(wanted, block - row % block);
  if (row + wanted >= end) return std::min(wanted, end - row + block - 1);
  return std::max(block, wanted / block * block);
}

std::int64_t SavePoints::next(std::int64_t length) const {
  do {
    length = next_uncut(length);
  } while (length < prompt && !cuts.may_cut_at(length));
  return length;
}

std::int64_t SavePoints::next_uncut(std::int64_t length) const {
  const std::int64_t last = (prompt - 1) / page_size * page_size;
  if (length >= last) return prompt;
  return std::min(last, (length / save_rows + 1) * save_rows);
}

bool SavePoints::has(std::int64_t length) const {
  if (length == 0 || length >= prompt || !cuts.may_cut_at(length)) return false;
  return length % save_rows == 0 || length == (prompt - 1) / page_size * page_size;
}

}  // namespace hearth::models
