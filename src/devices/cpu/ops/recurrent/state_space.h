// The state space of one head of one sequence, row by row: products of matrices, in chunks of the
// SSD form, have twice the operations and are no faster.
#pragma once

#include <cmath>
#include <cstdint>

#include "devices/cpu/ops/recurrent/sequences.h"
#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/row_recurrence.h"

namespace hearth::cpu::recurrent {

struct SpaceOperands {
  explicit SpaceOperands(const Launch& launch)
      : x(input_of(launch, 0)),
        b(input_of(launch, 3)),
        c(input_of(launch, 4)),
        dt(input_of(launch, 1)),
        a(input_of(launch, 2)),
        old(input_of(launch, 5)),
        starts(input_of(launch, 6)),
        skip(has_input(launch, 7) ? input_of(launch, 7) : a),
        y(output_of(launch)),
        next(output_of(launch, 1)),
        has_skip(has_input(launch, 7)),
        heads(x.operand.shape()[1]),
        groups(b.operand.shape()[1]),
        p(x.columns),
        n(b.columns) {}

  HeadRows x, b, c;
  Operand dt, a, old, starts, skip, y, next;
  bool has_skip;
  std::int64_t heads, groups, p, n;
};

template <class T>
class SpaceHead {
 public:
  SpaceHead(const SpaceOperands& operands, std::int64_t sequence, std::int64_t head)
      : at_(operands),
        head_(head),
        group_(head / (operands.heads / operands.groups)),
        rate_(number_at<T>(at_.a, head * at_.a.stride(0))),
        skip_(at_.has_skip ? number_at<T>(at_.skip, head * at_.skip.stride(0)) : T(0)),
        state_(at_.old, at_.next, sequence, head, scratch<T>(0, at_.p * at_.n)) {}

  void run(std::int64_t begin, std::int64_t end) {
    const RowRecurrence<T>& steps = row_recurrence<T>();
    const RowMath<T>& math = row_math<T>();
    T* const copy = scratch<T>(1, 2 * at_.p + 2 * at_.n);
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const x = at_.x.read(row, head_, copy);
      const T* const b = at_.b.read(row, group_, copy + at_.p);
      const T* const c = at_.c.read(row, group_, copy + at_.p + at_.n);
      T* const y = row_to_write(at_.y, place(row), copy + at_.p + 2 * at_.n);
      const T dt = step(row);
      steps.scan(state_.values(), at_.p, at_.n, std::exp(dt * rate_), dt, x, b, c, y);
      if (at_.has_skip) math.axpy(y, skip_, x, at_.p);
      write_row(at_.y, place(row), y, at_.p);
    }
    state_.store();
  }

 private:
  T step(std::int64_t row) const {
    return number_at<T>(at_.dt, row * at_.dt.stride(0) + head_ * at_.dt.stride(1));
  }
  std::int64_t place(std::int64_t row) const { return (row * at_.heads + head_) * at_.p; }

  const SpaceOperands& at_;
  std::int64_t head_, group_;
  T rate_, skip_;
  HeadState<T> state_;
};

}  // namespace hearth::cpu::recurrent
