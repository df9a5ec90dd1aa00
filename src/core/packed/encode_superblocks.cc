// q2_k to q6_k and q8_k: 256 elements in groups of 16 or 32, whose scales are codes of their own
// under a scale of the block.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "core/packed/encoders.h"
#include "core/packed/rounding.h"
#include "core/packed/scale_search.h"

namespace hearth::packed {
namespace {

constexpr std::size_t kSuper = 256;
constexpr std::size_t kMostGroups = 16;
using SuperCodes = std::array<std::uint8_t, kSuper>;
using GroupCodes = std::array<std::uint8_t, kMostGroups>;
using GroupNumbers = std::array<float, kMostGroups>;

// Blocks of values, or of values with their importance.
struct Super {
  std::span<const float, kSuper> values;
  const float* importance;

  [[nodiscard]] std::span<const float> group(std::size_t first, std::size_t extent) const {
    return values.subspan(first, extent);
  }
};

// ---- Where codes lie

// Two bits a code: byte i of 32 has those of elements i, i + 32, i + 64, i + 96 of its 128.
void put_two_bits(const SuperCodes& codes, unsigned shift, std::byte* at) {
  for (std::size_t i = 0; i < kSuper / 4; ++i) {
    const std::uint8_t* of_byte = codes.data() + i / 32 * 128 + i % 32;
    unsigned bits = 0;
    for (unsigned j = 0; j < 4; ++j) bits |= (of_byte[32 * j] >> shift & 3u) << 2 * j;
    put_u8(at + i, bits);
  }
}

// Four bits a code: byte i of 32 has those of elements i and i + `apart`, in runs of 2 * apart.
void put_four_bits(const SuperCodes& codes, std::size_t apart, std::byte* at) {
  for (std::size_t i = 0; i < kSuper / 2; ++i) {
    const std::uint8_t* of_byte = codes.data() + i / apart * 2 * apart + i % apart;
    put_u8(at + i, (of_byte[0] & 15u) | (of_byte[apart] & 15u) << 4u);
  }
}

// One bit a code: bit j of byte i is that of element i + 32 * j.
void put_high_bits(const SuperCodes& codes, unsigned shift, std::byte* at) {
  for (std::size_t i = 0; i < 32; ++i) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 8; ++j) bits |= (codes[i + 32 * j] >> shift & 1u) << j;
    put_u8(at + i, bits);
  }
}

// Twelve bytes with eight scales and eight minimums of six bits: of the first four groups whole, of
// the others the lower bits together, and the upper bits above the former.
void put_scales_and_minimums(const GroupCodes& scales, const GroupCodes& minimums, std::byte* at) {
  for (std::size_t i = 0; i < 4; ++i) {
    const unsigned scale = scales[i + 4], minimum = minimums[i + 4];
    put_u8(at + i, scales[i] | scale >> 4 << 6);
    put_u8(at + i + 4, minimums[i] | minimum >> 4 << 6);
    put_u8(at + i + 8, (scale & 15u) | (minimum & 15u) << 4);
  }
}

// Twelve bytes with 16 scales of six bits: the lower four of i and i + 8, then the upper two of
// i, i + 4, i + 8, i + 12.
void put_six_bit_scales(const GroupCodes& scales, std::byte* at) {
  for (std::size_t i = 0; i < 8; ++i) {
    put_u8(at + i, (scales[i] & 15u) | (scales[i + 8] & 15u) << 4);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 4; ++j) bits |= unsigned{scales[i + 4 * j]} >> 4 << 2 * j;
    put_u8(at + i + 8, bits);
  }
}

// ---- q2_k, q4_k, q5_k: value = scale * code - minimum

struct RangeFormat {
  std::size_t extent;  // of a group
  int top;             // codes are in [0, top]
  int scale_top;       // those of scales and minimums in [0, scale_top]
  Trials trials;       // without importance
};

constexpr Trials kManyTrials{-0.9f, 0.05f, 36, false};  // with importance

struct RangeBlock {
  SuperCodes codes;
  GroupCodes scales, minimums;
  float16 scale, minimum;  // what a code of a scale, of a minimum is a multiple of
};

void range_weights(const RangeFormat& format, std::span<const float> group, float* weights) {
  if (format.trials.is_absolute) {
    for (std::size_t i = 0; i < group.size(); ++i) weights[i] = std::fabs(group[i]);
    return;
  }
  const float typical = std::sqrt(sum_of_squares(group) / static_cast<float>(group.size()));
  for (std::size_t i = 0; i < group.size(); ++i) weights[i] = typical + std::fabs(group[i]);
}

// Codes in proportion to the largest number. Returns what a code is a multiple of.
float proportional_codes(std::span<const float> numbers, int top, GroupCodes& codes) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, number);
  const auto high = static_cast<float>(top);
  const float factor = largest > 0 ? high / largest : 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(nearest(factor * numbers[i], 0, high));
  }
  return largest / high;
}

