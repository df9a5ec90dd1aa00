// Narrow floats are taken apart by arithmetic, exact in f32.
#include "ops/quantization/codes.h"

#include <cmath>
#include <limits>

#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "ops/quantization/value_traits.h"

namespace hearth::quantization {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// floor(log2(x)) of positive normal x, in f32, whatever the last bit of log2 is.
Array whole_log2(const Array& x) {
  const Array near = floor(log2(x));
  const Array below = where(less(x, exp2(near)), sub(near, 1.0), near);
  return where(greater_equal(x, exp2(add(below, 1.0))), add(below, 1.0), below);
}

// The codes, as f32, of positive x within the format's range; `rounds` makes whole numbers.
Array magnitude_codes(const Array& x, const FloatFormat& format, Array (*rounds)(const Array&)) {
  const double least_exponent = 1 - format.bias;
  const Array exponent = whole_log2(clamp_min(x, std::ldexp(1.0, 1 - format.bias)));
  const Array steps = rounds(mul(x, exp2(sub(static_cast<double>(format.fraction), exponent))));
  const double leading = 1 << format.fraction;
  // What rounds to the next power of 2 carries into the exponent by itself.
  return add(mul(sub(exponent, least_exponent), leading), steps);
}

// What magnitude_codes() gives, in i32, back as f32.
Array magnitudes(const Array& codes, const FloatFormat& format) {
  const Array exponent = bitwise_right_shift(codes, format.fraction);
  const Array fraction = cast(bitwise_and(codes, (1 << format.fraction) - 1), DType::f32);
  const double leading = 1 << format.fraction;
  const Array power = exp2(sub(cast(clamp_min(exponent, 1), DType::f32),
                               static_cast<double>(format.bias + format.fraction)));
  return mul(where(greater(exponent, 0), add(fraction, leading), fraction), power);
}

Array encoded_floats(const Array& x, QuantValue value) {
  const FloatFormat& format = traits_of(value).format;
  const auto [low, high] = range_of(value);
  const Array limited = clamp(x, low, high);
  const Array codes = cast(magnitude_codes(abs(limited), format, round), DType::i32);
  const std::int64_t half = std::int64_t{1} << (bits_of(value) - 1);
  // Of a zero only its inverse says which sign it has.
  const Array is_negative = less(recip(limited), 0.0);
  const Array signed_codes = where(is_negative, add(codes, half), codes);
  // All ones: NaN, or the largest where a format has none.
  return where(is_nan(x), half - 1, signed_codes);
}

Array decoded_floats(const Array& codes, QuantValue value) {
  const FloatFormat& format = traits_of(value).format;
  const std::int64_t half = std::int64_t{1} << (bits_of(value) - 1);
  const Array magnitude_bits = bitwise_and(codes, half - 1);
  Array magnitude = magnitudes(magnitude_bits, format);
  if (format.infinity != 0) {
    magnitude = where(equal(magnitude_bits, format.infinity), kInfinity, magnitude);
  }
  if (format.nan != 0) {
    magnitude = where(greater_equal(magnitude_bits, format.nan), kNotANumber, magnitude);
  }
  return where(not_equal(bitwise_and(codes, half), 0), neg(magnitude), magnitude);
}

// `scales` in a narrower dtype, none smaller. What the nearest is below by half a step at most
// becomes the next one by a little more than that: of normal ones a part of the value, of the
// others a part of the least.
Array rounded_up(const Array& scales, DType dtype, double half_step, double least) {
  const Array nearest = cast(scales, dtype);
  const Array back = cast(nearest, DType::f32);
  const Array above = maximum(mul(back, 1 + half_step * 1.03125), add(back, 0.75 * least));
  return where(less(back, scales), cast(above, dtype), nearest);
}

}  // namespace

Array encoded(const Array& x, QuantValue value) {
  if (traits_of(value).is_float()) return encoded_floats(x, value);
  const auto [low, high] = range_of(value);
  return cast(round(clamp(x, low, high)), DType::i32);
}

Array decoded(const Array& codes, QuantValue value) {
  if (traits_of(value).is_float()) return decoded_floats(codes, value);
  const std::int64_t spare = 32 - bits_of(value);
  return cast(bitwise_right_shift(bitwise_left_shift(codes, spare), spare), DType::f32);
}

DType storage_of(ScaleDType dtype) {
  switch (dtype) {
    case ScaleDType::f32:
      return DType::f32;
    case ScaleDType::f16:
      return DType::f16;
    case ScaleDType::bf16:
      return DType::bf16;
    case ScaleDType::ue4m3:
    case ScaleDType::ue8m0:
      return DType::u8;
  }
  return DType::f32;
}

Array stored_scales(const Array& scales, ScaleDType dtype) {
  const Array limited = clamp(scales, kMinNormal, largest_of(dtype));
  switch (dtype) {
    case ScaleDType::f32:
      return limited;
    case ScaleDType::f16:
      return rounded_up(limited, DType::f16, 0x1p-11, 0x1p-24);
    case ScaleDType::bf16:
      return rounded_up(limited, DType::bf16, 0x1p-8, 0x1p-133);
    case ScaleDType::ue4m3: {
      const FloatFormat& format = traits_of(QuantValue::e4m3).format;
      const Array codes = magnitude_codes(clamp_min(limited, 0x1p-9), format, ceil);
      return cast(where(is_nan(scales), 127.0, codes), DType::u8);
    }
    case ScaleDType::ue8m0: {
      const Array exponent = whole_log2(limited);
      const Array above = where(less(exp2(exponent), limited), add(exponent, 1.0), exponent);
      // Scaled, since 2^-127 is below what every device computes with.
      const Array is_least = less_equal(mul(scales, 0x1p24), 0x1p-103);
      const Array codes = where(is_least, 0.0, add(above, 127.0));
      return cast(where(is_nan(scales), 255.0, codes), DType::u8);
    }
  }
  return limited;
}

Array loaded_scales(const Array& stored, ScaleDType dtype) {
  if (dtype == ScaleDType::ue4m3) {
    const Array codes = cast(stored, DType::i32);
    return where(equal(codes, 127), kNotANumber,
                 magnitudes(codes, traits_of(QuantValue::e4m3).format));
  }
  if (dtype == ScaleDType::ue8m0) {
    const Array codes = cast(stored, DType::f32);
    return where(equal(codes, 255.0), kNotANumber, exp2(sub(codes, 127.0)));
  }
  return cast(stored, DType::f32);
}

}  // namespace hearth::quantization
