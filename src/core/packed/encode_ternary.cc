// tq1_0 and tq2_0: multiples -1, 0, 1 of the largest magnitude of 256 elements, as digits 0, 1, 2.
#include <array>
#include <cmath>
#include <span>

#include "core/packed/encoders.h"
#include "core/packed/rounding.h"
#include "core/packed/scale_search.h"

namespace hearth::packed {
namespace {

constexpr std::size_t kTernary = 256;
using Digits = std::array<std::uint8_t, kTernary>;

// Returns the scale.
float round_to_digits(std::span<const float, kTernary> values, Digits& digits) {
  const float scale = std::fabs(extreme_of(values));
  const float factor = inverse(scale);
  for (std::size_t i = 0; i < kTernary; ++i) {
    digits[i] = static_cast<std::uint8_t>(nearest_away(values[i] * factor) + 1);
  }
  return scale;
}

// `width` bytes with `planes` digits each, element i of plane p being i + p * width. A byte holds
// its digits as a fraction of base 3 in units of 1/256, rounded up: multiplying by 3 moves the
// next digit above the byte. The first digit is the most significant, of five.
void put_fractions(const std::uint8_t* digits, std::size_t width, std::size_t planes,
                   std::byte* at) {
  constexpr unsigned kFractions = 243;  // 3^5
  for (std::size_t i = 0; i < width; ++i) {
    unsigned number = 0;
    for (std::size_t plane = 0; plane < 5; ++plane) {
      number = 3 * number + (plane < planes ? digits[plane * width + i] : 0u);
    }
    put_u8(at + i, (number * 256 + kFractions - 1) / kFractions);
  }
}

}  // namespace

void encode_ternary(DType dtype, const Row& row, std::byte* blocks) {
  for (std::int64_t first = 0; first < row.elements; first += std::int64_t{kTernary}) {
    Digits digits;
    const float scale =
        round_to_digits(std::span<const float, kTernary>(row.values + first, kTernary), digits);
    if (dtype == DType::tq1_0) {
      put_fractions(digits.data(), 32, 5, blocks);
      put_fractions(digits.data() + 160, 16, 5, blocks + 32);
      put_fractions(digits.data() + 240, 4, 4, blocks + 48);
      put_half(blocks + 52, scale);
    } else {
      for (std::size_t i = 0; i < kTernary / 4; ++i) {
        const std::uint8_t* of_byte = digits.data() + i / 32 * 128 + i % 32;
        put_u8(blocks + i, of_byte[0] | of_byte[32] << 2u | of_byte[64] << 4u | of_byte[96] << 6u);
      }
      put_half(blocks + 64, scale);
    }
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
