// What each QuantValue is: one row of facts.
//
// Formats of floats: OCP 8-bit Floating Point Specification 1.0, and OCP Microscaling Formats (MX)
// Specification 1.0.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "hearth/quantization/scheme.h"

namespace hearth::quantization {

// How a format of floats is made: fraction bits and the exponent's bias. An all-ones exponent is
// one like any other but where `nan` and `infinity` say which codes, without the sign, are none.
struct FloatFormat {
  int fraction = 0;
  int bias = 0;
  int nan = 0;       // this code and those above; 0: none
  int infinity = 0;  // 0: none
};

struct ValueTraits {
  QuantValue value;
  std::string_view name;
  int bits;
  double low, high;         // the least and the largest finite value
  FloatFormat format = {};  // without fraction bits: integers of two's complement

  constexpr bool is_float() const { return format.fraction != 0; }
};

// In the order of QuantValue.
inline constexpr ValueTraits kValueTraits[] = {
    {QuantValue::q8f, "q8f", 8, -128, 127},
    {QuantValue::q8s, "q8s", 8, -127, 127},
    {QuantValue::q4f, "q4f", 4, -8, 7},
    {QuantValue::q4s, "q4s", 4, -7, 7},
    {QuantValue::q2f, "q2f", 2, -2, 1},
    {QuantValue::q2s, "q2s", 2, -1, 1},
    {QuantValue::e4m3, "e4m3", 8, -448, 448, {3, 7, 0x7f}},
    {QuantValue::e5m2, "e5m2", 8, -57344, 57344, {2, 15, 0x7d, 0x7c}},
    {QuantValue::e2m1, "e2m1", 4, -6, 6, {1, 1}},
};
inline constexpr int kQuantValues = static_cast<int>(std::size(kValueTraits));

constexpr const ValueTraits& traits_of(QuantValue value) {
  return kValueTraits[static_cast<std::size_t>(value)];
}

static_assert([] {
  for (const ValueTraits& each : kValueTraits) {
    if (&traits_of(each.value) != &each) return false;
  }
  return true;
}());

}  // namespace hearth::quantization
