// Random numbers by counting: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
// as easy as 1, 2, 3", 2011), and how words become values. These functions are the definition; all
// devices give their bits (normal: within 4 ulp).
//
// A tensor is drawn with a (seed, counter) of its own. Block b of its stream is
// philox(seed, b, counter): four words. An element takes
//   one word:  uniform and normal of f32, f16, bf16; bits below 64; bernoulli of every dtype (but
//              for rare ones, see philox_bernoulli):
//              element i takes word i % 4 of block i / 4
//   two words: uniform and normal of f64, 64-bit bits, integers of every dtype:
//              element i takes words 2 * (i % 2), + 1 (low word first) of block i / 2
// Normal values come in pairs: elements 2p and 2p + 1 share what both would take.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hearth {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xd2511f53u;
inline constexpr std::uint32_t kPhiloxMultiplier1 = 0xcd9e8d57u;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9e3779b9u;
inline constexpr std::uint32_t kPhiloxWeyl1 = 0xbb67ae85u;
inline constexpr int kPhiloxRounds = 10;

inline PhiloxBlock philox(std::uint64_t seed, std::uint64_t block, std::uint64_t counter) noexcept {
  auto word = [](std::uint64_t value, int shift) {
    return static_cast<std::uint32_t>(value >> shift);
  };
  std::uint32_t x0 = word(block, 0), x1 = word(block, 32);
  std::uint32_t x2 = word(counter, 0), x3 = word(counter, 32);
  std::uint32_t k0 = word(seed, 0), k1 = word(seed, 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMultiplier0} * x0;
    const std::uint64_t p1 = std::uint64_t{kPhiloxMultiplier1} * x2;
    x0 = word(p1, 32) ^ x1 ^ k0;
    x1 = word(p1, 0);
    x2 = word(p0, 32) ^ x3 ^ k1;
    x3 = word(p0, 0);
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  return {x0, x1, x2, x3};
}

inline std::uint64_t philox_pair(std::uint32_t low, std::uint32_t high) noexcept {
  return std::uint64_t{low} | (std::uint64_t{high} << 32);
}

// [0, 1) from the top 24 bits of a word, and from the top 53 bits of a pair.
inline float philox_unit(std::uint32_t word) noexcept {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}
inline double philox_unit(std::uint64_t pair) noexcept {
  return static_cast<double>(pair >> 11) * 0x1p-53;
}

// [lo, hi) from u in [0, 1), product and sum rounded one after the other. Never hi (unless lo is).
template <class T>
T philox_uniform(T u, T lo, T hi) noexcept {
  const T value = lo + u * (hi - lo);
  return value < hi ? value : std::max(lo, std::nextafter(hi, lo));
}

// The two values of a pair by Box and Muller: radius from the first, angle from the second.
inline void philox_normal(std::uint32_t first, std::uint32_t second, float* values) noexcept {
  constexpr float kTwoPi = 6.2831853071795864769f;
  const float u = static_cast<float>((first >> 8) + 1) * 0x1p-24f;  // (0, 1]
  const float radius = std::sqrt(-2.0f * std::log(u));
  const float angle = kTwoPi * philox_unit(second);
  values[0] = radius * std::cos(angle);
  values[1] = radius * std::sin(angle);
}
inline void philox_normal(std::uint64_t first, std::uint64_t second, double* values) noexcept {
  constexpr double kTwoPi = 6.2831853071795864769;
  const double u = static_cast<double>((first >> 11) + 1) * 0x1p-53;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = kTwoPi * philox_unit(second);
  values[0] = radius * std::cos(angle);
  values[1] = radius * std::sin(angle);
}

// True with probability p: by the top 24 bits of element i's word, or below kPhiloxRare by 64 bits,
// of which the lower half is the word at the same place of block i / 4 + 2^63. Only an upper half
// equal to that of p needs it.
inline constexpr double kPhiloxRare = 0x1p-12;
inline std::uint32_t philox_second_word(std::uint64_t seed, std::uint64_t i,
                                        std::uint64_t counter) noexcept {
  return philox(seed, i / 4 | std::uint64_t{1} << 63, counter)[i % 4];
}
// ceil(p * 2^64), for p below kPhiloxRare.
inline std::uint64_t philox_rare_limit(double p) noexcept {
  return static_cast<std::uint64_t>(std::ceil(p * 0x1p64));
}
inline bool philox_bernoulli(std::uint32_t word, std::uint32_t second_word, double p) noexcept {
  if (p >= kPhiloxRare) return static_cast<double>(philox_unit(word)) < p;
  return philox_pair(second_word, word) < philox_rare_limit(p);
}

// [lo, hi) by the high half of a 128-bit product; lo where the range is empty.
inline std::int64_t philox_integer(std::uint64_t pair, std::int64_t lo, std::int64_t hi) noexcept {
  if (hi <= lo) return lo;
  const std::uint64_t range = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  const std::uint64_t a = pair >> 32, b = pair & 0xffffffffu;
  const std::uint64_t c = range >> 32, d = range & 0xffffffffu;
  const std::uint64_t middle = b * c + (b * d >> 32);
  const std::uint64_t cross = a * d + (middle & 0xffffffffu);
  const std::uint64_t high = a * c + (middle >> 32) + (cross >> 32);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + high);
}

// Shuffles `count` values, every order equally likely (Fisher and Yates), with the pairs of the
// stream one after the other. Which pair a value takes depends on the pairs before: a place below
// `range` is a pair modulo `range`, and the 2^64 % range lowest pairs, which would make some places
// likelier, are passed over.
template <class T>
void philox_shuffle(std::uint64_t seed, std::uint64_t counter, T* values, std::uint64_t count) {
  PhiloxBlock block{};
  std::uint64_t taken = 0;
  const auto next_pair = [&] {
    if (taken % 2 == 0) block = philox(seed, taken / 2, counter);
    const std::size_t first = taken++ % 2 * 2;
    return philox_pair(block[first], block[first + 1]);
  };
  for (std::uint64_t range = count; range > 1; --range) {
    const std::uint64_t passed_over = (0 - range) % range;
    std::uint64_t pair = next_pair();
    while (pair < passed_over) pair = next_pair();
    std::swap(values[range - 1], values[pair % range]);
  }
}

}  // namespace hearth