// Codes under the scales as they are stored; groups whose scale is 0 keep what they have.
void requantize(const RangeFormat& format, const Super& super, RangeBlock& block) {
  const auto scale = static_cast<float>(block.scale);
  const auto minimum = static_cast<float>(block.minimum);
  for (std::size_t first = 0; first < kSuper; first += format.extent) {
    const std::size_t group = first / format.extent;
    const float unit = scale * static_cast<float>(block.scales[group]);
    if (unit == 0) continue;
    const float below = minimum * static_cast<float>(block.minimums[group]);
    for (std::size_t i = first; i < first + format.extent; ++i) {
      const float code =
          nearest((super.values[i] + below) / unit, 0, static_cast<float>(format.top));
      block.codes[i] = static_cast<std::uint8_t>(code);
    }
  }
}

// Weights of a group by its importance, and its weight in the block: 0 where they cannot lead.
bool weigh_group(const Super& super, std::size_t first, float mean_square, std::span<float> weights,
                 float& of_group) {
  scaled_weights(super.group(first, weights.size()), super.importance + first, mean_square,
                 weights.data());
  of_group = 0;
  if (!can_lead(weights)) return false;
  for (const float weight : weights) of_group += weight;
  return true;
}

RangeBlock fit_range_block(const RangeFormat& format, const Super& super) {
  RangeBlock block;
  GroupNumbers scales, minimums, group_weights;
  const std::size_t groups = kSuper / format.extent;
  float mean_square = 0;
  if (super.importance != nullptr) {
    const float sum = sum_of_squares(super.values);
    mean_square = (format.top == 3 ? sum : 2 * sum) / static_cast<float>(kSuper);
  }
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t first = group * format.extent;
    const std::span<const float> values = super.group(first, format.extent);
    std::array<float, 32> numbers;
    const std::span<float> weights(numbers.data(), format.extent);
    const bool is_led = super.importance != nullptr &&
                        weigh_group(super, first, mean_square, weights, group_weights[group]);
    if (!is_led) range_weights(format, values, weights.data());
    const Range range = fit_range(values, weights, format.top, is_led ? kManyTrials : format.trials,
                                  block.codes.data() + first);
    scales[group] = range.scale;
    minimums[group] = range.below;
  }
  const std::span<const float> all_scales(scales.data(), groups);
  const std::span<const float> all_minimums(minimums.data(), groups);
  const std::span<float> weights(group_weights.data(), groups);
  if (super.importance != nullptr && weigh_every_group(weights)) {
    const int top = format.scale_top;
    block.scale = saturated_half(fit_positive(all_scales, weights, top, block.scales.data()));
    block.minimum = saturated_half(fit_positive(all_minimums, weights, top, block.minimums.data()));
  } else {
    block.scale = saturated_half(proportional_codes(all_scales, format.scale_top, block.scales));
    block.minimum =
        saturated_half(proportional_codes(all_minimums, format.scale_top, block.minimums));
  }
  requantize(format, super, block);
  return block;
}

void encode_q2_k(const Super& super, std::byte* at) {
  constexpr RangeFormat kFormat{16, 3, 15, {-0.5f, 0.1f, 15, true}};
  const RangeBlock block = fit_range_block(kFormat, super);
  for (std::size_t i = 0; i < 16; ++i) put_u8(at + i, block.scales[i] | block.minimums[i] << 4u);
  put_two_bits(block.codes, 0, at + 16);
  put_u16(at + 80, block.scale.bits);
  put_u16(at + 82, block.minimum.bits);
}

void encode_q4_or_q5_k(bool has_fifth_bit, const Super& super, std::byte* at) {
  constexpr RangeFormat kFour{32, 15, 63, {-1.0f, 0.1f, 20, false}};
  constexpr RangeFormat kFive{32, 31, 63, {-0.5f, 0.1f, 15, false}};
  const RangeBlock block = fit_range_block(has_fifth_bit ? kFive : kFour, super);
  put_u16(at, block.scale.bits);
  put_u16(at + 2, block.minimum.bits);
  put_scales_and_minimums(block.scales, block.minimums, at + 4);
  if (has_fifth_bit) put_high_bits(block.codes, 4, at + 16);
  put_four_bits(block.codes, 32, at + (has_fifth_bit ? 48 : 16));
}

// ---- q3_k, q6_k: value = scale * (code - half)

// Codes under scale * scales[group], where that is not 0.
void requantize_symmetric(const Super& super, float scale, const std::array<float, 16>& scales,
                          int half, SuperCodes& codes) {
  const auto low = static_cast<float>(-half);
  for (std::size_t i = 0; i < kSuper; ++i) {
    const float unit = scale * scales[i / 16];
    if (unit == 0) continue;
    codes[i] = static_cast<std::uint8_t>(nearest(super.values[i] / unit, low, -low - 1) - low);
  }
}

