#include "models/language/keys.h"

#include <cmath>
#include <utility>

#include "core/number_text.h"
#include "hearth/error.h"

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
std::size_t place_of(const std::string& key, std::int64_t layer, std::int64_t count) {
  if (layer >= count) {
    fail_key(key, "too few values; got " + std::to_string(count) + ", expected one for layer " +
                      std::to_string(layer));
  }
  return static_cast<std::size_t>(layer);
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

std::int64_t Keys::size_of(std::string_view key, std::int64_t layer, std::int64_t fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  const std::string name = full(key);
  if (!value->is_array()) return checked_size(name, value->as_int(name));
  return checked_size(name, value->as_ints(name)[place_of(name, layer, value->size())]);
}

bool Keys::flag_of(std::string_view key, std::int64_t layer, bool fallback) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return fallback;
  const std::string name = full(key);
  if (!value->is_array()) return value->as_bool(name);
  const std::size_t place = place_of(name, layer, value->size());
  // Some writers have numbers here.
  if (value->element_type() != GgufType::bool_) return value->as_ints(name)[place] != 0;
  return value->as_bools(name)[place];
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

}  // namespace hearth::models
