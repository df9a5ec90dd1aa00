// Tensors that are made on the host while a folder is read.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth::models::folders {

struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;  // row-major
};

// The nearest f32 towards zero whose last bit says whether anything was cut off ("round to odd"):
// rounded once more to f16 or bf16, it gives what rounding `value` gives.
inline float odd_float(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(value)) return nearest;
  const float cut = std::fabs(static_cast<double>(nearest)) > std::fabs(value)
                        ? std::nextafter(nearest, 0.0f)
                        : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(cut) | 1u);
}

// Writes `value`, rounded once, as an element of `dtype`: f32, f16 or bf16.
inline void store_rounded(double value, DType dtype, std::byte* at) noexcept {
  if (dtype == DType::f32) {
    const auto rounded = static_cast<float>(value);
    std::memcpy(at, &rounded, sizeof rounded);
  } else {
    const float odd = odd_float(value);
    const std::uint16_t bits = dtype == DType::f16 ? float16(odd).bits : bfloat16(odd).bits;
    std::memcpy(at, &bits, sizeof bits);
  }
}

// Element `index` of f32, f16 or bf16 elements of any alignment.
inline float stored_float(const std::byte* elements, DType dtype, std::size_t index) noexcept {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, elements + index * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, elements + index * sizeof bits, sizeof bits);
  if (dtype == DType::bf16) return static_cast<float>(std::bit_cast<bfloat16>(bits));
  return static_cast<float>(std::bit_cast<float16>(bits));
}

}  // namespace hearth::models::folders
