// The softmax of a row of attention, whose scores come in blocks.
#pragma once

#include <algorithm>
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
  // Takes in the softmax of further scores, by whose shares older sums and its own have to be
  // multiplied.
  struct Shares {
    T older, own;
  };
  Shares join(const Running& part) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    if (part.sum == T(0)) return {T(1), T(0)};
    const T next = std::max(max, part.max);
    const T older = max == kNone ? T(0) : std::exp(max - next);
    const T own = part.max == kNone ? T(1) : std::exp(part.max - next);
    sum = sum * older + part.sum * own;
    max = next;
    return {older, own};
  }
  // sums [n] of values as well, `own` being the part's.
  void join(const RowMath<T>& math, const Running& part, const T* own, T* sums, std::int64_t n) {
    const Shares shares = join(part);
    if (part.sum == T(0)) return;
    if (shares.older != T(1)) math.scale(sums, shares.older, sums, n, false);
    math.axpy(sums, shares.own, own, n);
  }
  T inverse() const { return sum == T(0) ? T(0) : T(1) / sum; }
};

}  // namespace hearth::cpu
