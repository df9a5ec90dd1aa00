// iq1, iq2 and iq3: entries of codebooks under scales of groups, of which codebook_fit.h finds
// those that fit. Weights are importance * sqrt(2 * mean square + value^2), the mean of the block.
// The importance is 1 where there is none, and where all of a block would weigh nothing; where all
// of a group would, it is the least mean of another group.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "core/packed/codebook_fit.h"
#include "core/packed/encoders.h"
#include "core/packed/rounding.h"
#include "core/packed/scale_search.h"

namespace hearth::packed {
namespace {

constexpr std::size_t kBlockElements = CodebookBlock::kElements;
constexpr std::size_t kSmallGroup = 16;
using Signs = std::array<std::uint8_t, kBlockElements / 8>;  // of eight elements each

constexpr float kIq2Levels[] = {8, 25, 43};
constexpr float kIq3XxsLevels[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float kIq3SLevels[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr float kIq1Levels[] = {-1, 0, 1};
constexpr float kEighth = 0.125f;  // the shift of iq1

// Beginnings of the search, by what was found of Gaussian and of heavy-tailed rows.
constexpr float kOfTypical[] = {1.6f, 1.9f, 2.3f};
constexpr float kOfLargest[] = {0.8f, 1.0f};
constexpr float kIq1OfTypical[] = {1.0f, 1.3f};

// Elements of a group, which share a scale.
std::size_t group_extent(DType dtype) {
  const bool is_small = dtype == DType::iq1_m || dtype == DType::iq2_xs || dtype == DType::iq2_s;
  return is_small ? kSmallGroup : 2 * kSmallGroup;
}

void weigh(const float* values, const float* importance, std::size_t extent, CodebookBlock& block) {
  std::copy(values, values + kBlockElements, block.values.begin());
  const float mean_square = sum_of_squares(block.values) / static_cast<float>(kBlockElements);
  for (std::size_t i = 0; i < kBlockElements; ++i) {
    block.weights[i] = std::sqrt(2 * mean_square + block.values[i] * block.values[i]);
  }
  if (importance == nullptr) return;
  std::array<float, kBlockElements> weights;
  scaled_weights(block.values, importance, 2 * mean_square, weights.data());
  std::array<float, kBlockElements / kSmallGroup> own{};  // importance of groups
  for (std::size_t i = 0; i < kBlockElements; ++i) own[i / extent] += importance[i];
  for (std::size_t group = 0; group < kBlockElements / extent; ++group) {
    if (!can_lead({weights.data() + group * extent, extent})) own[group] = 0;
  }
  auto shared = own;
  if (!weigh_every_group(shared)) return;
  for (std::size_t i = 0; i < kBlockElements; ++i) {
    const std::size_t group = i / extent;
    if (own[group] > 0) {
      block.weights[i] = weights[i];
    } else {
      block.weights[i] *= shared[group] / static_cast<float>(extent);
    }
  }
}

// Leaves magnitudes. An even number of signs in each eight takes one more where there is an odd:
// where it costs least, that value becomes negative.
Signs take_signs(bool is_even, CodebookBlock& block) {
  Signs signs{};
  for (std::size_t eighth = 0; eighth < signs.size(); ++eighth) {
    float* values = block.values.data() + 8 * eighth;
    const float* weights = block.weights.data() + 8 * eighth;
    unsigned bits = 0, count = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if (!(values[i] < 0)) continue;
      values[i] = -values[i];
      bits |= 1u << i;
      ++count;
    }
    if (is_even && count % 2 == 1) {
      unsigned least = 0;
      for (unsigned i = 1; i < 8; ++i) {
        if (weights[i] * values[i] < weights[least] * values[least]) least = i;
      }
      values[least] = -values[least];
      bits ^= 1u << least;
    }
    signs[eighth] = static_cast<std::uint8_t>(bits);
  }
  return signs;
}

// Seven of eight signs of four eights: the last follows from the others.
std::uint32_t four_of_seven_signs(const Signs& signs, std::size_t first) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) word |= std::uint32_t{signs[first + i] & 127u} << 7 * i;
  return word;
}

// Bytes of two multiples of four bits.
void put_multiples(const CodebookBlock& block, std::size_t count, std::byte* at) {
  for (std::size_t i = 0; i < count; i += 2) {
    put_u8(at + i / 2, block.multiples[i] | block.multiples[i + 1] << 4u);
  }
}

void encode_iq2_xxs(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{4, 16, 0.125f, kIq2Levels, kOfTypical, kOfLargest};
  const Signs signs = take_signs(true, block);
  fit_codebook(ternary_codebook(DType::iq2_xxs), kShape, block);
  put_u16(at, block.scale.bits);
  for (std::size_t group = 0; group < 8; ++group) {
    std::byte* group_at = at + 2 + 8 * group;
    for (std::size_t v = 0; v < 4; ++v) put_u8(group_at + v, block.entries[4 * group + v]);
    put_u32(group_at + 4,
            four_of_seven_signs(signs, 4 * group) | std::uint32_t{block.multiples[group]} << 28);
  }
}

void encode_iq2_xs(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{2, 16, 0.125f, kIq2Levels, kOfTypical, kOfLargest};
  const Signs signs = take_signs(true, block);
  fit_codebook(ternary_codebook(DType::iq2_xs), kShape, block);
  put_u16(at, block.scale.bits);
  for (std::size_t v = 0; v < 32; ++v) {
    put_u16(at + 2 + 2 * v, block.entries[v] | (signs[v] & 127u) << 9);
  }
  put_multiples(block, 16, at + 66);
}

void encode_iq2_s(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{2, 16, 0.125f, kIq2Levels, kOfTypical, kOfLargest};
  const Signs signs = take_signs(false, block);
  fit_codebook(ternary_codebook(DType::iq2_s), kShape, block);
  put_u16(at, block.scale.bits);
  for (std::size_t v = 0; v < 32; ++v) {
    put_u8(at + 2 + v, block.entries[v]);
    put_u8(at + 34 + v, signs[v]);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    unsigned upper = 0;
    for (unsigned j = 0; j < 4; ++j) upper |= block.entries[4 * i + j] >> 8u << 2 * j;
    put_u8(at + 66 + i, upper);
  }
  put_multiples(block, 16, at + 74);
}

void encode_iq3_xxs(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{8, 16, 0.25f, kIq3XxsLevels, kOfTypical, kOfLargest};
  const Signs signs = take_signs(true, block);
  fit_codebook(octal_codebook(DType::iq3_xxs), kShape, block);
  put_u16(at, block.scale.bits);
  for (std::size_t v = 0; v < 64; ++v) put_u8(at + 2 + v, block.entries[v]);
  for (std::size_t group = 0; group < 8; ++group) {
    put_u32(at + 66 + 4 * group,
            four_of_seven_signs(signs, 4 * group) | std::uint32_t{block.multiples[group]} << 28);
  }
}

void encode_iq3_s(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{8, 16, 1, kIq3SLevels, kOfTypical, kOfLargest};
  const Signs signs = take_signs(false, block);
  fit_codebook(octal_codebook(DType::iq3_s), kShape, block);
  put_u16(at, block.scale.bits);
  for (std::size_t v = 0; v < 64; ++v) put_u8(at + 2 + v, block.entries[v]);
  for (std::size_t group = 0; group < 8; ++group) {
    unsigned upper = 0;
    for (unsigned v = 0; v < 8; ++v) upper |= block.entries[8 * group + v] >> 8u << v;
    put_u8(at + 66 + group, upper);
  }
  for (std::size_t i = 0; i < 32; ++i) put_u8(at + 74 + i, signs[i]);
  put_multiples(block, 8, at + 106);
}

void encode_iq1_s(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{4, 8, 1, kIq1Levels, kIq1OfTypical, {}, ShiftOf::group, kEighth};
  fit_codebook(ternary_codebook(DType::iq1_s), kShape, block);
  put_u16(at, block.scale.bits);
  for (std::size_t v = 0; v < 32; ++v) put_u8(at + 2 + v, block.entries[v]);
  for (std::size_t group = 0; group < 8; ++group) {
    unsigned bits = block.multiples[group] << 12u;
    for (unsigned v = 0; v < 4; ++v) bits |= block.entries[4 * group + v] >> 8u << 3 * v;
    put_u16(at + 34 + 2 * group, bits | (block.is_shifted_down[4 * group] ? 0x8000u : 0u));
  }
}

void encode_iq1_m(CodebookBlock& block, std::byte* at) {
  constexpr CodebookShape kShape{2, 8, 1, kIq1Levels, kIq1OfTypical, {}, ShiftOf::vector, kEighth};
  fit_codebook(ternary_codebook(DType::iq1_m), kShape, block);
  for (std::size_t v = 0; v < 32; ++v) put_u8(at + v, block.entries[v]);
  for (std::size_t i = 0; i < 16; ++i) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned is_down = block.is_shifted_down[2 * i + j] ? 8 : 0;
      bits |= (block.entries[2 * i + j] >> 8u | is_down) << 4 * j;
    }
    put_u8(at + 32 + i, bits);
  }
  for (unsigned i = 0; i < 4; ++i) {
    unsigned bits = (block.scale.bits >> 4 * i & 15u) << 12;
    for (unsigned j = 0; j < 4; ++j) bits |= unsigned{block.multiples[4 * i + j]} << 3 * j;
    put_u16(at + 48 + 2 * i, bits);
  }
}

}  // namespace

void encode_codebooks(DType dtype, const Row& row, std::byte* blocks) {
  for (std::int64_t first = 0; first < row.elements; first += std::int64_t{kBlockElements}) {
    CodebookBlock block;
    const float* importance = row.importance != nullptr ? row.importance + first : nullptr;
    weigh(row.values + first, importance, group_extent(dtype), block);
    switch (dtype) {
      case DType::iq1_s:
        encode_iq1_s(block, blocks);
        break;
      case DType::iq1_m:
        encode_iq1_m(block, blocks);
        break;
      case DType::iq2_xxs:
        encode_iq2_xxs(block, blocks);
        break;
      case DType::iq2_xs:
        encode_iq2_xs(block, blocks);
        break;
      case DType::iq2_s:
        encode_iq2_s(block, blocks);
        break;
      case DType::iq3_xxs:
        encode_iq3_xxs(block, blocks);
        break;
      default:
        encode_iq3_s(block, blocks);
    }
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
