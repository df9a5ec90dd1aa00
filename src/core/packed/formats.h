// The block formats (kernels/formulas/packed) for the host: on_host::packed_formats::Q4_0 and so
// on, of blocks that `const std::uint8_t*` points to; block_formats.def lists them. Compile it
// without contraction. Everything is inlined, so that sources compiled for different processors
// share none of it. Included by .cc files only.
#pragma once

#include <bit>
#include <cstdint>

#define HEARTH_INLINE inline __attribute__((always_inline))
#define constant const

namespace hearth::on_host {

using uchar = std::uint8_t;
using ushort = std::uint16_t;
using uint = std::uint32_t;

template <class To, class From>
HEARTH_INLINE To as_type(From value) {
  return std::bit_cast<To>(value);
}

struct half {
  ushort bits;

  // The bits as a float's, of which the exponent is 112 too low: a multiplication, which is exact,
  // makes subnormals right, too.
  HEARTH_INLINE explicit operator float() const {
    const uint magnitude = uint(bits & 0x7fffu) << 13;
    const uint finite = std::bit_cast<uint>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const uint value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite;
    return std::bit_cast<float>(value | (uint(bits & 0x8000u) << 16));
  }
};

#include "kernels/formulas/packed/formats.h"

}  // namespace hearth::on_host

#undef HEARTH_INLINE
#undef constant
