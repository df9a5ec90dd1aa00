// How a cache holds rows of keys or values: as floats, or as codes that attention reads as they
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/array.h"
#include "hearth/dtype.h"

namespace hearth::models {

struct CacheType {
  constexpr CacheType() = default;
  constexpr CacheType(DType its_dtype)  // NOLINT(google-explicit-constructor)
      : dtype(its_dtype) {}
  static constexpr CacheType turbo(std::int64_t bits) {
    CacheType type(DType::u8);
    type.bits = bits;
    return type;
  }

  // A float, q8_0 or q4_0; u8 of codes of turbo_quantize().
  DType dtype = DType::f32;
  std::int64_t bits = 0;  // of such codes

  bool is_coded() const { return bits != 0 || is_packed(dtype); }
  // Bytes of a row of `columns`, which are whole blocks.
  std::int64_t row_bytes(std::int64_t columns) const;
  bool operator==(const CacheType&) const = default;
};

// f32, f16, bf16, q8_0, q4_0, tq4, tq3, tq2. Throws Error{invalid_argument} for other names.
CacheType cache_type_from_name(std::string_view name);
// Of keys and values; nothing: what the model computes in.
struct CacheTypes {
  std::optional<CacheType> keys = std::nullopt, values = std::nullopt;
};
// As cache_type_from_name(); nothing of an empty name.
CacheTypes cache_types_from_names(std::string_view keys, std::string_view values);
// Those names, for the options of commands.
std::vector<std::string> cache_type_names();
std::string name(CacheType type);

// Nothing where a cache can hold rows of so many columns as `type`; else what is wrong.
std::string why_unfit(CacheType type, std::int64_t columns);

// Rows [..., columns] as they lie in a cache: of the dtype, or u8 [..., bytes].
Array to_cache(const Array& rows, CacheType type);

// A random orthogonal map of the last axis: signs, then hadamard(). What is rotated alike has the
// dot products that it had, and no outliers.
class HeadRotation {
 public:
  HeadRotation() = default;
  // The signs of `columns`, which follow from `seed` alone.
  HeadRotation(std::int64_t columns, std::uint64_t seed, DType compute, Device device);

  bool defined() const { return signs_.defined(); }
  // x [..., columns] of the dtype `compute`; as it is where there is no rotation.
  Array forward(const Array& x) const;
  Array undo(const Array& y) const;

 private:
  Array signs_;  // [columns] of 1 and -1
};

}  // namespace hearth::models
