// Blocks of codes that are there already, as files of other formats have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hearth/dtype.h"

namespace hearth::packed {

inline constexpr std::size_t kGivenCodes = 32;  // of a block
using GivenCodes = std::span<const std::uint8_t, kGivenCodes>;

// q4_1, with codes of 4 bits, or q5_1, of 5, whose elements are scale * code + least.
void put_range(DType dtype, float16 scale, float16 least, GivenCodes codes, std::byte* block);

// affine6 or affine8, whose elements are scale * code + bias, with codes of 6 or 8 bits. The offset
// of affine8, bias + 128 * scale, is rounded to f32 (kernels/formulas/packed/affine.h).
void put_affine(DType dtype, float scale, float bias, GivenCodes codes, std::byte* block);

}  // namespace hearth::packed
