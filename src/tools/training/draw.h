// Draws that depend on their keys alone, so that a run that resumes draws what an uninterrupted one
// would.
#pragma once

#include <cstdint>

namespace hearth::tools {

// A bijection of 64 bits in which every input bit reaches every output bit (the finalizer of
// SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
inline std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 64 bits of three keys.
inline std::uint64_t draw(std::uint64_t seed, std::uint64_t step, std::uint64_t row) noexcept {
  return mix(mix(mix(seed) ^ step) ^ row);
}

}  // namespace hearth::tools
