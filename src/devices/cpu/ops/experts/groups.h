// Pairs of a row and an expert, those of one expert side by side; and the tasks of a product for
// each expert that has some.
#pragma once

#include <algorithm>
#include <cstdint>

#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// The extents of an op on x, what is multiplied by it, and experts [rows, used].
struct ExpertExtents {
  std::int64_t rows = 0, used = 0, expert_count = 0;
  bool own_rows = false;  // x has a row for each pair

  std::int64_t pairs() const { return rows * used; }
  std::int64_t given_rows() const { return own_rows ? pairs() : rows; }
  std::int64_t rows_of_line() const { return own_rows ? 1 : used; }  // pairs that share a row of x
};

// In memory of the caller: ExpertGroups::bytes().
class ExpertGroups {
 public:
  // A multiple of 64.
  static std::int64_t bytes(const ExpertExtents& extents);

  // Counts and sorts what `experts` i32 [rows, used] names; pairs stay in order.
  ExpertGroups(const ExpertExtents& extents, const Operand& experts, std::byte* memory);

  std::int64_t expert_count() const { return expert_count_; }
  // Where the pairs of an expert begin; of expert_count(), those that have none.
  std::int64_t first(std::int64_t expert) const { return firsts_[expert]; }
  std::int64_t count(std::int64_t expert) const { return firsts_[expert + 1] - firsts_[expert]; }
  // The number row * used + u of the i-th pair.
  std::int64_t pair(std::int64_t i) const { return pairs_[i]; }
  const std::int64_t* pairs(std::int64_t expert) const { return pairs_ + first(expert); }
  std::int64_t chosen() const { return chosen_; }  // experts that have pairs

  // Calls body(expert, part) for the parts of each chosen expert, parts_of(expert) of them, which
  // threads share out.
  template <class PartsOf, class Body>
  void for_parts(const PartsOf& parts_of, const Body& body) const {
    tasks_[0] = 0;
    for (std::int64_t e = 0; e < expert_count_; ++e) {
      tasks_[e + 1] = tasks_[e] + (count(e) == 0 ? 0 : parts_of(e));
    }
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      std::int64_t e = std::upper_bound(tasks_, tasks_ + expert_count_ + 1, begin) - tasks_ - 1;
      for (std::int64_t task = begin; task < end; ++task) {
        while (task >= tasks_[e + 1]) ++e;
        body(e, task - tasks_[e]);
      }
    };
    const std::int64_t all = tasks_[expert_count_];
    if (all == 0) return;
    if (all == 1) return run(0, 1);
    WorkerPool::global().parallel_for_range(all, 1, run);
  }

 private:
  std::int64_t expert_count_, chosen_ = 0;
  std::int64_t* firsts_;  // of all experts, of the pairs without one, of nothing
  std::int64_t* tasks_;   // of all experts, and their number
  std::int64_t* pairs_;
};

// Rows of a result [rows, used, n] that belong to no expert become 0.
void clear_without_expert(const ExpertGroups& groups, const Operand& output);

// Row i of `to` [pairs that have an expert, n] becomes the row of `from` [.., n] that pair(i) has:
// `shared` pairs have the same one.
void gather_expert_rows(const ExpertGroups& groups, const Operand& from, std::int64_t shared,
                        std::byte* to);

}  // namespace hearth::cpu
