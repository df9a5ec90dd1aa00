#include "models/language/keys.h"

#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "core/number_text.h"
#include "hearth/error.h"
#include "models/files/layer_limit.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

[[noreturn]] void fail_key(const std::string& key, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, key + ": " + what);
}

std::int64_t checked_size(const std::string& key, std::int64_t value) {
  if (value < 0 || value > kMaxSize) {
    fail_key(key, "out of range; got " + std::to_string(value) + ", expected 0 to 2^40");
  }
  return value;
}

// The place of a layer's value in an array of `count`.
std::int64_t place_of(const std::string& key, std::int64_t layer, std::int64_t count) {
  if (layer >= count) {
    fail_key(key, "too few values; got " + std::to_string(count) + ", expected one for layer " +
                      std::to_string(layer));
  }
  return layer;
}

template <class T>
constexpr bool kIsArray = false;
template <class T>
constexpr bool kIsArray<std::vector<T>> = true;

// An element of an array, without a copy of the others.
std::int64_t integer_at(const std::string& key, const GgufValue& array, std::int64_t place) {
  const auto element = [&]<class T>(const T& values) -> GgufValue {
    if constexpr (kIsArray<T>) {
      return typename T::value_type(values[static_cast<std::size_t>(place)]);
    } else {
      return values;
    }
  };
  return std::visit(element, array.storage()).as_int(key);
}

}  // namespace

Keys::Keys(const GgufMetadata& metadata, std::string architecture)
    : metadata_(metadata), prefix_(std::move(architecture) + ".") {}

std::string Keys::full(std::string_view key) const { return prefix_ + std::string(key); }

std::int64_t Keys::size(std::string_view key) const {
  const std::string name = full(key);
  return checked_size(name, metadata_.as_int(name));
}

std::int64_t Keys::size(std::string_view key, std::int64_t fallback) const {
  return find(key) == nullptr ? fallback : size(key);
}

void Keys::require_some(std::string_view key, std::int64_t size) const {
  if (size < 1) {
    fail_key(full(key), "no size; got " + std::to_string(size) + ", expected at least 1");
  }
}

std::int64_t Keys::count(std::string_view key) const {
  const std::string name = full(key);
  return checked_count(name, metadata_.as_int(name));
}

std::int64_t Keys::count(std::string_view key, std::int64_t fallback) const {
  const std::string name = full(key);
  return checked_count(name, metadata_.as_int(name, fallback));
}

std::int64_t Keys::some_count(std::string_view key) const {
  const std::int64_t known = count(key);
  require_some(key, known);
  return known;
}

std::int64_t Keys::some_count(std::string_view key, std::int64_t fallback) const {
  const std::int64_t known = count(key, fallback);
  require_some(key, known);
  return known;
}

std::int64_t Keys::count_of(std::string_view key, std::int64_t layer, std::int64_t fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !value->is_array()) return count(key, fallback);
  const std::string name = full(key);
  return checked_count(name, integer_at(name, *value, place_of(name, layer, value->size())));
}

bool Keys::flag_of(std::string_view key, std::int64_t layer, bool fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  const std::string name = full(key);
  if (!value->is_array()) return value->as_bool(name);
  const std::int64_t place = place_of(name, layer, value->size());
  // Some writers have numbers here.
  if (value->element_type() != GgufType::bool_) return integer_at(name, *value, place) != 0;
  return value->as_bools(name)[static_cast<std::size_t>(place)];
}

double Keys::number(std::string_view key, double fallback) const {
  const std::string name = full(key);
  const double value = metadata_.as_float(name, fallback);
  if (!std::isfinite(value)) {
    fail_key(name, "not finite; got " + number_text(value) + ", expected a number");
  }
  return value;
}

bool Keys::flag(std::string_view key, bool fallback) const {
  return metadata_.as_bool(full(key), fallback);
}

std::string Keys::text(std::string_view key, std::string_view fallback) const {
  return metadata_.as_text(full(key), fallback);
}

std::int64_t checked_count(const std::string& key, std::int64_t value) {
  if (value < 0 || value > kMostCount) {
    fail_key(key, "out of range; got " + std::to_string(value) + ", expected 0 to " +
                      std::to_string(kMostCount));
  }
  return value;
}

std::uint32_t number_of_file(const std::string& key, std::int64_t value) {
  if (value < 0 || value > UINT32_MAX) {
    fail_key(key, "out of range; got " + std::to_string(value) + ", expected 0 to 2^32 - 1");
  }
  return static_cast<std::uint32_t>(value);
}

void set_count(GgufMetadata& metadata, const std::string& key, std::int64_t value) {
  metadata.set(key, number_of_file(key, value));
}

}  // namespace hearth::models
