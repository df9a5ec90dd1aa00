// The hash step of plan keys: 64 bits folded by a 128-bit product.
#pragma once

#include <cstdint>

namespace hearth {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Folds the words [begin, end), two a product.
inline std::uint64_t mix_words(std::uint64_t hash, const std::uint64_t* begin,
                               const std::uint64_t* end) noexcept {
  __extension__ using Wide = unsigned __int128;
  for (; begin + 1 < end; begin += 2) {
    const Wide product =
        static_cast<Wide>(hash ^ begin[0] ^ 0x9e3779b97f4a7c15u) * (begin[1] ^ 0xd6e8feb86659fd93u);
    // The sum keeps the earlier hash where a factor is zero.
    hash = hash * 0x9fb21c651e98df25u +
           (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64));
  }
  return begin < end ? mix(hash, *begin) : hash;
}

}  // namespace hearth
