// GGUF files made field by field, right and wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/gguf.h"

namespace hearth::testing {

class GgufBytes {
 public:
  template <class T>
  GgufBytes& put(T number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  GgufBytes& type(GgufType type) { return put(static_cast<std::uint32_t>(type)); }
  GgufBytes& text(std::string_view text) { return put(std::uint64_t{text.size()}).raw(text); }
  GgufBytes& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  GgufBytes& start(std::int64_t tensors, std::int64_t entries, std::uint32_t version = 3) {
    return raw("GGUF").put(version).put(tensors).put(entries);
  }
  GgufBytes& key(std::string_view key, GgufType value) { return text(key).type(value); }
  // `extents` innermost first.
  GgufBytes& tensor(std::string_view name, const std::vector<std::int64_t>& extents,
                    std::int32_t type, std::uint64_t offset) {
    text(name).put(static_cast<std::uint32_t>(extents.size()));
    for (const std::int64_t extent : extents) put(extent);
    return put(type).put(offset);
  }
  // Zeros up to the alignment, then `bytes` bytes of data.
  GgufBytes& data(std::size_t bytes, std::size_t alignment = 32) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment, '\0');
    for (std::size_t i = 0; i < bytes; ++i) text_ += static_cast<char>(i);
    return *this;
  }

  const std::string& str() const noexcept { return text_; }
  std::size_t size() const noexcept { return text_.size(); }

 private:
  std::string text_;
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The metadata of every type, and arrays of every type.
inline GgufMetadata every_value() {
  using Texts = std::vector<std::string>;
  return {{"general.architecture", "llama"},
          {"a.u8", std::uint8_t{200}},
          {"a.i8", std::int8_t{-100}},
          {"a.u16", std::uint16_t{60000}},
          {"a.i16", std::int16_t{-30000}},
          {"a.u32", std::uint32_t{4000000000}},
          {"a.i32", std::int32_t{-2000000000}},
          {"a.f32", 0.1f},
          {"a.bool", true},
          {"a.text", std::string("zero\0 line\n \xe2\x82\xac", 15)},
          {"a.u64", std::uint64_t{18000000000000000000u}},
          {"a.i64", std::int64_t{-9000000000000000000}},
          {"a.f64", 0.1},
          {"all.u8", std::vector<std::uint8_t>{0, 255}},
          {"all.i8", std::vector<std::int8_t>{-128, 127}},
          {"all.u16", std::vector<std::uint16_t>{0, 65535}},
          {"all.i16", std::vector<std::int16_t>{-32768, 32767}},
          {"all.u32", std::vector<std::uint32_t>{0, 4294967295u}},
          {"all.i32", std::vector<std::int32_t>{-2147483647 - 1, 2147483647}},
          {"all.f32", std::vector<float>{-1.5f, 3e38f}},
          {"all.bool", std::vector<bool>{true, false, true}},
          {"all.text", Texts{"", "one", "\xff not UTF-8"}},
          {"all.u64", std::vector<std::uint64_t>{0, ~std::uint64_t{0}}},
          {"all.i64", std::vector<std::int64_t>{-1, std::int64_t{1} << 62}},
          {"all.f64", std::vector<double>{-1e300, 0}},
          {"none.text", Texts{}},
          {"none.f32", std::vector<float>{}}};
}

}  // namespace hearth::testing
