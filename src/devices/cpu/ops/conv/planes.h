// Padded images: planes in which every position of a convolution meets the elements of the kernel
// at the same offsets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/conv/problem.h"
#include "hearth/dtype.h"

namespace hearth::cpu {

// The convolution of the gradient of `p`, of stride 1, that makes the gradient for its input: by
// the kernel flipped, its channels exchanged.
inline ConvProblem flipped_problem(const ConvProblem& p) {
  ConvProblem flipped = p;
  std::swap(flipped.in, flipped.out);
  std::swap(flipped.input, flipped.result_of);
  std::swap(flipped.inputs, flipped.positions);
  for (std::size_t i = 0; i < 3; ++i) {
    flipped.before[i] = (p.taps_of[i] - 1) * p.dilation[i] - p.before[i];
  }
  return flipped;
}

// Axes along which elements a stride apart lie side by side: the others are cut into phases.
enum class Phases { none, columns, all };

// Of images, and where in them a position of the result and an element of the kernel lie.
class PaddedPlanes {
 public:
  // `slack` elements at least lie behind what a plane holds.
  explicit PaddedPlanes(const ConvProblem& problem, Phases phases = Phases::none,
                        std::int64_t slack = 0)
      : p(problem) {
    double places = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t reach = (p.taps_of[i] - 1) * p.dilation[i];
      const bool in_phases = phases == Phases::all || (phases == Phases::columns && i == 2);
      steps_[i] = in_phases ? p.stride[i] : 1;
      moves_[i] = in_phases ? 1 : p.stride[i];
      phases_[i] = std::min(steps_[i], reach + 1);
      extents_[i] = (p.result_of[i] - 1) * moves_[i] + reach / steps_[i] + 1;
      places *= static_cast<double>(phases_[i]) * static_cast<double>(extents_[i]);
    }
    constexpr std::int64_t kFew = 256;
    is_small_ = p.positions > 0 && places <= 4 * static_cast<double>(p.inputs + p.positions + kFew);
    if (!is_small_) return;
    phase_size_ = extents_[0] * extents_[1] * extents_[2];
    // An odd number of lines of elements of four bytes: planes lie in different sets of a cache.
    size_ = round_up(phase_count() * phase_size_ + slack, 16) | 16;
  }

  // Whether planes are not much larger than what they are made of. Only then they have a size.
  bool are_small() const { return is_small_; }
  std::int64_t size() const { return size_; }
  // Places of a phase along each axis.
  const ConvProblem::Extents& extents() const { return extents_; }
  std::int64_t row_size() const { return extents_[2]; }

  std::int64_t place_of(std::int64_t position) const {
    const std::int64_t o2 = position % p.result_of[2];
    const std::int64_t o1 = position / p.result_of[2] % p.result_of[1];
    const std::int64_t o0 = position / p.result_of[2] / p.result_of[1];
    return ((o0 * moves_[0]) * extents_[1] + o1 * moves_[1]) * extents_[2] + o2 * moves_[2];
  }
  std::int64_t offset_of(std::int64_t tap) const {
    const std::int64_t at[3] = {tap / p.taps_of[2] / p.taps_of[1],
                                tap / p.taps_of[2] % p.taps_of[1], tap % p.taps_of[2]};
    std::int64_t phase = 0, place = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t reach = at[i] * p.dilation[i];
      phase = phase * phases_[i] + reach % steps_[i];
      place = place * extents_[i] + reach / steps_[i];
    }
    return phase * phase_size_ + place;
  }

  // Fills a plane and the slack behind it: read(offset, step, count, to) brings elements of a
  // channel, `step` apart.
  template <class E, class Read>
  void pack(const ConvStrides& strides, const Read& read, E* plane) const {
    E* to = plane;
    for (std::int64_t phase = 0; phase < phase_count(); ++phase) {
      const std::int64_t start[3] = {phase / phases_[2] / phases_[1] - p.before[0],
                                     phase / phases_[2] % phases_[1] - p.before[1],
                                     phase % phases_[2] - p.before[2]};
      // Columns of the phase that are there in the input.
      const std::int64_t step = steps_[2], width = extents_[2];
      const std::int64_t begin =
          std::min(ceil_div(std::max<std::int64_t>(-start[2], 0), step), width);
      const std::int64_t end = std::clamp(
          ceil_div(std::max<std::int64_t>(p.input[2] - start[2], 0), step), begin, width);
      for (std::int64_t i = 0; i < extents_[0]; ++i) {
        const std::int64_t slice = i * steps_[0] + start[0];
        for (std::int64_t j = 0; j < extents_[1]; ++j, to += width) {
          const std::int64_t row = j * steps_[1] + start[1];
          if (slice < 0 || slice >= p.input[0] || row < 0 || row >= p.input[1] || begin == end) {
            std::fill(to, to + width, E(0));
            continue;
          }
          std::fill(to, to + begin, E(0));
          read(slice * strides.axis[0] + row * strides.axis[1] +
                   (begin * step + start[2]) * strides.axis[2],
               step * strides.axis[2], end - begin, to + begin);
          std::fill(to + end, to + width, E(0));
        }
      }
    }
    std::fill(to, plane + size_, E(0));
  }

 private:
  std::int64_t phase_count() const { return phases_[0] * phases_[1] * phases_[2]; }

  const ConvProblem& p;
  // Along each axis: elements of the input from a place to the next, places from a position to the
  // next, phases, and places of a phase. The phases of a plane follow one another.
  ConvProblem::Extents steps_{}, moves_{}, phases_{}, extents_{};
  std::int64_t phase_size_ = 0, size_ = 0;
  bool is_small_ = false;
};

// to[i] = the pair of low[i * step] and high[i * step], two channels side by side; `high` is null
// where there is no second one.
inline void weave_channels(const bfloat16* low, const bfloat16* high, std::int64_t step,
                           std::int64_t count, std::uint32_t* to) {
  // Strides that the compiler knows become vectors.
  const auto weave = [&](auto known) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = low[i * known].bits | static_cast<std::uint32_t>(high[i * known].bits) << 16;
    }
  };
  if (high == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = low[i * step].bits;
  } else if (step == 1) {
    weave(std::integral_constant<std::int64_t, 1>());
  } else if (step == 2) {
    weave(std::integral_constant<std::int64_t, 2>());
  } else {
    weave(step);
  }
}

}  // namespace hearth::cpu
