// iq4_nl and iq4_xs: four-bit codes that name sixteen values, denser near zero.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/packed/encoders.h"
#include "core/packed/rounding.h"
#include "core/packed/scale_search.h"

namespace hearth::packed {
namespace {

constexpr std::size_t kTableGroup = 32;
constexpr float kTable[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                              1,    13,   25,  38,  53,  69,  89,  113};
constexpr int kTableTrials = 7;  // on either side of the extreme as the first entry

// The code whose entry is nearest to `value`, the upper of two.
unsigned nearest_entry(float value) {
  unsigned above = 0;  // entries that are not above the value
  for (const float entry : kTable) above += value >= entry ? 1u : 0u;
  if (above == 0) return 0;
  if (above == 16) return 15;
  return value - kTable[above - 1] < kTable[above] - value ? above - 1 : above;
}

// The scale under which entries explain most of a group: the extreme as entry -127, or as what is
// up to seven away, of either sign first. Zero groups give 0.
float fit_table(std::span<const float> values, std::span<const float> weights) {
  const float extreme = extreme_of(values);
  if (std::fabs(extreme) < 1e-15f) return 0;
  float scale = 0, explained = 0;
  const auto explain = [&](float inverse_scale, bool is_first) {
    std::array<float, kTableGroup> entries;
    for (std::size_t i = 0; i < values.size(); ++i) {
      entries[i] = kTable[nearest_entry(inverse_scale * values[i])];
    }
    float value_entry = 0, entry_entry = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float weighted = weights[i] * entries[i];
      value_entry += weighted * values[i];
      entry_entry += weighted * entries[i];
    }
    if (!(entry_entry > 0)) return;
    if (is_first || value_entry * value_entry > explained * entry_entry) {
      scale = value_entry / entry_entry;
      explained = scale * value_entry;
    }
  };
  explain(1 / (-extreme / kTable[0]), true);
  for (int trial = -kTableTrials; trial <= kTableTrials; ++trial) {
    explain((static_cast<float>(trial) + kTable[0]) / extreme, false);
  }
  return scale;
}

void put_entries(std::span<const float> values, float inverse_scale, std::byte* at) {
  for (std::size_t i = 0; i < kTableGroup / 2; ++i) {
    put_u8(at + i, nearest_entry(inverse_scale * values[i]) |
                       nearest_entry(inverse_scale * values[i + kTableGroup / 2]) << 4);
  }
}

// Scales of the groups of a block. Weights are the squares, or as importance says.
void fit_groups(std::span<const float> values, const float* importance, float* scales) {
  const float mean_square = sum_of_squares(values) * (2.0f / static_cast<float>(values.size()));
  for (std::size_t first = 0; first < values.size(); first += kTableGroup) {
    const std::span<const float> group = values.subspan(first, kTableGroup);
    std::array<float, kTableGroup> weights;
    bool is_led = false;
    if (importance != nullptr) {
      scaled_weights(group, importance + first, mean_square, weights.data());
      is_led = can_lead(weights);
    }
    if (!is_led) {
      for (std::size_t i = 0; i < kTableGroup; ++i) weights[i] = group[i] * group[i];
    }
    scales[first / kTableGroup] = fit_table(group, weights);
  }
}

void encode_iq4_nl(std::span<const float> values, const float* importance, std::byte* block) {
  float scale = 0;
  fit_groups(values, importance, &scale);
  put_half(block, scale);
  put_entries(values, inverse(scale), block + 2);
}

// Scales are multiples -32 to 31 of that of the block, stored 32 higher: four bits in bytes of two
// groups, after two in a word of all.
void encode_iq4_xs(std::span<const float> values, const float* importance, std::byte* block) {
  std::array<float, 8> scales;
  fit_groups(values, importance, scales.data());
  const float unit = -extreme_of(scales) / 32;
  const float factor = inverse(unit);
  put_half(block, unit);
  std::uint32_t lower = 0, upper = 0;
  for (unsigned group = 0; group < 8; ++group) {
    const float multiple = nearest(factor * scales[group], -32, 31);
    const auto code = static_cast<std::uint32_t>(multiple + 32);
    lower |= (code & 15u) << 4 * group;
    upper |= code >> 4 << 2 * group;
    put_entries(values.subspan(kTableGroup * group, kTableGroup), inverse(unit * multiple),
                block + 8 + 16 * group);
  }
  put_u16(block + 2, upper);
  put_u32(block + 4, lower);
}

}  // namespace

void encode_tables(DType dtype, const Row& row, std::byte* blocks) {
  const std::int64_t extent = block_of(dtype);
  for (std::int64_t first = 0; first < row.elements; first += extent) {
    const std::span<const float> values(row.values + first, static_cast<std::size_t>(extent));
    const float* importance = row.importance != nullptr ? row.importance + first : nullptr;
    if (dtype == DType::iq4_nl) {
      encode_iq4_nl(values, importance, blocks);
    } else {
      encode_iq4_xs(values, importance, blocks);
    }
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