void encode_q3_k(const Super& super, std::byte* at) {
  SuperCodes codes;
  GroupNumbers scales, group_weights;
  const float mean_square =
      super.importance != nullptr ? 2 * sum_of_squares(super.values) / kSuper : 0;
  for (std::size_t group = 0; group < 16; ++group) {
    const std::size_t first = 16 * group;
    const std::span<const float> values = super.group(first, 16);
    std::array<float, 16> weights;
    const bool is_led = super.importance != nullptr &&
                        weigh_group(super, first, mean_square, weights, group_weights[group]);
    scales[group] = is_led ? fit_symmetric(values, weights, 4, codes.data() + first)
                           : fit_by_moves(values, 4, codes.data() + first);
  }
  GroupCodes scale_codes{};
  float scale = 0;
  if (super.importance != nullptr && weigh_every_group(group_weights)) {
    scale = fit_symmetric(scales, group_weights, 32, scale_codes.data());
  } else if (const float extreme = extreme_of(scales); extreme != 0) {
    const float factor = -32.0f / extreme;
    for (std::size_t i = 0; i < 16; ++i) {
      scale_codes[i] = static_cast<std::uint8_t>(nearest(factor * scales[i], -32, 31) + 32);
    }
    scale = inverse(factor);
  }
  const float stored = put_half(at + 108, scale);
  std::array<float, 16> multiples;
  for (std::size_t i = 0; i < 16; ++i) multiples[i] = static_cast<float>(scale_codes[i]) - 32;
  requantize_symmetric(super, stored, multiples, 4, codes);
  put_high_bits(codes, 2, at);
  put_two_bits(codes, 0, at + 32);
  put_six_bit_scales(scale_codes, at + 96);
}

void encode_q6_k(const Super& super, std::byte* at) {
  SuperCodes codes;
  GroupNumbers scales;
  for (std::size_t group = 0; group < 16; ++group) {
    const std::size_t first = 16 * group;
    const std::span<const float> values = super.group(first, 16);
    std::array<float, 16> squares;
    for (std::size_t i = 0; i < 16; ++i) squares[i] = values[i] * values[i];
    std::span<const float> weights = squares;
    if (super.importance != nullptr) {
      const std::span<const float> importance(super.importance + first, 16);
      if (can_lead(importance)) weights = importance;
    }
    scales[group] = fit_symmetric(values, weights, 32, codes.data() + first);
  }
  const float extreme = extreme_of(scales);
  if (std::fabs(extreme) < 1e-15f) {
    std::memset(at, 0, 210);
    return;
  }
  const float factor = -128.0f / extreme;
  const float stored = put_half(at + 208, 1 / factor);
  std::array<float, 16> multiples;
  for (std::size_t i = 0; i < 16; ++i) {
    multiples[i] = nearest(factor * scales[i], -128, 127);
    put_u8(at + 192 + i, static_cast<unsigned>(static_cast<int>(multiples[i])));
  }
  requantize_symmetric(super, stored, multiples, 32, codes);
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint8_t* of_byte = codes.data() + 128 * half + i;
      put_u8(at + 64 * half + i, (of_byte[0] & 15u) | (of_byte[64] & 15u) << 4);
    }
  }
  put_two_bits(codes, 4, at + 128);
}

// ---- q8_k: the extreme becomes -127; the sums of 16 codes follow

void encode_q8_k(const Super& super, std::byte* at) {
  const float factor = -127.0f / extreme_of(super.values);
  std::memset(at, 0, 292);
  if (!std::isfinite(factor)) return;
  const float scale = 1 / factor;
  put_u32(at, std::bit_cast<std::uint32_t>(scale));
  for (std::size_t group = 0; group < 16; ++group) {
    int sum = 0;
    for (std::size_t i = 16 * group; i < 16 * group + 16; ++i) {
      const auto code = static_cast<int>(nearest(factor * super.values[i], -127, 127));
      put_u8(at + 4 + i, static_cast<unsigned>(code));
      sum += code;
    }
    put_u16(at + 260 + 2 * group, static_cast<unsigned>(sum));
  }
}

}  // namespace

void encode_superblocks(DType dtype, const Row& row, std::byte* blocks) {
  for (std::int64_t first = 0; first < row.elements; first += std::int64_t{kSuper}) {
    const Super super{std::span<const float, kSuper>(row.values + first, kSuper),
                      row.importance != nullptr ? row.importance + first : nullptr};
    switch (dtype) {
      case DType::q2_k:
        encode_q2_k(super, blocks);
        break;
      case DType::q3_k:
        encode_q3_k(super, blocks);
        break;
      case DType::q4_k:
      case DType::q5_k:
        encode_q4_or_q5_k(dtype == DType::q5_k, super, blocks);
        break;
      case DType::q6_k:
        encode_q6_k(super, blocks);
        break;
      default:
        encode_q8_k(super, blocks);
    }
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
