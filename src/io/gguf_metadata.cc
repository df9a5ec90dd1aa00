// The values of GGUF metadata.
#include <concepts>
#include <iterator>
#include <limits>

#include "core/quoted.h"
#include "hearth/gguf.h"

namespace hearth {
namespace {

// In the order of the alternatives of GgufValue::Storage, which are first those and then vectors of
// them.
constexpr GgufType kAlternatives[] = {
    GgufType::u8,  GgufType::i8,    GgufType::u16,    GgufType::i16, GgufType::u32, GgufType::i32,
    GgufType::f32, GgufType::bool_, GgufType::string, GgufType::u64, GgufType::i64, GgufType::f64};
constexpr std::size_t kScalars = std::size(kAlternatives);
static_assert(std::variant_size_v<GgufValue::Storage> == 2 * kScalars);

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

[[noreturn]] void refuse_value(std::string_view key, const std::string& what) {
  const std::string who = key.empty() ? "a value" : "the value of " + hearth::quoted(key);
  throw Error(ErrorCode::invalid_argument, "gguf: " + who + " " + what);
}

[[noreturn]] void refuse_type(const GgufValue& value, std::string_view key, const char* expected) {
  refuse_value(key, "has another type; got " + std::string(value.is_array() ? "an array of " : "") +
                        std::string(name(value.element_type())) + ", expected " + expected);
}

template <Integer T>
std::int64_t signed_integer(T value, std::string_view key) {
  if (!std::in_range<std::int64_t>(value)) {
    refuse_value(key, "is out of range; got " + std::to_string(value) +
                          ", expected an integer of 64 bits with a sign");
  }
  return static_cast<std::int64_t>(value);
}

template <class T>
const T& alternative(const GgufValue& value, std::string_view key, const char* expected) {
  if (const T* held = std::get_if<T>(&value.storage())) return *held;
  refuse_type(value, key, expected);
}

template <class T>
struct ElementOf {
  using Type = void;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};
template <class T>
using Element = typename ElementOf<std::remove_cvref_t<T>>::Type;

}  // namespace

inline namespace v0 {

std::string_view name(GgufType type) noexcept {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<int>(type)];
}

GgufType GgufValue::type() const noexcept {
  return storage_.index() < kScalars ? kAlternatives[storage_.index()] : GgufType::array;
}

GgufType GgufValue::element_type() const noexcept {
  return kAlternatives[storage_.index() % kScalars];
}

std::int64_t GgufValue::size() const noexcept {
  return std::visit(
      []<class T>(const T& value) -> std::int64_t {
        if constexpr (std::is_void_v<Element<T>>) {
          return 1;
        } else {
          return static_cast<std::int64_t>(value.size());
        }
      },
      storage_);
}

std::int64_t GgufValue::as_int(std::string_view key) const {
  return std::visit(
      [&]<class T>(const T& value) -> std::int64_t {
        if constexpr (Integer<T>) {
          return signed_integer(value, key);
        } else {
          refuse_type(*this, key, "an integer");
        }
      },
      storage_);
}

double GgufValue::as_float(std::string_view key) const {
  return std::visit(
      [&]<class T>(const T& value) -> double {
        if constexpr (Integer<T> || std::floating_point<T>) {
          return static_cast<double>(value);
        } else {
          refuse_type(*this, key, "a number");
        }
      },
      storage_);
}

bool GgufValue::as_bool(std::string_view key) const {
  return alternative<bool>(*this, key, "bool");
}

const std::string& GgufValue::as_text(std::string_view key) const {
  return alternative<std::string>(*this, key, "string");
}

std::vector<std::int64_t> GgufValue::as_ints(std::string_view key) const {
  return std::visit(
      [&]<class T>(const T& values) -> std::vector<std::int64_t> {
        if constexpr (Integer<Element<T>>) {
          std::vector<std::int64_t> out;
          out.reserve(values.size());
          for (const auto value : values) out.push_back(signed_integer(value, key));
          return out;
        } else {
          refuse_type(*this, key, "an array of integers");
        }
      },
      storage_);
}

std::vector<double> GgufValue::as_floats(std::string_view key) const {
  return std::visit(
      [&]<class T>(const T& values) -> std::vector<double> {
        if constexpr (Integer<Element<T>> || std::floating_point<Element<T>>) {
          std::vector<double> out;
          out.reserve(values.size());
          for (const auto value : values) out.push_back(static_cast<double>(value));
          return out;
        } else {
          refuse_type(*this, key, "an array of numbers");
        }
      },
      storage_);
}

const std::vector<bool>& GgufValue::as_bools(std::string_view key) const {
  return alternative<std::vector<bool>>(*this, key, "an array of bool");
}

const std::vector<std::string>& GgufValue::as_texts(std::string_view key) const {
  return alternative<std::vector<std::string>>(*this, key, "an array of string");
}

GgufMetadata::GgufMetadata(std::initializer_list<GgufEntry> entries) {
  for (const GgufEntry& entry : entries) set(entry.key, entry.value);
}

const GgufValue* GgufMetadata::find(std::string_view key) const noexcept {
  const auto place = places_.find(key);
  return place == places_.end() ? nullptr : &entries_[place->second].value;
}

const GgufValue& GgufMetadata::at(std::string_view key) const {
  if (const GgufValue* value = find(key)) return *value;
  throw Error(ErrorCode::invalid_argument, "gguf: a key is missing in the metadata; got no " +
                                               hearth::quoted(key) + ", expected it there");
}

void GgufMetadata::set(std::string key, GgufValue value) {
  const auto place = places_.find(key);
  if (place == places_.end()) {
    insert(std::move(key), std::move(value));
  } else {
    entries_[place->second].value = std::move(value);
  }
}

bool GgufMetadata::insert(std::string key, GgufValue value) {
  const auto [place, is_new] = places_.try_emplace(key, entries_.size());
  if (!is_new) return false;
  try {
    entries_.push_back({std::move(key), std::move(value)});
  } catch (...) {
    places_.erase(place);
    throw;
  }
  return true;
}

bool GgufMetadata::erase(std::string_view key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return false;
  const std::size_t place = found->second;
  places_.erase(found);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(place));
  for (auto& [name, after] : places_) after -= after > place ? 1 : 0;
  return true;
}

std::int64_t GgufMetadata::as_int(std::string_view key, std::int64_t fallback) const {
  const GgufValue* value = find(key);
  return value == nullptr ? fallback : value->as_int(key);
}

double GgufMetadata::as_float(std::string_view key, double fallback) const {
  const GgufValue* value = find(key);
  return value == nullptr ? fallback : value->as_float(key);
}

bool GgufMetadata::as_bool(std::string_view key, bool fallback) const {
  const GgufValue* value = find(key);
  return value == nullptr ? fallback : value->as_bool(key);
}

std::string GgufMetadata::as_text(std::string_view key, std::string_view fallback) const {
  const GgufValue* value = find(key);
  return value == nullptr ? std::string(fallback) : value->as_text(key);
}

}  // namespace v0
}  // namespace hearth
