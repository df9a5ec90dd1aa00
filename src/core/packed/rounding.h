// How encoders round, and how they store what they rounded.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hearth/dtype.h"

namespace hearth::packed {

// The integer in [low, high] nearest to `value`, ties to even. NaN gives `low`. The bounds are
// integers below 2^22.
inline float nearest(float value, float low, float high) noexcept {
  constexpr float kOnes = 0x1.8p23f;  // floats from here on are integers
  const float limited = value > low ? (value < high ? value : high) : low;
  return (limited + kOnes) - kOnes;
}

// The nearest integer, ties away from zero, of what is below 2^22 in magnitude.
inline int nearest_away(float value) noexcept {
  const int whole = static_cast<int>(value);
  const float rest = value - static_cast<float>(whole);
  return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
}

// 1 / value; 0 where that is not finite.
inline float inverse(float value) noexcept {
  const float result = 1.0f / value;
  return std::isfinite(result) ? result : 0.0f;
}

// The f16 nearest to `value`, at most 65504 in magnitude.
inline float16 saturated_half(float value) noexcept {
  constexpr float kLargest = 65504.0f;
  return float16(value > kLargest ? kLargest : value < -kLargest ? -kLargest : value);
}

// ---- Little-endian fields

inline void put_u8(std::byte* at, unsigned value) noexcept {
  *at = static_cast<std::byte>(value & 0xffu);
}

inline void put_u16(std::byte* at, unsigned value) noexcept {
  put_u8(at, value);
  put_u8(at + 1, value >> 8);
}

inline void put_u32(std::byte* at, std::uint32_t value) noexcept {
  put_u16(at, value & 0xffffu);
  put_u16(at + 2, value >> 16);
}

// Stores saturated_half(value) and returns what was stored.
inline float put_half(std::byte* at, float value) noexcept {
  const float16 half = saturated_half(value);
  put_u16(at, half.bits);
  return static_cast<float>(half);
}

}  // namespace hearth::packed
