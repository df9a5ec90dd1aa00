// Texts whose steps are done together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/ops.h"
#include "models/sampling/chain_row.h"
#include "models/sampling/sampling_state.h"

namespace hearth::models {

class ChainRows {
 public:
  ChainRows(std::vector<ChainRow> rows, Device device) : rows_(std::move(rows)), device_(device) {}

  const std::vector<ChainRow>& list() const noexcept { return rows_; }
  template <class Holds>
  bool any(Holds holds) const {
    return std::any_of(rows_.begin(), rows_.end(), holds);
  }
  bool any_has(SamplingStep step) const {
    return any([step](const ChainRow& row) { return row.has(step); });
  }

  // A number of each row, [rows, 1].
  template <class T>
  Array column(T ChainRow::* number) const {
    return column_of([number](const ChainRow& row) { return row.*number; });
  }
  template <class Number>
  Array column_of(Number number) const {
    std::vector<decltype(number(rows_.front()))> values;
    for (const ChainRow& row : rows_) values.push_back(number(row));
    return Array::from_data(values, {static_cast<std::int64_t>(rows_.size()), 1}, device_);
  }
  // bool [rows, 1].
  template <class Holds>
  Array flags(Holds holds) const {
    return not_equal(
        column_of([&](const ChainRow& row) { return static_cast<std::uint8_t>(holds(row)); }),
        std::int64_t{0});
  }

 private:
  std::vector<ChainRow> rows_;
  Device device_;
};

// Texts whose steps stand in one order.
struct ChainGroup {
  std::vector<SamplingStep> order;
  std::vector<std::int64_t> places;  // among all texts, ascending
  std::vector<ChainRow> rows;
};

// Of the next draws of at least one text; one group where each text's steps that change something
// stand in the default order.
std::vector<ChainGroup> chain_groups(std::span<SamplingState* const> states, std::uint64_t refused);

}  // namespace hearth::models
