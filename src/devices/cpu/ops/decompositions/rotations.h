// Rotations of the rows of a matrix of vectors, as they come with eigenvalues and singular values.
#pragma once

#include <cmath>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/decompositions/matrix_batch.h"

namespace hearth::cpu {

// Rotations of rows that wait, sweep by sweep, until there are enough to read the rows once for
// many of them.
template <class T>
class Rotations {
 public:
  // Of z [n, n], rows `stride` apart. A sweep goes from its last row to its first, or, where
  // `forward`, from its first to its last.
  Rotations(T* z, std::int64_t stride, std::int64_t n, bool forward)
      : z_(z), stride_(stride), n_(n), forward_(forward) {}

  // The next sweep is of rows [first, first + count].
  void begin(std::int64_t first, std::int64_t count) {
    const auto at = static_cast<std::int64_t>(cosines_.size());
    if (at + count > 32 * n_) run();
    sweeps_.push_back({first, count, static_cast<std::int64_t>(cosines_.size())});
    const auto size = cosines_.size() + static_cast<std::size_t>(count);
    cosines_.resize(size, T(1));
    sines_.resize(size, T(0));
  }
  // (x, y) = (c x - s y, s x + c y) for `row` x and the one after it, or, where `forward`, the
  // other way round.
  void rotate(std::int64_t row, double cosine, double sine) {
    const Sweep& sweep = sweeps_.back();
    const std::int64_t place = row - sweep.first;
    const auto at =
        static_cast<std::size_t>(sweep.start + (forward_ ? sweep.count - 1 - place : place));
    cosines_[at] = static_cast<T>(cosine);
    sines_[at] = static_cast<T>(sine);
  }
  void run() {
    constexpr std::int64_t kColumns = 32;
    const auto cost = 6 * kColumns * static_cast<std::int64_t>(cosines_.size());
    for_chunks(ceil_div(n_, kColumns), cost, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t at = first * kColumns; at < std::min(n_, last * kColumns); at += kColumns) {
        for (const Sweep& sweep : sweeps_) {
          const std::int64_t from = sweep.first + (forward_ ? sweep.count : 0);
          row_matrix<T>().rotate(z_ + from * stride_ + at, forward_ ? -stride_ : stride_,
                                 sweep.count, std::min(kColumns, n_ - at),
                                 cosines_.data() + sweep.start, sines_.data() + sweep.start);
        }
      }
    });
    sweeps_.clear();
    cosines_.clear();
    sines_.clear();
  }

 private:
  struct Sweep {
    std::int64_t first, count, start;
  };
  T* z_;
  std::int64_t stride_, n_;
  bool forward_;
  std::vector<Sweep> sweeps_;
  std::vector<T> cosines_, sines_;
};

// sqrt(x^2 + y^2)
inline double length_of(double x, double y) {
  const double square = x * x + y * y;
  return square > 0x1p-900 && square < 0x1p900 ? std::sqrt(square) : std::hypot(x, y);
}

}  // namespace hearth::cpu
