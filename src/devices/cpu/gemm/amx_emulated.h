// The tile instructions in plain C++, for tests on processors without them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/thread_owned.h"
#include "devices/cpu/gemm/amx.h"

namespace hearth::cpu {

// As the instructions, but that subnormal numbers stay.
struct EmulatedAmx {
  static constexpr std::size_t kRowBytes = 64;
  using Tile = std::array<unsigned char, kTileRows * kRowBytes>;

  static void configure() { tiles().fill(Tile{}); }
  static void release() { tiles().fill(Tile{}); }

  template <int kTile>
  static void load(const void* from, std::int64_t stride) {
    Tile& tile = tiles()[kTile];
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      std::memcpy(&tile[static_cast<std::size_t>(i) * kRowBytes],
                  static_cast<const char*>(from) + i * stride, kRowBytes);
    }
  }
  template <int kTile>
  static void zero() {
    tiles()[kTile] = Tile{};
  }
  template <int kTile>
  static void store(void* to, std::int64_t stride) {
    const Tile& tile = tiles()[kTile];
    for (std::int64_t i = 0; i < kTileRows; ++i) {
      std::memcpy(static_cast<char*>(to) + i * stride,
                  &tile[static_cast<std::size_t>(i) * kRowBytes], kRowBytes);
    }
  }
  template <int kC, int kA, int kB>
  static void dot() {
    for (std::size_t i = 0; i < kTileRows; ++i) {
      for (std::size_t j = 0; j < kTileCols; ++j) {
        // Even and odd values of k are summed apart.
        float even = 0, odd = 0;
        for (std::size_t p = 0; p < kTilePairs; ++p) {
          const auto x = word(tiles()[kA], i, p), y = word(tiles()[kB], p, j);
          even = std::bit_cast<float>(x << 16) * std::bit_cast<float>(y << 16) + even;
          odd = std::bit_cast<float>(x & kHigh) * std::bit_cast<float>(y & kHigh) + odd;
        }
        unsigned char* const at = &tiles()[kC][i * kRowBytes + j * sizeof(float)];
        float sum = 0;
        std::memcpy(&sum, at, sizeof(sum));
        sum += even + odd;
        std::memcpy(at, &sum, sizeof(sum));
      }
    }
  }

 private:
  static constexpr std::uint32_t kHigh = 0xffff0000;

  static std::uint32_t word(const Tile& tile, std::size_t row, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, &tile[row * kRowBytes + at * sizeof(value)], sizeof(value));
    return value;
  }
  static std::array<Tile, 8>& tiles() { return ThreadOwned<std::array<Tile, 8>>::get(); }
};

}  // namespace hearth::cpu
