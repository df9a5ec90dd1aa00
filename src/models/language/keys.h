// A family's keys of a file's metadata: "llama.block_count" by "block_count".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hearth/gguf.h"

namespace hearth::models {

// The metadata must outlive this. Throws Error{invalid_argument} with the whole key for values that
// are missing, of another type or out of range.
class Keys {
 public:
  Keys(const GgufMetadata& metadata, std::string architecture);

  const GgufMetadata& metadata() const noexcept { return metadata_; }
  std::string full(std::string_view key) const;
  const GgufValue* find(std::string_view key) const { return metadata_.find(full(key)); }

  // Lengths, numbers of layers and the like: 0 to 2^40.
  std::int64_t size(std::string_view key) const;
  std::int64_t size(std::string_view key, std::int64_t fallback) const;
  // Widths and counts of parts: 0 to kMostCount, also what is taken for one that is missing.
  std::int64_t count(std::string_view key) const;
  std::int64_t count(std::string_view key, std::int64_t fallback) const;
  // The same, but at least 1.
  std::int64_t some_count(std::string_view key) const;
  std::int64_t some_count(std::string_view key, std::int64_t fallback) const;
  // Throws Error{invalid_argument} for a size of 0.
  void require_some(std::string_view key, std::int64_t size) const;
  // Of a layer, where the file may say one for all or an array of them.
  std::int64_t count_of(std::string_view key, std::int64_t layer, std::int64_t fallback) const;
  bool flag_of(std::string_view key, std::int64_t layer, bool fallback) const;

  double number(std::string_view key, double fallback) const;  // finite
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;

 private:
  const GgufMetadata& metadata_;
  std::string prefix_;
};

// `value`, a width or a count of parts, 0 to kMostCount. Throws Error{invalid_argument} with `key`
// for others.
std::int64_t checked_count(const std::string& key, std::int64_t value);

// A number of 32 bits, as files hold it. Throws Error{invalid_argument} with `key` for others.
std::uint32_t number_of_file(const std::string& key, std::int64_t value);
void set_count(GgufMetadata& metadata, const std::string& key, std::int64_t value);

}  // namespace hearth::models
