// Blocks of q4_1 and q5_1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hearth/dtype.h"

namespace hearth::packed {

inline constexpr std::size_t kRangeCodes = 32;

// The block whose elements are scale * code + least, with codes of 4 bits, of q5_1 5.
void put_range(DType dtype, float16 scale, float16 least,
               std::span<const std::uint8_t, kRangeCodes> codes, std::byte* block);

}  // namespace hearth::packed
