// Convolutions of bf16 in tiles, without patches: an image becomes padded planes of pairs of
// channels, in phases of the stride, so that every element of the kernel meets 16 positions side by
// side at one offset. Positions are counted with the rows of a plane, which are longer than those
// of the result; what lies between is computed and left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/gemm/amx_packing.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/ops/conv/operands.h"
#include "devices/cpu/ops/conv/planes.h"
#include "devices/cpu/ops/conv/problem.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

class ConvTiles {
 public:
  static constexpr std::int64_t kRows = 2 * kTileRows;   // channels of the result in a task
  static constexpr std::int64_t kCols = 16 * kTileCols;  // positions of one
  // Steps of k for which a task's tiles of weights stay in a first-level cache.
  static constexpr std::int64_t kSteps = 16;

  // The last tile of positions ends behind the plane.
  explicit ConvTiles(const ConvProblem& problem)
      : p(problem), planes_(p, Phases::all, kTileCols), blocks_(ceil_div(p.in, kTileDepth)) {}

  // Whether channels fill tiles, and planes are not much larger than what they are made of.
  bool fits() const {
    return planes_.are_small() && p.in >= kTileDepth / 2 && p.out >= kTileRows / 2;
  }

  // Places from the first position to behind the last.
  std::int64_t span() const { return planes_.place_of(p.positions - 1) + 1; }
  std::int64_t steps() const { return blocks_ * p.taps; }
  std::int64_t out_panels() const { return ceil_div(p.out, kTileRows); }
  std::int64_t weight_size() const { return out_panels() * steps() * kTileSize; }  // of a group
  std::int64_t image_size() const { return image_pairs() * planes_.size(); }       // in pairs
  std::int64_t image_pairs() const { return blocks_ * kTilePairs; }

  // Where the planes of each step of k begin.
  std::vector<std::int64_t> step_offsets() const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      for (std::int64_t tap = 0; tap < p.taps; ++tap) {
        offsets.push_back(block * kTilePairs * planes_.size() + planes_.offset_of(tap));
      }
    }
    return offsets;
  }

  // Weights [out, in, taps] of a group in tiles, 16 rows at a time: panel `panel` of them.
  void pack_weights(const bfloat16* weight, std::int64_t panel, bfloat16* tiles) const {
    const std::int64_t rows = std::min(kTileRows, p.out - panel * kTileRows);
    bfloat16* to = tiles + panel * steps() * kTileSize;
    for (std::int64_t c = 0; c < p.in; c += kTileDepth) {
      const std::int64_t channels = std::min(kTileDepth, p.in - c);
      for (std::int64_t tap = 0; tap < p.taps; ++tap, to += kTileSize) {
        std::fill(to, to + kTileSize, bfloat16());
        for (std::int64_t i = 0; i < rows; ++i) {
          const bfloat16* const from = weight + ((panel * kTileRows + i) * p.in + c) * p.taps + tap;
          for (std::int64_t j = 0; j < channels; ++j) to[i * kTileDepth + j] = from[j * p.taps];
        }
      }
    }
  }

  // Plane `pair` of the image of a group, at whose first channel x is.
  void pack_plane(const bfloat16* x, const ConvStrides& strides, std::int64_t pair,
                  std::uint32_t* image) const {
    std::uint32_t* const plane = image + pair * planes_.size();
    if (2 * pair >= p.in) return std::fill(plane, plane + planes_.size(), 0u);
    const bfloat16* const low = x + 2 * pair * strides.channel;
    const bfloat16* const high = 2 * pair + 1 < p.in ? low + strides.channel : nullptr;
    const auto weave = [&](std::int64_t at, std::int64_t step, std::int64_t count,
                           std::uint32_t* to) {
      weave_channels(low + at, high == nullptr ? nullptr : high + at, step, count, to);
    };
    planes_.pack(strides, weave, plane);
  }

  // Calls body(position of the result, column of the sums, count) for the runs of positions among
  // `count` from `first` on, counted with the rows of a plane.
  template <class Body>
  void for_results(std::int64_t first, std::int64_t count, const Body& body) const {
    const std::int64_t width = planes_.extents()[2], rows = planes_.extents()[1];
    for (std::int64_t at = first; at < first + count;) {
      const std::int64_t o2 = at % width, o1 = at / width % rows, o0 = at / width / rows;
      const std::int64_t run = std::min(width - o2, first + count - at);
      const std::int64_t kept = std::min(run, p.result_of[2] - o2);
      if (kept > 0 && o1 < p.result_of[1] && o0 < p.result_of[0]) {
        body((o0 * p.result_of[1] + o1) * p.result_of[2] + o2, at - first, kept);
      }
      at += run;
    }
  }

  // sums [kRows, kCols] of the panel of weights and the one after it, for positions from `first`.
  void multiply(void (*walk)(const AmxWalk&), const bfloat16* weights, std::int64_t panel,
                const std::uint32_t* image, const std::vector<std::int64_t>& offsets,
                std::int64_t first, float* sums) const {
    AmxWalk w{};
    w.a_panel_stride = steps() * kTileSize;
    w.b = image + first;
    w.b_row_stride = planes_.size();
    w.c = sums;
    w.c_row_stride = kCols;
    w.rows = std::min(kRows, (out_panels() - panel) * kTileRows);
    w.cols = std::min(kCols, round_up(span() - first, kTileCols));
    for (std::int64_t step = 0; step < steps(); step += kSteps) {
      w.a = weights + panel * w.a_panel_stride + step * kTileSize;
      w.step_offsets = offsets.data() + step;
      w.steps = std::min(kSteps, steps() - step);
      w.accumulate = step > 0;
      walk(w);
    }
  }

 private:
  const ConvProblem& p;
  const PaddedPlanes planes_;  // of pairs
  std::int64_t blocks_;        // of channels, each a tile deep
};

