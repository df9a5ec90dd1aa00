// One GGUF file, read from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/gguf.h"
#include "io/untrusted.h"

namespace hearth::io {

struct GgufPart {
  int version = 0;
  std::int64_t alignment = kGgufAlignment;
  GgufMetadata metadata;
  std::vector<GgufView> tensors;  // of the bytes given, in the order of their descriptions
  // In the file, where entries of the metadata and descriptions of tensors begin.
  std::vector<std::uint64_t> entry_positions;
  std::vector<std::uint64_t> tensor_positions;
};

// Throws Error{corrupt_file} for what the format does not allow, Error{unsupported} for versions
// and types that Hearth lacks, Error{out_of_memory}.
GgufPart read_gguf(std::span<const std::byte> bytes, const FileErrors& errors);

}  // namespace hearth::io
