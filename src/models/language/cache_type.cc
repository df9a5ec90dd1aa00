#include "models/language/cache_type.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/packed/turbo.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"

namespace hearth::models {
namespace {

struct NamedType {
  std::string_view name;
  CacheType type;
};

// All that caches may have.
constexpr std::array<NamedType, 9> kCacheTypes = {{{"f32", DType::f32},
                                                   {"f16", DType::f16},
                                                   {"bf16", DType::bf16},
                                                   {"q8_0", DType::q8_0},
                                                   {"q4_0", DType::q4_0},
                                                   {"tq4", CacheType::turbo(4)},
                                                   {"tq3", CacheType::turbo(3)},
                                                   {"tq2", CacheType::turbo(2)},
                                                   {"f64", DType::f64}}};

// The generator SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators):
// its number `i` behind `seed`.
std::uint64_t split_mix(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

std::string known_names() {
  std::string names;
  for (const std::string& each : cache_type_names()) names += (names.empty() ? "" : ", ") + each;
  return names;
}

}  // namespace

std::int64_t CacheType::row_bytes(std::int64_t columns) const {
  return bits != 0 ? turbo_bytes(bits, columns) : bytes_of(dtype, columns);
}

CacheType cache_type_from_name(std::string_view name) {
  for (const NamedType& each : kCacheTypes) {
    if (each.name == name) return each.type;
  }
  throw Error(ErrorCode::invalid_argument, "cache: no such type; got " + std::string(name) +
                                               ", expected one of " + known_names());
}

CacheTypes cache_types_from_names(std::string_view keys, std::string_view values) {
  const auto type_of = [](std::string_view name) -> std::optional<CacheType> {
    if (name.empty()) return std::nullopt;
    return cache_type_from_name(name);
  };
  return {type_of(keys), type_of(values)};
}

std::vector<std::string> cache_type_names() {
  std::vector<std::string> names;
  for (const NamedType& each : kCacheTypes) {
    if (each.type != CacheType(DType::f64)) names.emplace_back(each.name);
  }
  return names;
}

std::string name(CacheType type) {
  for (const NamedType& each : kCacheTypes) {
    if (each.type == type) return std::string(each.name);
  }
  return std::string(hearth::name(type.dtype));
}

std::string why_unfit(CacheType type, std::int64_t columns) {
  const bool is_known =
      std::ranges::any_of(kCacheTypes, [&](const NamedType& each) { return each.type == type; });
  if (!is_known) {
    const std::string codes = type.bits == 0 ? "" : " of " + std::to_string(type.bits) + " bits";
    return "no type of a cache; got " + name(type) + codes + ", expected one of " + known_names();
  }
  if (type.is_coded() && columns % kTurboBlock != 0) {
    return "heads are no whole blocks; got " + counted(columns, "column") + " as " + name(type) +
           ", expected a multiple of 32";
  }
  return {};
}

Array to_cache(const Array& rows, CacheType type) {
  if (type.bits != 0) return turbo_quantize(rows, type.bits);
  if (is_packed(type.dtype)) return block_bytes(quantize(rows, type.dtype));
  return cast(rows, type.dtype);
}

HeadRotation::HeadRotation(std::int64_t columns, std::uint64_t seed, DType compute, Device device) {
  std::vector<float> signs;
  for (std::int64_t i = 0; i < columns; ++i) {
    signs.push_back(split_mix(seed, static_cast<std::uint64_t>(i)) >> 63 != 0 ? -1.0f : 1.0f);
  }
  signs_ = cast(Array::from_data(signs, {columns}, device), compute).eval();
}

Array HeadRotation::forward(const Array& x) const {
  return defined() ? hadamard(mul(x, signs_)) : x;
}
Array HeadRotation::undo(const Array& y) const { return defined() ? mul(hadamard(y), signs_) : y; }

}  // namespace hearth::models
