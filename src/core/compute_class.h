// What values of each dtype are computed in, on every device.
#pragma once

#include <cstdint>

#include "hearth/dtype.h"

namespace hearth {

enum class ComputeClass : std::uint8_t { f32, f64, i32, i64, u64 };
inline constexpr int kComputeClasses = 5;

// f16 and bf16 are computed in f32; i16, i8, u16, u8 and bool in i32; u32 in i64.
constexpr ComputeClass compute_class(DType dtype) noexcept {
  using enum ComputeClass;
  constexpr ComputeClass kClass[kDTypeCount] = {f64, f32, f32, f32, i64, i32, i32,
                                                i32, u64, i64, i32, i32, i32};
  return kClass[static_cast<int>(dtype)];
}

// The dtype that holds every value of a class.
constexpr DType class_dtype(ComputeClass type) noexcept {
  constexpr DType kDType[kComputeClasses] = {DType::f32, DType::f64, DType::i32, DType::i64,
                                             DType::u64};
  return kDType[static_cast<int>(type)];
}
// Bytes of one value.
inline std::int64_t size_of(ComputeClass type) noexcept { return size_of(class_dtype(type)); }

// Its memory is read and written without conversion.
inline bool is_native(DType dtype) noexcept { return class_dtype(compute_class(dtype)) == dtype; }
inline bool is_half(DType dtype) noexcept { return dtype == DType::f16 || dtype == DType::bf16; }

// The dtype that values of `dtype` are computed in: f32 for the half types.
inline DType compute_dtype(DType dtype) noexcept { return is_half(dtype) ? DType::f32 : dtype; }
// An integer with fewer bits than its class.
inline bool is_narrow_int(DType dtype) noexcept { return is_int(dtype) && !is_native(dtype); }

// The least and the greatest value of an integer dtype or bool, as the bits of a 64-bit integer.
inline std::uint64_t least_of(DType dtype) noexcept {
  return info(dtype).is_signed ? ~std::uint64_t{0} << (8 * size_of(dtype) - 1) : 0;
}
inline std::uint64_t greatest_of(DType dtype) noexcept {
  if (is_bool(dtype)) return 1;
  const std::int64_t bits = 8 * size_of(dtype) - (info(dtype).is_signed ? 1 : 0);
  return ~std::uint64_t{0} >> (64 - bits);
}
// Every value of `from` is one of `to`; integers and bool.
inline bool holds(DType to, DType from) noexcept {
  return greatest_of(to) >= greatest_of(from) &&
         static_cast<std::int64_t>(least_of(to)) <= static_cast<std::int64_t>(least_of(from));
}

}  // namespace hearth
