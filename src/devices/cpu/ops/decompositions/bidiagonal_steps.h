// Steps with implicit shifts that take a bidiagonal matrix to a diagonal one (Golub and Van Loan,
// "Matrix Computations", 8.6), with the rotations of its rows and columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "devices/cpu/ops/decompositions/rotations.h"

namespace hearth::cpu {

// The diagonal d and what is above it, e; rows of both sides are rotated along. What is above
// counts as 0 below `tolerance`. False if it does not settle.
template <class T>
class BidiagonalSteps {
 public:
  BidiagonalSteps(double* d, double* e, std::int64_t n, double tolerance, Rotations<T>& left,
                  Rotations<T>& right)
      : d_(d), e_(e), n_(n), tolerance_(tolerance), left_(left), right_(right) {}

  bool run() {
    std::int64_t steps = 100 + 30 * n_;
    for (std::int64_t last = n_ - 1; last > 0;) {
      if (is_nothing(last - 1)) {
        --last;
        continue;
      }
      if (steps-- == 0) return false;
      std::int64_t first = last - 1;
      while (first > 0 && !is_nothing(first - 1)) --first;
      step(first, last);
    }
    left_.run();
    right_.run();
    return true;
  }

 private:
  bool is_nothing(std::int64_t i) const { return std::abs(e_[i]) <= tolerance_; }

  // Of (f, g) to (length, 0).
  struct GivensRotation {
    double length, cosine, sine;
  };
  static GivensRotation rotation_of(double f, double g) {
    const double r = length_of(f, g);
    return r == 0 ? GivensRotation{0, 1, 0} : GivensRotation{r, f / r, g / r};
  }

  // The smaller singular value of the last two rows; 0 where one of the whole part is nothing.
  double shift_of(std::int64_t first, std::int64_t last) const {
    for (std::int64_t i = first; i <= last; ++i) {
      if (std::abs(d_[i]) <= tolerance_) return 0;
    }
    const double f = std::abs(d_[last - 1]), g = std::abs(e_[last - 1]), h = std::abs(d_[last]);
    const double most = (std::hypot(f + h, g) + std::hypot(f - h, g)) / 2;
    return std::min(f, h) * (std::max(f, h) / most);
  }

  void step(std::int64_t first, std::int64_t last) {
    const double shift = shift_of(first, last);
    left_.begin(first, last - first);
    right_.begin(first, last - first);
    double f = d_[first], g = e_[first];
    if (shift > 0) f = (std::abs(f) - shift) * (std::copysign(1.0, f) + shift / f);
    for (std::int64_t k = first; k < last; ++k) {
      const GivensRotation column = rotation_of(f, g);
      right_.rotate(k, column.cosine, column.sine);
      if (k > first) e_[k - 1] = column.length;
      f = column.cosine * d_[k] + column.sine * e_[k];
      e_[k] = column.cosine * e_[k] - column.sine * d_[k];
      g = column.sine * d_[k + 1];
      d_[k + 1] *= column.cosine;
      const GivensRotation row = rotation_of(f, g);
      left_.rotate(k, row.cosine, row.sine);
      d_[k] = row.length;
      f = row.cosine * e_[k] + row.sine * d_[k + 1];
      d_[k + 1] = row.cosine * d_[k + 1] - row.sine * e_[k];
      if (k + 1 == last) break;
      g = row.sine * e_[k + 1];
      e_[k + 1] *= row.cosine;
    }
    e_[last - 1] = f;
  }

  double *d_, *e_;
  std::int64_t n_;
  double tolerance_;
  Rotations<T>&left_, &right_;
};

}  // namespace hearth::cpu
