// Element types.
//
// A dtype is described by its block: `block_elements` values stored in `block_bytes` bytes. Plain
// dtypes have one element a block. Packed dtypes, the block formats of ggml and two of MLX's codes,
// have 32 to 256, which share scales; the blocks lie along the last axis, whose extent is a
// multiple of block_elements.
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
  bool_,
  // Packed. Codes of n bits with one scale a block (qN_0), with a scale and a least value (qN_1).
  q1_0,
  q2_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q8_1,  // as q8_0, with the sum of the block
  // Scales of 16 or 32 elements, which share a scale of 256: "K-quants".
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  // Codes that name entries of a table of values (iq4) or of vectors (iq1, iq2, iq3).
  iq4_nl,
  iq4_xs,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  // Four-bit floats with a power of two for 32 elements, with an fp8 scale for 16.
  mxfp4,
  nvfp4,
  // Ternary.
  tq1_0,
  tq2_0,
  // MLX's codes of 6 and 8 bits, with a scale and an offset in f32: no format of ggml.
  affine6,
  affine8
};

inline constexpr int kDTypeCount = 13;        // plain dtypes: f64 to bool
inline constexpr int kPackedDTypeCount = 29;  // behind them: q1_0 to affine8
inline constexpr int kMostBlockElements = 256, kMostBlockBytes = 292;

// The kinds of tensor that the typed API tells apart.
enum class Kind : std::uint8_t { float_, int_, bool_ };

struct DTypeInfo {
  std::string_view name;         // "f32", "bool"; the token used in messages and JSON
  std::string_view safetensors;  // the name in safetensors headers, "F32"; none of a packed dtype
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
inline bool is_packed(DType dtype) noexcept { return dtype > DType::bool_; }

// Bytes of one block: of one element of a plain dtype.
inline std::int64_t size_of(DType dtype) noexcept {
  constexpr std::int16_t kBytes[kDTypeCount + kPackedDTypeCount] = {
      8,  4,   2,   2,   8,   4,   2,  1,   8,  4,  2,  1,  1,  18, 18,  18, 20, 22, 24, 34, 36,
      84, 110, 144, 176, 210, 292, 18, 136, 50, 56, 66, 74, 82, 98, 110, 17, 36, 54, 66, 32, 40};
  return kBytes[static_cast<int>(dtype)];
}

// Elements of one block: 1 of a plain dtype.
inline std::int64_t block_of(DType dtype) noexcept {
  return is_packed(dtype) ? info(dtype).block_elements : 1;
}

// Bytes of `elements` elements, which are whole blocks.
inline std::int64_t bytes_of(DType dtype, std::int64_t elements) noexcept {
  return (is_packed(dtype) ? elements / block_of(dtype) : elements) * size_of(dtype);
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
