// The names of the files of a split model: x-00001-of-00003.gguf and so on.
#pragma once

#include <optional>
#include <string>

namespace hearth::io {

inline constexpr int kMaxGgufParts = 65535;

struct GgufPartName {
  std::string stem;  // what stands before "-00001-of-00003.gguf", folders included
  int number = 1;    // from 1
  int count = 1;
};

// Nothing for the path of a file that is no part.
std::optional<GgufPartName> gguf_part_name(const std::string& path);

std::string gguf_part_path(const GgufPartName& name);

}  // namespace hearth::io
