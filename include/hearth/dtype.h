// Element types.
//
// A dtype is described by its block: `elements` values stored in `bytes` bytes. Plain types have
// one element a block; packed and quantized types have more.
#pragma once

#include <bit>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  bool_
};

inline constexpr int kDTypeCount = 13;

// The kinds of tensor that the typed API tells apart.
enum class Kind : std::uint8_t { float_, int_, bool_ };

struct DTypeInfo {
  std::string_view name;         // "f32", "bool"; the token used in messages and JSON
  std::string_view safetensors;  // the name in safetensors headers, "F32"
  Kind kind;
  bool is_signed;
  std::uint16_t block_elements;
  std::uint16_t block_bytes;
};

HEARTH_API const DTypeInfo& info(DType dtype) noexcept;

// The dtype called `name` ("f32", "bfloat16"...). Throws Error{dtype}.
HEARTH_API DType dtype_from_name(std::string_view name);

inline std::string_view name(DType dtype) noexcept { return info(dtype).name; }
HEARTH_API std::ostream& operator<<(std::ostream& out, DType dtype);  // its name
inline Kind kind(DType dtype) noexcept { return info(dtype).kind; }
inline bool is_float(DType dtype) noexcept { return dtype <= DType::bf16; }
inline bool is_int(DType dtype) noexcept { return dtype >= DType::i64 && dtype <= DType::u8; }
inline bool is_bool(DType dtype) noexcept { return dtype == DType::bool_; }

// Bytes of one element of a plain dtype.
inline std::int64_t size_of(DType dtype) noexcept {
  constexpr std::int8_t kBytes[kDTypeCount] = {8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
  return kBytes[static_cast<int>(dtype)];
}

// IEEE 754 binary16, for storage. Conversions round to nearest even.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  HEARTH_API explicit float16(float value) noexcept;
  HEARTH_API explicit operator float() const noexcept;
};

// The upper half of a binary32, for storage. Conversions round to nearest even; NaN stays NaN.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);
    } else {
      bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// The dtype that stores the C++ type T.
template <class T>
struct dtype_of;
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<float16> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_of<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct dtype_of<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct dtype_of<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct dtype_of<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct dtype_of<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct dtype_of<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of<bool> {
  static constexpr DType value = DType::bool_;
};
template <class T>
inline constexpr DType dtype_of_v = dtype_of<T>::value;

}  // namespace v0
}  // namespace hearth
