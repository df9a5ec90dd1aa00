// What schemes say, and which of them arrays can have.
#include "hearth/quantization/scheme.h"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>

#include "ops/quantization/split.h"
#include "ops/quantization/value_traits.h"

namespace hearth {
namespace quantization {
namespace {

[[noreturn]] void refuse_scheme(const QuantScheme& scheme, const std::string& what,
                                const std::string& expected) {
  std::ostringstream got;
  got << scheme;
  throw Error(ErrorCode::invalid_argument,
              "quantize: " + what + "; got " + got.str() + ", expected " + expected);
}

void require_storable(const QuantScheme& scheme) {
  const bool is_small = bits_of(scheme.value) < 8;
  if (scheme.store.unit == QuantStore::Unit::native && is_small) {
    refuse_scheme(scheme, "codes smaller than a byte in a native store", "a packed store");
  }
  if (scheme.store.unit == QuantStore::Unit::packed_native && is_small &&
      !is_float_code(scheme.value)) {
    refuse_scheme(scheme, "no native packing of these integers", "packed_u32");
  }
}

void require_levels(const QuantScheme& scheme) {
  if (!scheme.block) return;
  for (const std::int64_t extent : scheme.block->size) {
    if (extent < 1) refuse_scheme(scheme, "an empty block", "extents of 1 or more");
  }
  if (!scheme.tensor) return;
  if (*scheme.tensor != ScaleDType::f32) {
    refuse_scheme(scheme, "scales of blocks relative to a narrow one", "one of f32");
  }
  if (largest_of(scheme.block->dtype) > largest_of(ScaleDType::f16)) {
    refuse_scheme(scheme, "relative scales as wide as f32", "f16 or ue4m3");
  }
}

void require_shape(const QuantScheme& scheme, const Shape& shape) {
  std::ostringstream text;
  text << scheme;
  const auto fail = [&](const std::string& what, const std::string& expected) {
    throw Error(ErrorCode::shape, "quantize: " + what + "; got " + to_string(shape) + " for " +
                                      text.str() + ", expected " + expected);
  };
  const int rank = std::max(shape.rank(), 1);
  if (scheme.store.unit != QuantStore::Unit::native &&
      (scheme.store.dim < 0 || scheme.store.dim >= rank)) {
    fail("no axis to pack along", "an axis in [0, " + std::to_string(rank) + ")");
  }
  if (!scheme.block) return;
  if (scheme.block->size.rank() > rank) fail("blocks of more axes", "as many axes or more");
  const Shape solid = solid_shape(shape);
  for (int i = 0; i < rank; ++i) {
    if (solid[i] % block_extent(scheme, rank, i) != 0) fail("no whole blocks", "whole blocks");
  }
  const int packed = packed_axis(scheme, rank);
  const std::int64_t per_word = codes_per_word(scheme);
  if (packed >= 0 && block_extent(scheme, rank, packed) % per_word != 0) {
    refuse_scheme(scheme, "a block ends within a word of codes",
                  "multiples of " + std::to_string(per_word) + " along the packed axis");
  }
}

}  // namespace
}  // namespace quantization

inline namespace v0 {

QuantScheme QuantScheme::with_mode(QuantMode one) const {
  QuantScheme scheme = *this;
  scheme.mode = one;
  return scheme;
}
QuantScheme QuantScheme::with_value(QuantValue one) const {
  QuantScheme scheme = *this;
  scheme.value = one;
  return scheme;
}
QuantScheme QuantScheme::with_store(QuantStore one) const {
  QuantScheme scheme = *this;
  scheme.store = one;
  return scheme;
}
QuantScheme QuantScheme::per_tensor(ScaleDType dtype) const {
  QuantScheme scheme = *this;
  scheme.tensor = dtype;
  return scheme;
}
QuantScheme QuantScheme::per_block(const Dims& size, ScaleDType dtype) const {
  QuantScheme scheme = *this;
  Dims rest = size;
  while (!rest.empty() && rest[0] == 1) rest.erase(0);
  scheme.block = BlockScale{rest, dtype};
  return scheme;
}
ScaleDType QuantScheme::scale_dtype() const noexcept {
  return block ? block->dtype : tensor.value_or(ScaleDType::f32);
}

std::string_view name(QuantValue value) noexcept { return quantization::traits_of(value).name; }
std::string_view name(ScaleDType dtype) noexcept {
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "ue4m3", "ue8m0"};
  return kNames[static_cast<int>(dtype)];
}
std::ostream& operator<<(std::ostream& out, const QuantScheme& scheme) {
  out << name(scheme.value);
  if (scheme.store.unit == QuantStore::Unit::native) {
    out << " native";
  } else {
    out << (scheme.store.unit == QuantStore::Unit::packed_u32 ? " packed_u32(" : " packed_native(")
        << scheme.store.dim << ")";
  }
  if (scheme.block) {
    out << ", " << name(scheme.block->dtype) << " per block " << scheme.block->size;
  }
  if (scheme.tensor || !scheme.block) {
    out << ", " << name(scheme.tensor.value_or(ScaleDType::f32)) << " per tensor";
  }
  return out;
}

int bits_of(QuantValue value) noexcept { return quantization::traits_of(value).bits; }
std::pair<double, double> range_of(QuantValue value) noexcept {
  const quantization::ValueTraits& traits = quantization::traits_of(value);
  return {traits.low, traits.high};
}
std::int64_t size_of(ScaleDType dtype) noexcept {
  constexpr std::int8_t kBytes[] = {4, 2, 2, 1, 1};
  return kBytes[static_cast<int>(dtype)];
}
double largest_of(ScaleDType dtype) noexcept {
  constexpr double kLargest[] = {0x1.fffffep127, 65504, 0x1.fep127, 448, 0x1p127};
  return kLargest[static_cast<int>(dtype)];
}

void check_scheme(const QuantScheme& scheme, const Shape& shape) {
  check_shape("quantize", shape);
  quantization::require_storable(scheme);
  quantization::require_levels(scheme);
  quantization::require_shape(scheme, shape);
}

bool is_quantizable(const QuantScheme& scheme) try {
  const int blocks = scheme.block ? scheme.block->size.rank() : 1;
  if (scheme.store.dim >= kMaxRank || blocks > kMaxRank) return false;
  // One block, which has the axis that codes are packed along.
  Shape shape = Shape::filled(std::max(blocks, static_cast<int>(scheme.store.dim) + 1), 1);
  for (int i = 0; scheme.block && i < shape.rank(); ++i) {
    shape[i] = quantization::block_extent(scheme, shape.rank(), i);
  }
  check_scheme(scheme, shape);
  return true;
} catch (const Error&) {
  return false;
}

Shape scales_shape(const QuantScheme& scheme, const Shape& shape) {
  check_scheme(scheme, shape);
  if (!scheme.block) return {1};
  Shape grid = quantization::solid_shape(shape);
  for (int i = 0; i < grid.rank(); ++i) {
    grid[i] /= quantization::block_extent(scheme, grid.rank(), i);
  }
  return grid;
}

std::int64_t quantized_bytes(const QuantScheme& scheme, const Shape& shape) {
  const std::int64_t scales = element_count(scales_shape(scheme, shape));
  return element_count(quantization::payload_shape(scheme, shape)) *
             size_of(quantization::payload_dtype(scheme)) +
         scales * size_of(scheme.scale_dtype()) + (scheme.has_two_levels() ? 4 : 0);
}

}  // namespace v0
}  // namespace hearth
