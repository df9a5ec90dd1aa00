// The softmax of a row of attention, whose scores come in blocks.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "devices/cpu/rows/row_math.h"

namespace hearth::cpu {

// The softmax of a row so far: weights are e^(score - max), `sum` adds them up.
template <class T>
struct Running {
  T max = -std::numeric_limits<T>::infinity();
  T sum = 0;

  static Running of_sink(double score) {
    const T sink = static_cast<T>(score);
    if (sink == -std::numeric_limits<T>::infinity()) return {};
    return {sink, T(1)};
  }

  // Takes in n more scores, which become weights. Returns by how much older weights shrink.
  T update(const RowMath<T>& math, T* scores, std::int64_t n) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    const T block = math.max(scores, n);
    const T next = block > max ? block : max;
    const T shift = next == kNone ? T(0) : next;
    const T shrink = max == kNone ? T(0) : std::exp(max - shift);
    sum = sum * shrink + math.exp_sum(scores, shift, scores, n, scores);
    max = next;
    return shrink;
  }
  T inverse() const { return sum == T(0) ? T(0) : T(1) / sum; }
};

}  // namespace hearth::cpu
