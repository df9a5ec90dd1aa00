// Singular values of bidiagonal matrices by differential quotients and differences with shifts
// (Fernando and Parlett, "Accurate singular values and differential qd algorithms", 1994; shifts
// after Parlett and Marques, "An implementation of the dqds algorithm (positive case)", 2000).
//
// With the squares q and e of both diagonals, one transform takes a shift from all squared values.
// A shift that is larger than the least one makes a difference negative: it is taken back. Each
// value is as exact as it is large.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hearth::cpu {

class SingularValues {
 public:
  // Elements beside the diagonal count as 0 below `tolerance` times what they are beside.
  SingularValues(const double* diagonal, const double* above, std::int64_t n, double tolerance)
      : tolerance_(tolerance * tolerance) {
    for (std::int64_t i = 0; i < n; ++i) {
      q_.push_back(diagonal[i] * diagonal[i]);
      e_.push_back(above[i] * above[i]);
    }
    next_q_.resize(q_.size());
    next_e_.resize(e_.size());
    if (n > 0) parts_.push_back({0, q_.size(), 0, 0});
  }

  // False if they do not settle. values [n], from the largest.
  bool run(double* values) {
    std::size_t steps = 100 + 30 * q_.size();
    values_ = values;
    count_ = 0;
    while (!parts_.empty()) {
      part_ = parts_.back();
      parts_.pop_back();
      reverse();
      double shift = 0;
      while (!deflate()) {
        if (steps-- == 0 || !transform(shift)) return false;
        shift = best_shift();
      }
    }
    std::sort(values, values + count_, [](double a, double b) { return a > b; });
    return true;
  }

 private:
  // Below this a square counts as 0; that of the matrix's largest element is near 1.
  static constexpr double kLeast = 1e-290;

  struct Part {
    std::size_t begin, end;
    double shift, carry;  // taken so far; what rounding took from it
  };

  void found(double square) {
    values_[count_++] = std::sqrt(std::max(0.0, square + part_.shift + part_.carry));
  }

  // Large ones first.
  void reverse() {
    const auto begin = static_cast<std::ptrdiff_t>(part_.begin);
    const auto end = static_cast<std::ptrdiff_t>(part_.end);
    if (1.5 * q_[part_.begin] >= q_[part_.end - 1]) return;
    std::reverse(q_.begin() + begin, q_.begin() + end);
    std::reverse(e_.begin() + begin, e_.begin() + end - 1);
  }

  bool is_nothing(std::size_t i) const {
    return e_[i] <= tolerance_ * std::max(part_.shift, q_[i]) ||
           e_[i] <= tolerance_ * (part_.shift + q_[i + 1]) || e_[i] <= kLeast;
  }

  // Takes values from the end, and parts that nothing connects. True when nothing is left.
  bool deflate() {
    for (;;) {
      const std::size_t size = part_.end - part_.begin;
      if (size == 0) return true;
      const std::size_t last = part_.end - 1;
      if (size == 1 || is_nothing(last - 1)) {
        found(q_[last]);
        --part_.end;
      } else if (size == 2 || is_nothing(last - 2)) {
        take_pair(q_[last - 1], q_[last], e_[last - 1]);
        part_.end -= 2;
      } else {
        break;
      }
    }
    for (std::size_t i = part_.end - 3; i-- > part_.begin;) {
      if (!is_nothing(i)) continue;
      parts_.push_back({part_.begin, i + 1, part_.shift, part_.carry});
      for (std::size_t at = part_.begin; at <= i; ++at) {  // whichever of both is read later
        next_q_[at] = q_[at];
        next_e_[at] = e_[at];
      }
      part_.begin = i + 1;
      break;
    }
    return false;
  }

  // Both of a matrix of two rows.
  void take_pair(double large, double small, double beside) {
    if (small > large) std::swap(large, small);
    const double half = (large - small + beside) / 2;
    if (half > 0) {
      const double product = small * (beside / half);
      const double more =
          product <= half ? small * (beside / (half * (1 + std::sqrt(1 + product / half))))
                          : small * (beside / (half + std::sqrt(half) * std::sqrt(half + product)));
      const double most = large + (more + beside);
      small *= large / most;
      large = most;
    }
    found(large);
    found(small);
  }

  // With the shift, or so much of it that no difference is negative.
  bool transform(double shift) {
    for (int tries = 0; !try_transform(shift); ++tries) {
      if (!(shift > 0)) return false;
      const bool late = failed_ + 1 == part_.end && tries < 2;
      const double less = late ? (shift + difference_) * (1 - 0x1p-51) : shift / 4;
      shift = tries < 4 && less > 0 && less < shift ? less : 0;
    }
    std::swap(q_, next_q_);
    std::swap(e_, next_e_);
    const double sum = part_.shift + shift;
    part_.carry += shift - (sum - part_.shift);
    part_.shift = sum;
    return true;
  }

  bool try_transform(double shift) {
    double d = q_[part_.begin] - shift, least = d;
    const std::size_t last = part_.end - 1;
    failed_ = part_.begin;
    for (std::size_t i = part_.begin; i < last && d >= 0; ++i) {
      const double sum = d + e_[i];
      next_q_[i] = sum;
      if (sum > kLeast) {
        const double ratio = q_[i + 1] / sum;
        next_e_[i] = e_[i] * ratio;
        d = d * ratio - shift;
      } else {
        next_e_[i] = 0;
        d = q_[i + 1] - shift;
      }
      least = std::min(least, d);
      failed_ = i + 1;
    }
    next_q_[last] = d;
    next_e_[last] = 0;
    difference_ = d;
    least_ = least;
    return d >= 0;
  }

  // Near the least squared value, from below as far as it can be told.
  double best_shift() const {
    const std::size_t last = part_.end - 1;
    if (part_.end - part_.begin < 3 || difference_ > least_) return least_ / 4;
    // A vector that the end of the matrix shrinks, from its last element on: its quotient less its
    // residual.
    double tail = 0, product = 1;
    for (std::size_t i = last; i-- > part_.begin && tail < 1;) {
      if (q_[i] <= kLeast) return 0;
      product *= e_[i] / q_[i];
      tail += product;
      if (product < 1e-3 * tail) break;
    }
    double shift = tail < 0.56 ? least_ * (1 - std::sqrt(tail)) / (1 + tail) : least_ / 4;
    // The last two rows alone, where those before them are far.
    const double square = difference_ * e_[last - 1];
    const double far = q_[last - 1] + e_[last - 1] - std::sqrt(q_[last - 1] * e_[last - 2]);
    if (far > difference_) {
      const double half = (far - difference_) / 2;
      shift = std::max(shift, difference_ - square / (half + std::sqrt(half * half + square)));
    }
    return std::max(0.0, shift);
  }

  double tolerance_;
  std::vector<double> q_, e_, next_q_, next_e_;
  std::vector<Part> parts_;
  Part part_{};
  double* values_ = nullptr;
  std::int64_t count_ = 0;
  std::size_t failed_ = 0;  // where the last transform ended
  double difference_ = 0;   // its last one
  double least_ = 0;
};

}  // namespace hearth::cpu
