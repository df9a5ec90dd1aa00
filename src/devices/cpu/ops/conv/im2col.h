// Patches: what some positions of a convolution meet, as the columns of a matrix (im2col), and back
// (col2im).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "devices/cpu/ops/conv/problem.h"

namespace hearth::cpu {

// Row (channel, tap) of `tile` has what these positions meet. `x` is at the first of the channels.
template <class E>
void pack_patches(const ConvProblem& p, const ConvStrides& strides, const E* x,
                  std::int64_t channels, std::int64_t first, std::int64_t count, E* tile) {
  const std::int64_t step = p.stride[2] * strides.axis[2];
  for (std::int64_t tap = 0; tap < p.taps; ++tap) {
    for_runs(p, tap, first, count, [&](const ConvRun& run) {
      const std::int64_t offset = run.plane * strides.axis[0] + run.row * strides.axis[1] +
                                  (run.column + run.begin * p.stride[2]) * strides.axis[2];
      for (std::int64_t c = 0; c < channels; ++c) {
        E* const row = tile + (c * p.taps + tap) * count + run.first;
        std::fill(row, row + run.begin, E(0));
        if (run.begin < run.end) {
          const E* const from = x + c * strides.channel + offset;
          if (step == 1) {
            std::memcpy(row + run.begin, from,
                        static_cast<std::size_t>(run.end - run.begin) * sizeof(E));
          } else {
            for (std::int64_t j = 0; j < run.end - run.begin; ++j) {
              row[run.begin + j] = from[j * step];
            }
          }
        }
        std::fill(row + run.end, row + run.count, E(0));
      }
    });
  }
}

// The other way round: adds the rows of a tile to what they met, channels of `inputs` elements
// each.
template <class T>
void add_patches(const ConvProblem& p, const T* tile, std::int64_t channels, std::int64_t first,
                 std::int64_t count, T* sums) {
  for (std::int64_t tap = 0; tap < p.taps; ++tap) {
    for_runs(p, tap, first, count, [&](const ConvRun& run) {
      if (run.begin == run.end) return;
      const std::int64_t step = p.stride[2];
      const std::int64_t offset =
          (run.plane * p.input[1] + run.row) * p.input[2] + run.column + run.begin * step;
      for (std::int64_t c = 0; c < channels; ++c) {
        const T* const row = tile + (c * p.taps + tap) * count + run.first + run.begin;
        T* const to = sums + c * p.inputs + offset;
        for (std::int64_t j = 0; j < run.end - run.begin; ++j) to[j * step] += row[j];
      }
    });
  }
}

}  // namespace hearth::cpu
