// Files that are one text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/file.h"

namespace hearth::io {

inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Throws as read_file() does.
inline std::string read_text(const std::string& path, std::uint64_t limit) {
  return text_of(read_file(path, limit));
}

// Throws as read_standard_input() does.
inline std::string read_input_text(std::uint64_t limit) {
  return text_of(read_standard_input(limit));
}

}  // namespace hearth::io
