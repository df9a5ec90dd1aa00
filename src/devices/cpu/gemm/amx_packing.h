// The shape of tiles of bf16, and how operands are packed for them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "devices/cpu/gemm/kernels.h"

namespace hearth::cpu {

inline constexpr std::int64_t kTileRows = 16;
inline constexpr std::int64_t kTileCols = 16;
inline constexpr std::int64_t kTilePairs = 16;                     // of values of k
inline constexpr std::int64_t kTileDepth = 2 * kTilePairs;         // values of k
inline constexpr std::int64_t kTileSize = kTileRows * kTileDepth;  // values of A in a tile
inline constexpr std::int64_t kTilesAcross = 2;  // of C in registers, with as many down

// Fills the last tile of panels of B with zeros after `rows` rows, the first of them pair `first`.
inline void end_tile_panels(std::int64_t rows, std::int64_t n, std::int64_t height,
                            std::int64_t first, std::uint32_t* dst) {
  const std::int64_t pairs = (rows + 1) / 2;
  const std::int64_t whole = round_up(pairs, kTilePairs);
  if (pairs == whole) return;
  for (std::int64_t j = 0; j < n;) {
    const std::int64_t left = ceil_div(n - j, kTileCols);
    const std::int64_t width = panel_vectors(left, kTilesAcross) * kTileCols;
    std::fill(dst + j * height + (first + pairs) * width,
              dst + j * height + (first + whole) * width, 0u);
    j += width;
  }
}

namespace portable {

inline void pack_tiles(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride,
                       std::int64_t m, std::int64_t k, bfloat16* dst) {
  for (std::int64_t i = 0; i < m; i += kTileRows) {
    for (std::int64_t p = 0; p < k; p += kTileDepth) {
      for (std::int64_t row = i; row < i + kTileRows; ++row) {
        for (std::int64_t at = p; at < p + kTileDepth; ++at) {
          *dst++ = row < m && at < k ? src[row * row_stride + at * col_stride] : bfloat16();
        }
      }
    }
  }
}

inline void pack_panels(const bfloat16* src, std::int64_t row_stride, std::int64_t col_stride,
                        std::int64_t rows, std::int64_t n, std::int64_t height, std::int64_t,
                        std::int64_t first, std::int64_t, std::uint32_t* dst) {
  for (std::int64_t j = 0; j < n;) {
    const std::int64_t left = ceil_div(n - j, kTileCols);
    const std::int64_t width = panel_vectors(left, kTilesAcross) * kTileCols;
    for (std::int64_t p = 0; p < rows; p += 2) {
      std::uint32_t* const out = dst + j * height + (first + p / 2) * width;
      for (std::int64_t x = 0; x < width; ++x) {
        const auto bits = [&](std::int64_t row) -> std::uint32_t {
          if (row >= rows || j + x >= n) return 0;
          return src[row * row_stride + (j + x) * col_stride].bits;
        };
        out[x] = bits(p) | bits(p + 1) << 16;
      }
    }
    j += width;
  }
  end_tile_panels(rows, n, height, first, dst);
}

}  // namespace portable

inline constexpr AmxPacking kPortableAmxPacking = {portable::pack_tiles, portable::pack_panels};

}  // namespace hearth::cpu
