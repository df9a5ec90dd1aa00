// The hash step of plan keys: 64 bits folded by a 128-bit product.
#pragma once

#include <cstdint>

namespace hearth {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product =
      static_cast<Wide>(hash ^ word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace hearth
