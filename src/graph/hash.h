// The hash step of plan keys: 64 bits folded by a 128-bit product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The hash of `words`: four chains side by side, so that the products overlap.
inline std::uint64_t hash_words(std::span<const std::uint64_t> words) noexcept {
  constexpr std::size_t kChains = 4;
  std::uint64_t chains[kChains] = {1, 2, 3, 4};
  std::size_t i = 0;
  for (; i + 2 * kChains <= words.size(); i += 2 * kChains) {
    for (std::size_t c = 0; c < kChains; ++c) {
      const std::uint64_t* pair = &words[i + 2 * c];
      __extension__ using Wide = unsigned __int128;
      const Wide product = static_cast<Wide>(chains[c] ^ pair[0] ^ 0x9e3779b97f4a7c15u) *
                           (pair[1] ^ 0xd6e8feb86659fd93u);
      // The sum keeps the earlier words where a factor is zero.
      chains[c] = chains[c] * 0x9fb21c651e98df25u +
                  (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64));
    }
  }
  std::uint64_t hash = words.size();
  for (const std::uint64_t chain : chains) hash = mix(hash, chain);
  for (; i < words.size(); ++i) hash = mix(hash, words[i]);
  return hash;
}

}  // namespace hearth
