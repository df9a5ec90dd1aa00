// Convolutions of bf16 in tiles, without patches: an image becomes planes of pairs of channels, in
// which every element of the kernel meets 16 positions side by side at one offset, whatever stride
// and dilation. Positions are counted with the rows of a plane, which are longer than those of the
// result; what lies between is computed and left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/gemm/amx_packing.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/ops/conv/patches.h"

namespace hearth::cpu {

class ConvPlanes {
 public:
  static constexpr std::int64_t kRows = 2 * kTileRows;   // channels of the result in a task
  static constexpr std::int64_t kCols = 16 * kTileCols;  // positions of one
  // Steps of k for which a task's tiles of weights stay in a first-level cache.
  static constexpr std::int64_t kSteps = 16;

  explicit ConvPlanes(const ConvProblem& problem) : p(problem) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t reach = (p.taps_of[i] - 1) * p.dilation[i];
      phases_[i] = std::min(p.stride[i], reach + 1);
      extents_[i] = p.result_of[i] + reach / p.stride[i];
    }
    double places = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      places *= static_cast<double>(phases_[i]) * static_cast<double>(extents_[i]);
    }
    is_small_ = places <= 4 * static_cast<double>(p.inputs + p.positions + kCols);
    if (!is_small_) return;
    phase_size_ = extents_[0] * extents_[1] * extents_[2];
    // The last tile of positions ends behind the plane.
    plane_size_ = phases_[0] * phases_[1] * phases_[2] * phase_size_ + kTileCols;
    blocks_ = ceil_div(p.in, kTileDepth);
    // From the first position to behind the last.
    span_ =
        ((p.result_of[0] - 1) * extents_[1] + p.result_of[1] - 1) * extents_[2] + p.result_of[2];
  }

  // Whether channels fill tiles, and planes are not much larger than what they are made of.
  bool fits() const {
    return is_small_ && p.in >= kTileDepth / 2 && p.out >= kTileRows / 2 && p.positions > 0;
  }

  std::int64_t span() const { return span_; }
  std::int64_t steps() const { return blocks_ * p.taps; }
  std::int64_t out_panels() const { return ceil_div(p.out, kTileRows); }
  std::int64_t weight_size() const { return out_panels() * steps() * kTileSize; }  // of a group
  std::int64_t image_size() const { return blocks_ * kTilePairs * plane_size_; }   // in pairs
  std::int64_t image_pairs() const { return blocks_ * kTilePairs; }

  // Where the planes of each step of k begin.
  std::vector<std::int64_t> step_offsets() const {
    std::vector<std::int64_t> offsets;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      for (std::int64_t tap = 0; tap < p.taps; ++tap) {
        const std::int64_t at[3] = {tap / p.taps_of[2] / p.taps_of[1],
                                    tap / p.taps_of[2] % p.taps_of[1], tap % p.taps_of[2]};
        std::int64_t phase = 0, shift = 0;
        for (std::size_t i = 0; i < 3; ++i) {
          const std::int64_t reach = at[i] * p.dilation[i];
          phase = phase * phases_[i] + reach % p.stride[i];
          shift = shift * extents_[i] + reach / p.stride[i];
        }
        offsets.push_back(block * kTilePairs * plane_size_ + phase * phase_size_ + shift);
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
    std::uint32_t* to = image + pair * plane_size_;
    std::uint32_t* const end = to + plane_size_;
    const bool low = 2 * pair < p.in, high = 2 * pair + 1 < p.in;
    if (!low) return std::fill(to, end, 0u);
    const bfloat16* const first = x + 2 * pair * strides.channel;
    const bfloat16* const second = high ? first + strides.channel : nullptr;
    for (std::int64_t phase = 0; phase < phases_[0] * phases_[1] * phases_[2]; ++phase) {
      const std::int64_t at[3] = {phase / phases_[2] / phases_[1], phase / phases_[2] % phases_[1],
                                  phase % phases_[2]};
      for (std::int64_t i = 0; i < extents_[0]; ++i) {
        const std::int64_t plane = i * p.stride[0] + at[0] - p.before[0];
        for (std::int64_t j = 0; j < extents_[1]; ++j, to += extents_[2]) {
          const std::int64_t row = j * p.stride[1] + at[1] - p.before[1];
          if (plane < 0 || plane >= p.input[0] || row < 0 || row >= p.input[1]) {
            std::fill(to, to + extents_[2], 0u);
            continue;
          }
          const std::int64_t offset = plane * strides.axis[0] + row * strides.axis[1];
          weave_row(first + offset, second == nullptr ? nullptr : second + offset, strides.axis[2],
                    at[2], to);
        }
      }
    }
    std::fill(to, end, 0u);
  }

  // Calls body(position of the result, column of the sums, count) for the runs of positions among
  // `count` from `first` on, counted with the rows of a plane.
  template <class Body>
  void for_results(std::int64_t first, std::int64_t count, const Body& body) const {
    const std::int64_t width = extents_[2], rows = extents_[1];
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
    w.b_row_stride = plane_size_;
    w.c = sums;
    w.c_row_stride = kCols;
    w.rows = std::min(kRows, (out_panels() - panel) * kTileRows);
    w.cols = std::min(kCols, (span_ - first + kTileCols - 1) / kTileCols * kTileCols);
    for (std::int64_t step = 0; step < steps(); step += kSteps) {
      w.a = weights + panel * w.a_panel_stride + step * kTileSize;
      w.step_offsets = offsets.data() + step;
      w.steps = std::min(kSteps, steps() - step);
      w.accumulate = step > 0;
      walk(w);
    }
  }

 private:
  void weave_row(const bfloat16* low, const bfloat16* high, std::int64_t stride, std::int64_t phase,
                 std::uint32_t* to) const {
    const std::int64_t step = p.stride[2], width = extents_[2];
    // Column j of the plane is column j * step + start of the input.
    const std::int64_t start = phase - p.before[2];
    const std::int64_t begin =
        std::clamp<std::int64_t>(start >= 0 ? 0 : ceil_div(-start, step), 0, width);
    const std::int64_t end = std::clamp<std::int64_t>(
        start >= p.input[2] ? 0 : (p.input[2] - 1 - start) / step + 1, begin, width);
    std::fill(to, to + begin, 0u);
    std::fill(to + end, to + width, 0u);
    const std::int64_t count = end - begin, at = (begin * step + start) * stride;
    to += begin;
    if (count == 0) return;
    if (high == nullptr) {
      for (std::int64_t j = 0; j < count; ++j) to[j] = low[at + j * step * stride].bits;
    } else if (step * stride == 1) {
      weave<1>(low + at, high + at, count, to);
    } else if (step * stride == 2) {
      weave<2>(low + at, high + at, count, to);
    } else {
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t from = at + j * step * stride;
        to[j] = low[from].bits | static_cast<std::uint32_t>(high[from].bits) << 16;
      }
    }
  }

  // Known strides become vectors.
  template <int kStep>
  static void weave(const bfloat16* low, const bfloat16* high, std::int64_t count,
                    std::uint32_t* to) {
    for (std::int64_t j = 0; j < count; ++j) {
      to[j] = low[j * kStep].bits | static_cast<std::uint32_t>(high[j * kStep].bits) << 16;
    }
  }

  const ConvProblem& p;
  ConvProblem::Extents phases_{}, extents_{};  // phases of the stride, and places of each
  std::int64_t phase_size_ = 0, plane_size_ = 0, blocks_ = 0, span_ = 0;
  bool is_small_ = false;
};

