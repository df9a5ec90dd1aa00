// Floats of eight bits.
#pragma once

#include <cmath>

namespace hearth {

// What the lower seven bits of E4M3 stand for, four of exponent and three of mantissa, where they
// are a number: E4M3FN takes the largest code for NaN.
inline float e4m3_magnitude(unsigned code) noexcept {
  const auto exponent = static_cast<int>(code >> 3 & 15u);
  const auto mantissa = static_cast<float>(code & 7u);
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

}  // namespace hearth
