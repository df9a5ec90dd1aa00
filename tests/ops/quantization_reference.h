// Quantization written out on the host, by search in place of arithmetic: what tests compare with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.h"
#include "hearth/quantization.h"

namespace hearth::reference {

inline constexpr QuantValue kQuantValues[] = {QuantValue::q8f,  QuantValue::q8s,  QuantValue::q4f,
                                              QuantValue::q4s,  QuantValue::q2f,  QuantValue::q2s,
                                              QuantValue::e4m3, QuantValue::e5m2, QuantValue::e2m1};
inline constexpr ScaleDType kScaleDTypes[] = {ScaleDType::f32, ScaleDType::f16, ScaleDType::bf16,
                                              ScaleDType::ue4m3, ScaleDType::ue8m0};

inline bool is_float_code(QuantValue value) {
  return value == QuantValue::e4m3 || value == QuantValue::e5m2 || value == QuantValue::e2m1;
}

inline Array there(const check::Values& values, const Shape& shape, Device device,
                   DType dtype = DType::f32) {
  return to_device(check::array(values, shape, dtype), device);
}
inline std::vector<float> floats(const Array& x) { return cast(x, DType::f32).to_vector<float>(); }

// What the lowest bits of `code` stand for.
inline float decoded(std::uint32_t code, QuantValue value) {
  const int bits = bits_of(value);
  code &= (1u << bits) - 1;
  if (!is_float_code(value)) {
    const int number = static_cast<int>(code);
    return static_cast<float>(number >= 1 << (bits - 1) ? number - (1 << bits) : number);
  }
  const int fraction_bits = value == QuantValue::e4m3 ? 3 : value == QuantValue::e5m2 ? 2 : 1;
  const int exponent_bits = bits - 1 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const bool is_negative = (code >> (bits - 1)) != 0;
  const int exponent = static_cast<int>(code >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = static_cast<int>(code) & ((1 << fraction_bits) - 1);
  const float sign = is_negative ? -1.0f : 1.0f;
  if (value == QuantValue::e4m3 && exponent == 15 && fraction == 7) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (value == QuantValue::e5m2 && exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits);
  }
  return sign * std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)),
                           exponent - bias - fraction_bits);
}

// The code nearest to x within the range of codes: of two the even one, of zeros the one of x's
// sign.
inline std::uint32_t encoded(float x, QuantValue value) {
  const int bits = bits_of(value);
  const auto [low, high] = range_of(value);
  if (std::isnan(x)) {
    if (!is_float_code(value)) return 0;
    return value == QuantValue::e2m1 ? 7u : 0x7fu;
  }
  const double limited = std::fmin(std::fmax(x, low), high);
  std::uint32_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (std::uint32_t code = 0; code < 1u << bits; ++code) {
    const double stands_for = decoded(code, value);
    if (!(stands_for >= low && stands_for <= high)) continue;
    if (is_float_code(value) && std::signbit(stands_for) != std::signbit(x)) continue;
    const double away = std::abs(stands_for - limited);
    if (away < distance || (away == distance && code % 2 == 0)) {
      best = code;
      distance = away;
    }
  }
  return best;
}

// All positive finite scales of a dtype, ascending, but f32's.
inline std::vector<float> scales_of(ScaleDType dtype) {
  std::vector<float> scales;
  switch (dtype) {
    case ScaleDType::f32:
      break;
    case ScaleDType::f16:
      for (std::uint32_t bits = 1; bits < 0x7c00; ++bits) {
        float16 half;
        half.bits = static_cast<std::uint16_t>(bits);
        scales.push_back(static_cast<float>(half));
      }
      break;
    case ScaleDType::bf16:  // without those that are no normal numbers of f32
      for (std::uint32_t bits = 0x80; bits < 0x7f80; ++bits) {
        scales.push_back(std::bit_cast<float>(bits << 16));
      }
      break;
    case ScaleDType::ue4m3:
      for (std::uint32_t code = 1; code < 0x7f; ++code) {
        scales.push_back(decoded(code, QuantValue::e4m3));
      }
      break;
    case ScaleDType::ue8m0:
      for (int code = 0; code < 255; ++code) scales.push_back(std::ldexp(1.0f, code - 127));
      break;
  }
  return scales;
}

// The least scale of the dtype that is not below; else the largest.
inline float rounded_up(float scale, ScaleDType dtype) {
  if (std::isnan(scale)) return scale;
  if (dtype == ScaleDType::f32) return std::fmin(std::fmax(scale, 0x1p-126f), 0x1.fffffep127f);
  const std::vector<float> scales = scales_of(dtype);
  for (const float one : scales) {
    if (one >= scale) return one;
  }
  return scales.back();
}

}  // namespace hearth::reference
