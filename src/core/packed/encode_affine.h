// Blocks of affine6 and affine8: see kernels/formulas/packed/affine.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hearth/dtype.h"

namespace hearth::packed {

inline constexpr std::size_t kAffineCodes = 32;

// The block whose elements are scale * code + bias, with codes of 6 or 8 bits as the dtype has. The
// offset of affine8, bias + 128 * scale, is rounded to f32.
void put_affine(DType dtype, float scale, float bias,
                std::span<const std::uint8_t, kAffineCodes> codes, std::byte* block);

}  // namespace hearth::packed
