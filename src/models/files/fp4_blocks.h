// Four-bit floats of checkpoints as blocks of the dtype mxfp4: the same numbers, in another order.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/safetensors.h"
#include "models/files/host_tensor.h"

namespace hearth::models::folders {

inline constexpr std::int64_t kFp4Group = 32;  // elements with one scale

// Codes of 32 elements, 16 bytes each: from neighbours in a byte, the first in its lower half, to
// elements 16 apart in one, as blocks have them.
inline void halves_of_pairs(const std::byte* pairs, std::byte* halves) noexcept {
  constexpr std::byte kLow{0x0f}, kHigh{0xf0};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::byte first = pairs[i], second = pairs[i + 8];
    halves[2 * i] = (first & kLow) | second << 4;
    halves[2 * i + 1] = first >> 4 | (second & kHigh);
  }
}

// codes: 16 bytes a group, element 2 j in the lower half of byte j and 2 j + 1 in the upper half;
// scales: a byte a group, 2^(byte - 127). `shape` is that of the elements, groups of them along the
// last axis. Checked by the caller: both have the bytes that the shape needs.
HostTensor mxfp4_of_pairs(std::span<const std::byte> codes, std::span<const std::byte> scales,
                          const Shape& shape);

// As gpt-oss has them: blocks u8 [.., groups, 16], scales u8 [.., groups], gives [.., groups * 32].
// Throws Error{corrupt_file} where they do not fit.
HostTensor mxfp4_of_blocks(const io::SafetensorsView& blocks, const io::SafetensorsView& scales);

}  // namespace hearth::models::folders
