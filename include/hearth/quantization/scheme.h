// How floats are quantized: the codes, how they are packed, and what has a scale of its own.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <utility>

#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth {
inline namespace v0 {

// ---- What a scheme is made of

// Codes stand for multiples of a scale; zero is code 0.
enum class QuantMode : std::uint8_t { symmetric };

// What a code stands for before it is scaled: an integer of 8, 4 or 2 bits, of its full range (f,
// -128 to 127) or one symmetric around 0 (s, -127 to 127), or a float of 8 or 4 bits, named by the
// bits of its exponent and its fraction. e4m3 has NaN but no infinity (OCP FP8), e5m2 has both,
// e2m1 neither (OCP MX).
enum class QuantValue : std::uint8_t { q8f, q8s, q4f, q4s, q2f, q2s, e4m3, e5m2, e2m1 };

// What scales are stored as. u: without a sign. ue4m3 has NaN, and 448 as its largest; ue8m0 has
// the powers of 2 from 2^-127 to 2^127, and NaN.
enum class ScaleDType : std::uint8_t { f32, f16, bf16, ue4m3, ue8m0 };

// Where codes are stored. native: a byte for each, of values of 8 bits only. packed_u32: in words
// of 32 bits, the first code in the lowest bits, along the axis `dim` counted from the innermost;
// each line along it is padded to whole words. packed_native: the same in bytes, of e2m1 two in
// each; of 8 bits as native.
struct QuantStore {
  enum class Unit : std::uint8_t { native, packed_u32, packed_native };

  static constexpr QuantStore native() { return {Unit::native, 0}; }
  static constexpr QuantStore packed_u32(std::int64_t dim = 0) { return {Unit::packed_u32, dim}; }
  static constexpr QuantStore packed_native(std::int64_t dim = 0) {
    return {Unit::packed_native, dim};
  }

  Unit unit = Unit::packed_u32;
  std::int64_t dim = 0;

  friend bool operator==(const QuantStore&, const QuantStore&) = default;
};

// A scale for each block: a rectangle of `size` elements along the last axes, 1 along those before.
struct BlockScale {
  Dims size;
  ScaleDType dtype = ScaleDType::f32;

  friend bool operator==(const BlockScale&, const BlockScale&) = default;
};

// ---- The scheme

// Without a level, one f32 scale for the whole tensor. With both levels scales of blocks are
// relative to one f32 scale of the tensor. The default is Burn's.
struct HEARTH_API QuantScheme {
  QuantMode mode = QuantMode::symmetric;
  QuantValue value = QuantValue::q8f;
  QuantStore store = QuantStore::packed_u32(0);
  std::optional<ScaleDType> tensor = std::nullopt;
  std::optional<BlockScale> block = std::nullopt;

  // The same scheme, but for one thing.
  [[nodiscard]] QuantScheme with_mode(QuantMode one) const;
  [[nodiscard]] QuantScheme with_value(QuantValue one) const;
  [[nodiscard]] QuantScheme with_store(QuantStore one) const;
  [[nodiscard]] QuantScheme per_tensor(ScaleDType dtype = ScaleDType::f32) const;
  // Leading extents of 1 say nothing and are dropped: {1, 32} is {32}.
  [[nodiscard]] QuantScheme per_block(const Dims& size, ScaleDType dtype = ScaleDType::f32) const;

  bool has_two_levels() const noexcept { return tensor.has_value() && block.has_value(); }
  // Of the innermost level.
  ScaleDType scale_dtype() const noexcept;

  friend bool operator==(const QuantScheme&, const QuantScheme&) = default;
};

// ---- Facts

HEARTH_API std::string_view name(QuantValue value) noexcept;  // "q4s"
HEARTH_API std::string_view name(ScaleDType dtype) noexcept;  // "ue4m3"
// "q4s packed_u32(0), f16 per block [32]".
HEARTH_API std::ostream& operator<<(std::ostream& out, const QuantScheme& scheme);
// Bits of a code.
HEARTH_API int bits_of(QuantValue value) noexcept;
// The least and the largest finite value of a code.
HEARTH_API std::pair<double, double> range_of(QuantValue value) noexcept;
// Bytes of a stored scale.
HEARTH_API std::int64_t size_of(ScaleDType dtype) noexcept;
// The largest finite scale.
HEARTH_API double largest_of(ScaleDType dtype) noexcept;

// Throws Error{invalid_argument} for what no array can be quantized by: codes below 8 bits in a
// native store, of integers below 8 bits in packed_native, two levels whose block scales reach
// further than f16 or whose tensor's scale is not f32, block extents below 1, a block that ends
// within a word of packed codes. Throws Error{shape} where `shape` is not of whole blocks, or lacks
// the axis of the store.
HEARTH_API void check_scheme(const QuantScheme& scheme, const Shape& shape);
// Whether arrays can be quantized by it: those of a shape that check_scheme() takes.
HEARTH_API bool is_quantizable(const QuantScheme& scheme);
// One scale for each block: the number of blocks along each axis; [1] without blocks.
HEARTH_API Shape scales_shape(const QuantScheme& scheme, const Shape& shape);
// Bytes of an array of this shape: codes as they are packed, scales, and the tensor's scale over
// blocks.
HEARTH_API std::int64_t quantized_bytes(const QuantScheme& scheme, const Shape& shape);

}  // namespace v0
}  // namespace hearth
