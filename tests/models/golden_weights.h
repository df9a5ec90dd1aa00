// The weights of the tiny models in tests/golden/models, made by a formula instead of being stored;
// scripts/golden/model_weights.py is the same formula in Python. Element i of a tensor is
//
//   h = splitmix64(fnv1a(name) + i)
//   u = ((h >> 40) - 2^23) / 2^23        -1 <= u < 1
//   value = f32(base + scale * u)        in f64, rounded once
//
// The bases and scales of files have few bits, so the sum is exact before it is rounded.
#pragma once

#include <cstdint>
#include <string_view>

namespace hearth::testing {

inline std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) {
    value = (value ^ static_cast<unsigned char>(c)) * std::uint64_t{0x100000001b3u};
  }
  return value;
}

inline std::uint64_t splitmix64(std::uint64_t state) noexcept {
  state += std::uint64_t{0x9e3779b97f4a7c15u};
  state = (state ^ (state >> 30)) * std::uint64_t{0xbf58476d1ce4e5b9u};
  state = (state ^ (state >> 27)) * std::uint64_t{0x94d049bb133111ebu};
  return state ^ (state >> 31);
}

// Element `index` of the tensor whose name has the hash `name_hash`.
inline float golden_weight(std::uint64_t name_hash, std::uint64_t index, double base,
                           double scale) noexcept {
  const std::uint64_t bits = splitmix64(name_hash + index) >> 40;
  const double u = (static_cast<double>(bits) - 0x1p23) / 0x1p23;
  return static_cast<float>(base + scale * u);
}

}  // namespace hearth::testing
