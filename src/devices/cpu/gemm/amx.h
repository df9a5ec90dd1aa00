// Products of bf16 in tiles: registers of 16 rows of 64 bytes, multiplied by one instruction.
//
// `Tiles` is the processor's instructions or their emulation, with tiles numbered from 0:
//   configure(), release()  before and after the others, on the same thread
//   load<t>(from, stride)   a tile whose rows lie `stride` bytes apart
//   zero<t>(), store<t>(to, stride)
//   dot<c, a, b>()          adds to row i, column j of c the products of row i of a, 16 pairs of
//                           values of k, and column j of b, whose row p holds pair p of 16 columns
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/integer_math.h"
#include "devices/cpu/gemm/amx_packing.h"
#include "devices/cpu/gemm/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)
#define HEARTH_AMX_X86 1
#define HEARTH_AMX __attribute__((target("amx-tile,amx-bf16")))
#else
#define HEARTH_AMX
#endif

namespace hearth::cpu {

// Two by two tiles of C take four registers, those of A and B two each: every tile that is loaded
// is used twice, which the load ports keep up with.
template <class Tiles>
struct AmxProduct {
  using Block = GemmBlock<bfloat16, std::uint32_t, float>;

  static HEARTH_AMX void run(const Block& g) {
    Tiles::configure();
    for (std::int64_t j = 0; j < g.n;) {
      const std::int64_t left = ceil_div(g.n - j, kTileCols);
      const std::int64_t across = panel_vectors(left, kTilesAcross);
      const std::int64_t cols = std::min(g.n - j, across * kTileCols);
      const std::int64_t width = across * kTileCols;
      const std::uint32_t* b = g.b + j * g.b_panel_stride + g.b_first * width;
      for (std::int64_t i = 0; i < g.m; i += 2 * kTileRows) {
        const std::int64_t rows = std::min(g.m - i, 2 * kTileRows);
        const bfloat16* a = g.a + i / kTileRows * g.a_panel_stride;
        float* c = g.c + i * g.c_row_stride + j;
        if (rows > kTileRows) {
          across == 2 ? part<2, 2>(g, a, b, c, rows, cols) : part<2, 1>(g, a, b, c, rows, cols);
        } else {
          across == 2 ? part<1, 2>(g, a, b, c, rows, cols) : part<1, 1>(g, a, b, c, rows, cols);
        }
      }
      j += width;
    }
    Tiles::release();
  }

  static HEARTH_AMX void walk(const AmxWalk& w) {
    Tiles::configure();
    for (std::int64_t j = 0; j < w.cols; j += 2 * kTileCols) {
      const bool beside = w.cols - j > kTileCols;
      const std::uint32_t* const b = w.b + j;
      float* const c = w.c + j;
      const Steps steps{w.a, kTileDepth,     w.a_panel_stride, kTileSize, w.b_row_stride,
                        0,   w.step_offsets, w.steps};
      if (w.rows > kTileRows) {
        beside ? sum<2, 2>(steps, b, c, w.c_row_stride, w.accumulate)
               : sum<2, 1>(steps, b, c, w.c_row_stride, w.accumulate);
      } else {
        beside ? sum<1, 2>(steps, b, c, w.c_row_stride, w.accumulate)
               : sum<1, 1>(steps, b, c, w.c_row_stride, w.accumulate);
      }
    }
    Tiles::release();
  }

 private:
  // Where the tiles of A and B lie for `count` steps of k: strides are in elements, those of B in
  // pairs; with `offsets`, step s of B is where they say.
  struct Steps {
    const bfloat16* a;
    std::int64_t a_row_stride, a_panel_stride, a_step;
    std::int64_t b_row_stride, b_step;
    const std::int64_t* offsets;
    std::int64_t count;
  };