// Bytes of the tiles of weights, and of the planes of as many images, of one group each, as are
// worked on at a time.
struct ConvAmxMemory {
  explicit ConvAmxMemory(const ConvProblem& p) {
    constexpr std::int64_t kImageBytes = std::int64_t{32} << 20;
    const ConvPlanes planes(p);
    const auto bytes = [](std::int64_t elements, std::int64_t size) {
      return round_up(elements * size, 64);
    };
    weights = bytes(p.groups * planes.weight_size(), 2);
    image = bytes(planes.image_size(), 4);
    at_once = std::clamp<std::int64_t>(kImageBytes / image, 1, p.batch * p.groups);
  }
  std::int64_t total() const { return weights + at_once * image; }

  std::int64_t weights, image, at_once;
};

// `memory` has ConvAmxMemory::total() bytes; weight is dense.
inline void conv_by_amx(void (*walk)(const AmxWalk&), const ConvProblem& p, const Operand& x,
                        const Operand& weight, const std::vector<float>& bias, const Operand& out,
                        std::byte* memory) {
  const ConvPlanes planes(p);
  const ConvAmxMemory sizes(p);
  const ConvStrides strides(*x.spec);
  const std::vector<std::int64_t> offsets = planes.step_offsets();
  auto* const tiles = reinterpret_cast<bfloat16*>(memory);
  const auto image_at = [&](std::int64_t i) {
    return reinterpret_cast<std::uint32_t*>(memory + sizes.weights + i * sizes.image);
  };
  const auto each = [](std::int64_t count, std::int64_t grain, const auto& body) {
    WorkerPool::global().parallel_for_range(count, grain,
                                            [&](std::int64_t begin, std::int64_t end) {
                                              for (std::int64_t i = begin; i < end; ++i) body(i);
                                            });
  };
  const std::int64_t panels = planes.out_panels(), pairs = planes.image_pairs();
  each(p.groups * panels, 1, [&](std::int64_t i) {
    const std::int64_t g = i / panels;
    planes.pack_weights(reinterpret_cast<const bfloat16*>(weight.at(g * p.out * p.in * p.taps)),
                        i % panels, tiles + g * planes.weight_size());
  });
  const std::int64_t row_blocks = (panels + 1) / 2;
  const std::int64_t col_blocks = (planes.span() + ConvPlanes::kCols - 1) / ConvPlanes::kCols;
  for (std::int64_t done = 0; done < p.batch * p.groups; done += sizes.at_once) {
    const std::int64_t some = std::min(sizes.at_once, p.batch * p.groups - done);
    each(some * pairs, 4, [&](std::int64_t i) {
      const std::int64_t image = (done + i / pairs) / p.groups, g = (done + i / pairs) % p.groups;
      const auto* from = reinterpret_cast<const bfloat16*>(x.data) + image * strides.batch +
                         g * p.in * strides.channel;
      planes.pack_plane(from, strides, i % pairs, image_at(i / pairs));
    });
    each(some * row_blocks * col_blocks, 1, [&](std::int64_t task) {
      const std::int64_t i = task / row_blocks / col_blocks, g = (done + i) % p.groups;
      const std::int64_t panel = task / col_blocks % row_blocks * 2;
      const std::int64_t first = task % col_blocks * ConvPlanes::kCols;
      float* const sums = scratch<float>(0, ConvPlanes::kRows * ConvPlanes::kCols);
      planes.multiply(walk, tiles + g * planes.weight_size(), panel, image_at(i), offsets, first,
                      sums);
      const std::int64_t row = panel * kTileRows;
      const std::int64_t rows = std::min(ConvPlanes::kRows, p.out - row);
      const std::int64_t count = std::min(ConvPlanes::kCols, planes.span() - first);
      for (std::int64_t r = 0; r < rows; ++r) {
        float* const line = sums + r * ConvPlanes::kCols;
        if (!bias.empty()) {
          const float add = bias[static_cast<std::size_t>(g * p.out + row + r)];
          for (std::int64_t j = 0; j < count; ++j) line[j] += add;
        }
        const std::int64_t to = ((done + i) * p.out + row + r) * p.positions;
        planes.for_results(first, count, [&](std::int64_t at, std::int64_t col, std::int64_t n) {
          store_row(DType::bf16, line + col, n, out.at(to + at));
        });
      }
    });
  }
}

}  // namespace hearth::cpu
