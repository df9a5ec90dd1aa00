// How many rows of each text a step runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::models {

// Of texts in the order of arrival with `pending` rows each, all of them above 0: one row of those
// with one, beyond the budget if need be, and of `budget` what these leave to the others. Of that a
// quarter, and at least a row, goes to the first of them, so that nobody waits for ever, and the
// rest to those with the fewest rows, so that answers begin as early as they can; what is left
// behind these have none.
std::vector<std::int64_t> rows_of_step(std::span<const std::int64_t> pending, std::int64_t budget);

// Where a prompt may be cut. A recurrence that runs whole blocks of rows at once rounds these
// otherwise than row by row, so what a text becomes would depend on the cuts: the whole blocks of
// its prompt run as such, all rows behind them one by one, in pieces of less than a block.
struct BlockCuts {
  std::int64_t prompt = 0;
  std::int64_t block = 1;  // 1: anywhere

  std::int64_t in_blocks() const { return prompt / block * block; }
  bool may_cut_at(std::int64_t row) const { return row % block == 0 || row >= in_blocks(); }
  // How many rows from `row` on may run at once, about `wanted`: more only to fill a block.
  std::int64_t rows(std::int64_t row, std::int64_t wanted) const;
};

// Where states are kept: every `save_rows` rows of a prompt, and behind its last full page that
// leaves a row to run.
struct SavePoints {
  std::int64_t prompt = 0;
  std::int64_t page_size = 0;
  std::int64_t save_rows = 0;  // a multiple of page_size
  BlockCuts cuts = {};

  // The next one behind row `length`; the prompt's end where there is none.
  std::int64_t next(std::int64_t length) const;
  bool has(std::int64_t length) const;

 private:
  std::int64_t next_uncut(std::int64_t length) const;
};

}  // namespace hearth::models