  // `kDown` by `kAcross` tiles of C, of which `rows` and `cols` are there.
  template <int kDown, int kAcross>
  static HEARTH_AMX void part(const Block& g, const bfloat16* a, const std::uint32_t* b, float* c,
                              std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t kWidth = kAcross * kTileCols;
    const Steps steps{a,      g.a_row_stride,      g.a_panel_stride, g.a_step,
                      kWidth, kTilePairs * kWidth, nullptr,          ceil_div(g.k, kTileDepth)};
    if (rows == kDown * kTileRows && cols == kWidth) {
      return sum<kDown, kAcross>(steps, b, c, g.c_row_stride, g.accumulate);
    }
    alignas(64) float whole[kDown * kTileRows * kWidth] = {};
    const auto bytes = static_cast<std::size_t>(cols) * sizeof(float);
    if (g.accumulate) {
      for (std::int64_t i = 0; i < rows; ++i) {
        std::memcpy(whole + i * kWidth, c + i * g.c_row_stride, bytes);
      }
    }
    sum<kDown, kAcross>(steps, b, whole, kWidth, g.accumulate);
    for (std::int64_t i = 0; i < rows; ++i) {
      std::memcpy(c + i * g.c_row_stride, whole + i * kWidth, bytes);
    }
  }

  template <int kDown, int kAcross>
  static HEARTH_AMX void sum(const Steps& steps, const std::uint32_t* b_first, float* c,
                             std::int64_t c_stride, bool accumulate) {
    constexpr bool kBelow = kDown == 2, kBeside = kAcross == 2, kBoth = kBelow && kBeside;
    const std::int64_t c_bytes = c_stride * static_cast<std::int64_t>(sizeof(float));
    float* const below = c + kTileRows * c_stride;
    if (accumulate) {
      Tiles::template load<0>(c, c_bytes);
      if constexpr (kBeside) Tiles::template load<1>(c + kTileCols, c_bytes);
      if constexpr (kBelow) Tiles::template load<2>(below, c_bytes);
      if constexpr (kBoth) Tiles::template load<3>(below + kTileCols, c_bytes);
    } else {
      Tiles::template zero<0>();
      if constexpr (kBeside) Tiles::template zero<1>();
      if constexpr (kBelow) Tiles::template zero<2>();
      if constexpr (kBoth) Tiles::template zero<3>();
    }
    const std::int64_t a_bytes = steps.a_row_stride * static_cast<std::int64_t>(sizeof(bfloat16));
    const std::int64_t b_bytes =
        steps.b_row_stride * static_cast<std::int64_t>(sizeof(std::uint32_t));
    const std::int64_t a_panel = steps.a_panel_stride, a_step = steps.a_step;
    const std::int64_t b_step = steps.b_step, count = steps.count;
    const std::int64_t* const offsets = steps.offsets;
    const bfloat16* a = steps.a;
    const std::uint32_t* b = b_first;
    for (std::int64_t s = 0; s < count; ++s) {
      if (offsets != nullptr) b = b_first + offsets[s];
      Tiles::template load<6>(b, b_bytes);
      Tiles::template load<4>(a, a_bytes);
      Tiles::template dot<0, 4, 6>();
      if constexpr (kBeside) {
        Tiles::template load<7>(b + kTileCols, b_bytes);
        Tiles::template dot<1, 4, 7>();
      }
      if constexpr (kBelow) {
        Tiles::template load<5>(a + a_panel, a_bytes);
        Tiles::template dot<2, 5, 6>();
        if constexpr (kBeside) Tiles::template dot<3, 5, 7>();
      }
      a += a_step;
      b += b_step;
    }
    Tiles::template store<0>(c, c_bytes);
    if constexpr (kBeside) Tiles::template store<1>(c + kTileCols, c_bytes);
    if constexpr (kBelow) Tiles::template store<2>(below, c_bytes);
    if constexpr (kBoth) Tiles::template store<3>(below + kTileCols, c_bytes);
  }
};

}  // namespace hearth::cpu
