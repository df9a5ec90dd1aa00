// The header of a safetensors file, read from untrusted bytes: what reader and writer share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "hearth/shape.h"
#include "io/safetensors.h"
#include "io/untrusted.h"

namespace hearth::io {

// Of the length before the JSON.
inline constexpr std::size_t kLengthBytes = 8;
inline constexpr std::string_view kMetadataKey = "__metadata__";

// A name from an untrusted file, made fit for a message: short, quoted, ASCII without control
// characters.
std::string printable(std::string_view name);

struct HeaderTensor {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t position = 0;  // in the file, where its description begins
  Float8 float8 = Float8::none;
};

struct SafetensorsHeader {
  std::vector<HeaderTensor> tensors;  // in the order of the text
  SafetensorsMetadata metadata;
};

// Parses all of the text, whose tensors lie in `data_bytes` bytes. Throws Error{corrupt_file} for
// what the format does not allow, Error{unsupported} for dtypes and ranks that Hearth lacks.
SafetensorsHeader read_header(std::string_view text, std::uint64_t data_bytes,
                              const FileErrors& errors, Float8Tensors float8);

}  // namespace hearth::io
