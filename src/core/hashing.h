// FNV-1a, and the finalizer of SplitMix64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

// FNV-1a of 64 bits, begun with kFnvBasis; `byte` is of 8 bits, or above them to separate parts.
inline constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325u;
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t byte) noexcept {
  return (hash ^ byte) * 0x100000001b3u;
}
constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes,
                              std::uint64_t hash = kFnvBasis) noexcept {
  for (const std::byte byte : bytes) hash = fnv1a(hash, std::to_integer<std::uint64_t>(byte));
  return hash;
}

// What SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) draws in the state `state`, of which the next
// is state + kSplitMix64Step: a bijection in which every input bit reaches every output bit.
inline constexpr std::uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t splitmix64(std::uint64_t state) noexcept {
  state += kSplitMix64Step;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

}  // namespace hearth
