// affine6 and affine8: a scale and an offset in f32.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/packed/encoders.h"
#include "core/packed/given_codes.h"
#include "core/packed/rounding.h"

namespace hearth::packed {
namespace {

constexpr float kMiddle = 128;  // the code of affine8 that the offset stands for

void encode_affine_block(DType dtype, std::span<const float, kGivenCodes> values,
                         std::byte* block) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const float top = dtype == DType::affine6 ? 63 : 255;
  const float scale = (*most - *least) / top;
  const float factor = inverse(scale);
  std::array<std::uint8_t, kGivenCodes> codes;
  for (std::size_t i = 0; i < kGivenCodes; ++i) {
    codes[i] = static_cast<std::uint8_t>(nearest((values[i] - *least) * factor, 0, top));
  }
  put_affine(dtype, scale, *least, codes, block);
}

}  // namespace

void put_affine(DType dtype, float scale, float bias, GivenCodes codes, std::byte* block) {
  put_u32(block, std::bit_cast<std::uint32_t>(scale));
  const float offset = dtype == DType::affine6 ? bias : std::fma(scale, kMiddle, bias);
  put_u32(block + 4, std::bit_cast<std::uint32_t>(offset));
  if (dtype == DType::affine8) {
    for (std::size_t i = 0; i < kGivenCodes; ++i) put_u8(block + 8 + i, codes[i]);
    return;
  }
  for (std::size_t i = 0; i < kGivenCodes; i += 4) {
    unsigned pairs = 0;
    for (std::size_t j = 0; j < 4; ++j) pairs |= (codes[i + j] >> 4u) << 2 * j;
    put_u8(block + 8 + i / 4, pairs);
  }
  for (std::size_t i = 0; i < kGivenCodes / 2; ++i) {
    put_u8(block + 16 + i, (codes[i] & 15u) | (codes[i + kGivenCodes / 2] & 15u) << 4u);
  }
}

void encode_affine(DType dtype, const Row& row, std::byte* blocks) {
  for (std::int64_t first = 0; first < row.elements; first += kGivenCodes) {
    encode_affine_block(dtype, std::span<const float, kGivenCodes>(row.values + first, kGivenCodes),
                        blocks);
    blocks += size_of(dtype);
  }
}

}  // namespace hearth::packed
