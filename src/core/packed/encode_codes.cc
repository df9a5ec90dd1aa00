// q1_0 to q8_1: a scale a block, and codes of 1 to 8 bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/packed/encoders.h"
#include "core/packed/given_codes.h"
#include "core/packed/rounding.h"
#include "core/packed/scale_search.h"

namespace hearth::packed {
namespace {

constexpr std::size_t kCodes = kGivenCodes;  // elements of a block of q4_0 to q8_1
using BlockCodes = std::array<std::uint8_t, kCodes>;
using BlockValues = std::span<const float, kCodes>;

// Scales that importance weighs: more trials than without, by squared error.
constexpr Trials kWeightedTrials{-0.9f, 0.05f, 36, false};

// Sixteen bytes with two codes each, element i and i + 16; the fifth bits as a word before them.
void put_codes(std::span<const std::uint8_t, kCodes> codes, int bits, std::byte* at) {
  if (bits == 5) {
    std::uint32_t fifth = 0;
    for (std::size_t i = 0; i < kCodes; ++i) fifth |= std::uint32_t{codes[i] >> 4u & 1u} << i;
    put_u32(at, fifth);
    at += 4;
  }
  for (std::size_t i = 0; i < kCodes / 2; ++i) {
    put_u8(at + i, (codes[i] & 15u) | (codes[i + kCodes / 2] & 15u) << 4u);
  }
}

// The value that is largest in magnitude gets the least code exactly.
void encode_symmetric(int bits, BlockValues values, const float* weights, std::byte* block) {
  BlockCodes codes;
  const int half = 1 << (bits - 1);
  if (weights != nullptr) {
    put_half(block, fit_symmetric(values, {weights, kCodes}, half, codes.data()));
  } else {
    const float scale = extreme_of(values) / static_cast<float>(-half);
    const float factor = inverse(scale);
    const float shift = static_cast<float>(half) + 0.5f;
    for (std::size_t i = 0; i < kCodes; ++i) {
      const int code = static_cast<int>(values[i] * factor + shift);
      codes[i] = static_cast<std::uint8_t>(std::clamp(code, 0, 2 * half - 1));
    }
    put_half(block, scale);
  }
  put_codes(codes, bits, block + 2);
}

// Codes count from the minimum, which importance holds at zero or below.
void encode_range(DType dtype, BlockValues values, const float* weights, std::byte* block) {
  BlockCodes codes;
  float scale, least;
  const int top = dtype == DType::q4_1 ? 15 : 31;
  if (weights != nullptr) {
    const Range range = fit_range(values, {weights, kCodes}, top, kWeightedTrials, codes.data());
    scale = range.scale;
    least = -range.below;
  } else {
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    scale = (*highest - *lowest) / static_cast<float>(top);
    least = *lowest;
    const float factor = inverse(scale);
    for (std::size_t i = 0; i < kCodes; ++i) {
      const int code = static_cast<int>((values[i] - least) * factor + 0.5f);
      codes[i] = static_cast<std::uint8_t>(std::min(code, top));
    }
  }
  put_range(dtype, saturated_half(scale), saturated_half(least), codes, block);
}

void encode_eight_bits(bool has_sum, BlockValues values, std::byte* block) {
  const float scale = std::fabs(extreme_of(values)) / 127;
  const float factor = inverse(scale);
  put_half(block, scale);
  std::byte* codes = block + (has_sum ? 4 : 2);
  int sum = 0;
  for (std::size_t i = 0; i < kCodes; ++i) {
    const int code = nearest_away(values[i] * factor);
    put_u8(codes + i, static_cast<unsigned>(code));
    sum += code;
  }
  if (has_sum) put_half(block + 2, static_cast<float>(sum) * scale);
}

// The sign of each value, a bit set where it is not negative, times the mean magnitude.
void encode_signs(std::span<const float> values, std::byte* block) {
  float sum = 0;
  for (const float value : values) sum += std::fabs(value);
  put_half(block, sum / static_cast<float>(values.size()));
  for (std::size_t i = 0; i < values.size(); i += 8) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 8; ++j) bits |= (values[i + j] >= 0 ? 1u : 0u) << j;
    put_u8(block + 2 + i / 8, bits);
  }
}

// Multiples -1, 0, 1 of the largest magnitude as 0, 1, 2: the encoder has no use for the code 3.
void encode_two_bits(std::span<const float> values, std::byte* block) {
  const float scale = std::fabs(extreme_of(values));
  const float factor = inverse(scale);
  put_half(block, scale);
  for (std::size_t i = 0; i < values.size(); i += 4) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 4; ++j) {
      bits |= static_cast<unsigned>(nearest_away(values[i + j] * factor) + 1) << 2 * j;
    }
    put_u8(block + 2 + i / 4, bits);
  }
}

void encode_block(DType dtype, std::span<const float> values, const float* weights,
                  std::byte* block) {
  switch (dtype) {
    case DType::q1_0:
      return encode_signs(values, block);
    case DType::q2_0:
      return encode_two_bits(values, block);
    case DType::q4_0:
      return encode_symmetric(4, values.first<kCodes>(), weights, block);
    case DType::q5_0:
      return encode_symmetric(5, values.first<kCodes>(), weights, block);
    case DType::q4_1:
    case DType::q5_1:
      return encode_range(dtype, values.first<kCodes>(), weights, block);
    default:
      return encode_eight_bits(dtype == DType::q8_1, values.first<kCodes>(), block);
  }
}

}  // namespace

void put_range(DType dtype, float16 scale, float16 least, GivenCodes codes, std::byte* block) {
  put_u16(block, scale.bits);
  put_u16(block + 2, least.bits);
  put_codes(codes, dtype == DType::q4_1 ? 4 : 5, block + 4);
}

void encode_codes(DType dtype, const Row& row, std::byte* blocks) {
  const std::int64_t extent = block_of(dtype);
  const bool is_searched =
      dtype == DType::q4_0 || dtype == DType::q4_1 || dtype == DType::q5_0 || dtype == DType::q5_1;
  const bool is_weighted = is_searched && row.importance != nullptr;
  const auto count = static_cast<std::size_t>(row.elements);
  const float mean_square =
      is_weighted ? sum_of_squares({row.values, count}) / static_cast<float>(count) : 0;
  for (std::int64_t first = 0; first < row.elements; first += extent) {
    const std::span<const float> values(row.values + first, static_cast<std::size_t>(extent));
    std::array<float, kCodes> weights;
    bool is_led = false;
    if (is_weighted) {
      scaled_weights(values, row.importance + first, mean_square, weights.data());
      is_led = can_lead(weights);
    }
    encode_block(dtype, values, is_led ? weights.data() : nullptr, blocks);
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