// Bytes of the tiles of weights, and of the planes of as many images, of one group each, as are
// worked on at a time.
struct ConvAmxMemory {
  explicit ConvAmxMemory(const ConvProblem& p) {
    constexpr std::int64_t kImageBytes = std::int64_t{32} << 20;
    const ConvTiles tiling(p);
    const auto bytes = [](std::int64_t elements, std::int64_t size) {
      return round_up(elements * size, 64);
    };
    weights = bytes(p.groups * tiling.weight_size(), 2);
    image = bytes(tiling.image_size(), 4);
    at_once = std::clamp<std::int64_t>(kImageBytes / image, 1, p.batch * p.groups);
  }
  std::int64_t total() const { return weights + at_once * image; }

  std::int64_t weights, image, at_once;
};

// `memory` has ConvAmxMemory::total() bytes; weight is dense.
inline void conv_by_amx(void (*walk)(const AmxWalk&), const ConvProblem& p, const Operand& x,
                        const Operand& weight, const std::vector<float>& bias, const Operand& out,
                        std::byte* memory) {
  const ConvTiles tiling(p);
  const ConvAmxMemory sizes(p);
  const ConvStrides strides(*x.spec);
  const std::vector<std::int64_t> offsets = tiling.step_offsets();
  auto* const tiles = reinterpret_cast<bfloat16*>(memory);
  const auto image_at = [&](std::int64_t i) {
    return reinterpret_cast<std::uint32_t*>(memory + sizes.weights + i * sizes.image);
  };
  const std::int64_t panels = tiling.out_panels(), pairs = tiling.image_pairs();
  for_each_task(p.groups * panels, 1, [&](std::int64_t i) {
    const std::int64_t g = i / panels;
    tiling.pack_weights(reinterpret_cast<const bfloat16*>(weight.at(g * p.out * p.in * p.taps)),
                        i % panels, tiles + g * tiling.weight_size());
  });
  const std::int64_t row_blocks = ceil_div(panels, 2);
  const std::int64_t col_blocks = ceil_div(tiling.span(), ConvTiles::kCols);
  for (std::int64_t done = 0; done < p.batch * p.groups; done += sizes.at_once) {
    const std::int64_t some = std::min(sizes.at_once, p.batch * p.groups - done);
    for_each_task(some * pairs, 4, [&](std::int64_t i) {
      const std::int64_t image = (done + i / pairs) / p.groups, g = (done + i / pairs) % p.groups;
      const auto* from = reinterpret_cast<const bfloat16*>(x.data) + image * strides.batch +
                         g * p.in * strides.channel;
      tiling.pack_plane(from, strides, i % pairs, image_at(i / pairs));
    });
    for_each_task(some * row_blocks * col_blocks, 1, [&](std::int64_t task) {
      const std::int64_t i = task / row_blocks / col_blocks, g = (done + i) % p.groups;
      const std::int64_t panel = task / col_blocks % row_blocks * 2;
      const std::int64_t first = task % col_blocks * ConvTiles::kCols;
      float* const sums = scratch<float>(0, ConvTiles::kRows * ConvTiles::kCols);
      tiling.multiply(walk, tiles + g * tiling.weight_size(), panel, image_at(i), offsets, first,
                      sums);
      const std::int64_t row = panel * kTileRows;
      const std::int64_t rows = std::min(ConvTiles::kRows, p.out - row);
      const std::int64_t count = std::min(ConvTiles::kCols, tiling.span() - first);
      for (std::int64_t r = 0; r < rows; ++r) {
        float* const line = sums + r * ConvTiles::kCols;
        if (!bias.empty()) {
          const float add = bias[static_cast<std::size_t>(g * p.out + row + r)];
          for (std::int64_t j = 0; j < count; ++j) line[j] += add;
        }
        const std::int64_t to = ((done + i) * p.out + row + r) * p.positions;
        tiling.for_results(first, count, [&](std::int64_t at, std::int64_t col, std::int64_t n) {
          store_row(DType::bf16, line + col, n, out.at(to + at));
        });
      }
    });
  }
}

inline bool fits_amx(const Signature& s) {
  if (s.output.dtype != DType::bf16) return false;
  const ConvProblem p = problem_of(s);
  return !p.is_pointwise() && ConvTiles(p).fits();
}

inline Prepared prepare_amx(const Signature& s) {
  return prepare_conv(s, ConvAmxMemory(problem_of(s)).total());
}

inline void launch_amx(const Launch& launch) {
  if (element_count(launch.signature->output.shape) == 0) return;
  const ConvOperands operands(launch);
  conv_by_amx(amx_gemm()->walk, operands.problem, operands.a, operands.b, bias_of<float>(launch),
              output_of(launch), operands.memory);
}

}  // namespace hearth::cpu
