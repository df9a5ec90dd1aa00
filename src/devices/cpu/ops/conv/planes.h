// Padded images: planes in which every position of a convolution meets the elements of the kernel
// at the same offsets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/conv/patches.h"

namespace hearth::cpu {

// The convolution of the gradient of `p`, of stride 1, that makes the gradient for its input: by
// the kernel turned around, its channels exchanged.
inline ConvProblem turned_problem(const ConvProblem& p) {
  ConvProblem turned = p;
  std::swap(turned.in, turned.out);
  std::swap(turned.input, turned.result_of);
  std::swap(turned.inputs, turned.positions);
  for (std::size_t i = 0; i < 3; ++i) {
    turned.before[i] = (p.taps_of[i] - 1) * p.dilation[i] - p.before[i];
  }
  return turned;
}

// Of images, and where in them a position of the result and an element of the kernel lie.
class PaddedPlanes {
 public:
  // With `in_phases`, positions of a row lie side by side whatever the stride: columns are cut into
  // the phases of it.
  explicit PaddedPlanes(const ConvProblem& problem, bool in_phases = false) : p(problem) {
    double places = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      extents_[i] = (p.result_of[i] - 1) * p.stride[i] + (p.taps_of[i] - 1) * p.dilation[i] + 1;
      if (i == 2) {
        phases_ = in_phases ? std::min(p.stride[2], extents_[2]) : 1;
        phase_ = ceil_div(extents_[2], phases_);
        extents_[2] = phase_ * phases_;
      }
      places *= static_cast<double>(extents_[i]);
    }
    constexpr std::int64_t kFew = 256;
    is_small_ = p.positions > 0 && places <= 4 * static_cast<double>(p.inputs + p.positions + kFew);
    // An odd number of lines of elements of four bytes: planes lie in different sets of a cache.
    if (is_small_) size_ = ceil_div(extents_[0] * extents_[1] * extents_[2], 16) * 16 | 16;
  }

  // Whether planes are not much larger than what they are made of. Only then they have a size.
  bool are_small() const { return is_small_; }
  std::int64_t size() const { return size_; }
  std::int64_t row_size() const { return extents_[2]; }

  std::int64_t place_of(std::int64_t position) const {
    const std::int64_t o2 = position % p.result_of[2];
    const std::int64_t o1 = position / p.result_of[2] % p.result_of[1];
    const std::int64_t o0 = position / p.result_of[2] / p.result_of[1];
    return at(o0 * p.stride[0], o1 * p.stride[1], o2 * p.stride[2]);
  }
  std::int64_t offset_of(std::int64_t tap) const {
    const std::int64_t t2 = tap % p.taps_of[2], t1 = tap / p.taps_of[2] % p.taps_of[1];
    const std::int64_t t0 = tap / p.taps_of[2] / p.taps_of[1];
    return at(t0 * p.dilation[0], t1 * p.dilation[1], t2 * p.dilation[2]);
  }

  // Fills a plane: read(offset, step, count, to) brings elements of a channel, `step` apart.
  template <class E, class Read>
  void pack(const ConvStrides& strides, const Read& read, E* plane) const {
    E* to = plane;
    // Columns of the plane that are there in the input.
    const std::int64_t width = extents_[2];
    const std::int64_t begin = std::clamp<std::int64_t>(p.before[2], 0, width);
    const std::int64_t end = std::clamp<std::int64_t>(p.before[2] + p.input[2], begin, width);
    for (std::int64_t i = 0; i < extents_[0]; ++i) {
      const std::int64_t slice = i - p.before[0];
      for (std::int64_t j = 0; j < extents_[1]; ++j, to += width) {
        const std::int64_t row = j - p.before[1];
        if (slice < 0 || slice >= p.input[0] || row < 0 || row >= p.input[1] || begin == end) {
          std::fill(to, to + width, E(0));
          continue;
        }
        for (std::int64_t phase = 0; phase < phases_; ++phase) {
          // Places of the phase that are there in the input.
          const std::int64_t first = ceil_div(std::max<std::int64_t>(begin - phase, 0), phases_);
          const std::int64_t last =
              std::max(first, ceil_div(std::max<std::int64_t>(end - phase, 0), phases_));
          E* const places = to + phase * phase_;
          std::fill(places, places + first, E(0));
          if (first < last) {
            read(slice * strides.axis[0] + row * strides.axis[1] +
                     (phase + first * phases_ - p.before[2]) * strides.axis[2],
                 phases_ * strides.axis[2], last - first, places + first);
          }
          std::fill(places + last, places + phase_, E(0));
        }
      }
    }
  }

 private:
  std::int64_t at(std::int64_t slice, std::int64_t row, std::int64_t column) const {
    return (slice * extents_[1] + row) * extents_[2] + column % phases_ * phase_ + column / phases_;
  }

  const ConvProblem& p;
  ConvProblem::Extents extents_{};
  std::int64_t phases_ = 1, phase_ = 0;  // of columns, and places of each
  std::int64_t size_ = 0;
  bool is_small_ = false;
};

}  // namespace hearth::cpu
