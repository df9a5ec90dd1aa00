// The sequences of a ragged batch at a launch, and rows of their operands in compute precision.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu::recurrent {

// Where sequences begin, and where the last one ends: in [0, rows] and ascending, whatever `starts`
// holds.
inline std::vector<std::int64_t> sequence_bounds(const Operand& starts, std::int64_t rows) {
  std::vector<std::int64_t> bounds(static_cast<std::size_t>(starts.shape()[0]));
  std::int64_t least = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::int64_t at = index_at(starts, static_cast<std::int64_t>(i) * starts.stride(0));
    bounds[i] = least = std::clamp(at, least, rows);
  }
  return bounds;
}

// y [rows, ...], dense, is 0 in rows of no sequence.
inline void clear_padding(const Operand& y, const std::vector<std::int64_t>& bounds) {
  const std::int64_t rows = y.shape()[0];
  if (rows == 0) return;
  const std::int64_t row_bytes = element_count(y.shape()) / rows * size_of(y.dtype());
  std::fill_n(y.data, bounds.front() * row_bytes, std::byte{0});
  std::fill_n(y.data + bounds.back() * row_bytes, (rows - bounds.back()) * row_bytes, std::byte{0});
}

// A number of an operand.
template <class T>
T number_at(const Operand& operand, std::int64_t offset) {
  T value;
  load_row(operand.dtype(), operand.at(offset), 1, 1, &value);
  return value;
}

// Vectors x[row, head, :] of an operand of rank 3.
struct HeadRows {
  explicit HeadRows(const Operand& x) : operand(x), columns(x.shape()[2]) {}

  // In place, or in `copy`.
  template <class T>
  const T* read(std::int64_t row, std::int64_t head, T* copy) const {
    return read_row(operand, row * operand.stride(0) + head * operand.stride(1), operand.stride(2),
                    columns, copy);
  }
  // `count` rows, one after the other in `out`.
  template <class T>
  void load(std::int64_t row, std::int64_t count, std::int64_t head, T* out) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (row + i) * operand.stride(0) + head * operand.stride(1);
      load_row(operand.dtype(), operand.at(at), operand.stride(2), columns, out + i * columns);
    }
  }

  Operand operand;
  std::int64_t columns;
};

// The state of a head of a sequence, [height, width], while rows change it: the new one itself, or
// a copy, which store() rounds.
template <class T>
class HeadState {
 public:
  HeadState(const Operand& old, const Operand& next, std::int64_t sequence, std::int64_t head,
            T* copy)
      : next_(next),
        size_(old.shape()[2] * old.shape()[3]),
        at_((sequence * old.shape()[1] + head) * size_) {
    values_ = row_to_write(next, at_, copy);
    const std::int64_t width = old.shape()[3];
    const std::int64_t from = sequence * old.stride(0) + head * old.stride(1);
    for (std::int64_t i = 0; i < old.shape()[2]; ++i) {
      load_row(old.dtype(), old.at(from + i * old.stride(2)), old.stride(3), width,
               values_ + i * width);
    }
  }

  T* values() const { return values_; }
  void store() const { write_row(next_, at_, values_, size_); }

 private:
  Operand next_;
  std::int64_t size_, at_;
  T* values_;
};

}  // namespace hearth::cpu::recurrent
