// Metadata of GGUF files, the format of ggml and llama.cpp: typed values by key. io.h reads and
// writes the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

// The types of values, with the numbers that the format gives them.
enum class GgufType : std::uint8_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  bool_,
  string,
  array,
  u64,
  i64,
  f64
};

HEARTH_API std::string_view name(GgufType type) noexcept;  // "u8", "bool", "string"

namespace gguf_detail {

template <class... T>
struct Types {
  using Values = std::variant<T..., std::vector<T>...>;
  template <class Value>
  static constexpr bool kHas =
      (std::is_same_v<Value, T> || ...) || (std::is_same_v<Value, std::vector<T>> || ...);
};
using AllTypes = Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                       std::int32_t, float, bool, std::string, std::uint64_t, std::int64_t, double>;

}  // namespace gguf_detail

// A number, a bool, a text, or an array of one type of these, whose elements take their own width.
// Texts are UTF-8 by the format; a file may hold other bytes, which are kept as they are.
//
// The readers take every integer type where they give integers, since writers of files differ in
// what they use. They throw Error{invalid_argument} with `key` for a value of another type, and for
// an integer beyond 64 bits with a sign.
class HEARTH_API GgufValue {
 public:
  // std::get_if<std::vector<float>>(&value.storage()) is an array of f32 as it is.
  using Storage = gguf_detail::AllTypes::Values;

  GgufValue() = default;  // 0 as u8
  // The C++ type says which type the value has.
  template <class T>
    requires(gguf_detail::AllTypes::kHas<T>)
  GgufValue(T value) : storage_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  GgufValue(const char* text)                         // NOLINT(google-explicit-constructor)
      : storage_(std::string(text)) {}

  GgufType type() const noexcept;
  bool is_array() const noexcept { return type() == GgufType::array; }
  // The type of an array's elements; type() of what is no array.
  GgufType element_type() const noexcept;
  // Elements of an array; 1 for what is none.
  std::int64_t size() const noexcept;
  const Storage& storage() const noexcept { return storage_; }

  std::int64_t as_int(std::string_view key = {}) const;
  double as_float(std::string_view key = {}) const;  // of integers, too
  bool as_bool(std::string_view key = {}) const;
  const std::string& as_text(std::string_view key = {}) const;
  // Of arrays.
  std::vector<std::int64_t> as_ints(std::string_view key = {}) const;
  std::vector<double> as_floats(std::string_view key = {}) const;  // of integers, too
  const std::vector<bool>& as_bools(std::string_view key = {}) const;
  const std::vector<std::string>& as_texts(std::string_view key = {}) const;

  bool operator==(const GgufValue&) const = default;

 private:
  Storage storage_;
};

struct GgufEntry {
  std::string key;
  GgufValue value;
  bool operator==(const GgufEntry&) const = default;
};

// Values by key, in the order in which they came.
//
//   const GgufMetadata& metadata = map_gguf("model.gguf").metadata;
//   const std::string kind = metadata.as_text("general.architecture");
//   const std::int64_t layers = metadata.as_int(kind + ".block_count");
//   const double base = metadata.as_float(kind + ".rope.freq_base", 10000);
//
// The readers with a `fallback` give it where there is no such key; those without throw
// Error{invalid_argument} with the key. All throw as the readers of GgufValue do. Pointers and
// references hold until the metadata change; while one thread changes them no other may read.
class HEARTH_API GgufMetadata {
 public:
  GgufMetadata() = default;
  // Of entries with one key the last stands.
  GgufMetadata(std::initializer_list<GgufEntry> entries);

  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  auto begin() const noexcept { return entries_.begin(); }
  auto end() const noexcept { return entries_.end(); }

  bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  // Null where there is none.
  const GgufValue* find(std::string_view key) const noexcept;
  const GgufValue& at(std::string_view key) const;

  // Gives a key a new value, in its old place, or adds both at the end.
  void set(std::string key, GgufValue value);
  // Adds them at the end; false, and no change, where the key is there.
  bool insert(std::string key, GgufValue value);
  bool erase(std::string_view key);  // false where there is none

  std::int64_t as_int(std::string_view key) const { return at(key).as_int(key); }
  std::int64_t as_int(std::string_view key, std::int64_t fallback) const;
  double as_float(std::string_view key) const { return at(key).as_float(key); }
  double as_float(std::string_view key, double fallback) const;
  bool as_bool(std::string_view key) const { return at(key).as_bool(key); }
  bool as_bool(std::string_view key, bool fallback) const;
  const std::string& as_text(std::string_view key) const { return at(key).as_text(key); }
  std::string as_text(std::string_view key, std::string_view fallback) const;
  std::vector<std::int64_t> as_ints(std::string_view key) const { return at(key).as_ints(key); }
  std::vector<double> as_floats(std::string_view key) const { return at(key).as_floats(key); }
  const std::vector<bool>& as_bools(std::string_view key) const { return at(key).as_bools(key); }
  const std::vector<std::string>& as_texts(std::string_view key) const {
    return at(key).as_texts(key);
  }

  bool operator==(const GgufMetadata& other) const { return entries_ == other.entries_; }

 private:
  std::vector<GgufEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of keys, in entries_
};

struct GgufOptions {
  // Where tensors begin: at multiples of this many bytes, a power of two from 8 on. 0: what the
  // metadata say under "general.alignment", else 32.
  std::int64_t alignment = 0;
  // More bytes of tensors than this are written as several files; a larger tensor has one of its
  // own. 0: one file.
  std::int64_t max_shard_bytes = 0;
};

}  // namespace v0
}  // namespace hearth
