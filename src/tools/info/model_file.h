// What `hearth info` knows of a file of tensors, whatever its format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/gguf.h"
#include "hearth/shape.h"

namespace hearth::tools {

struct TensorFacts {
  std::string name;
  DType dtype;
  Shape shape;
  std::int64_t bytes;
};

// Tensors of one dtype, together.
struct DTypeTotal {
  DType dtype;
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

struct ModelFile {
  std::string format;          // "gguf" or "safetensors"
  int version = 0;             // 0: the format has none
  int files = 1;               // more of a split model
  std::int64_t alignment = 0;  // 0: the format has none
  GgufMetadata metadata;
  std::vector<TensorFacts> tensors;  // in the order of the file

  // Text of the metadata; empty where there is none.
  std::string text(const char* key) const;
  // Those with the most bytes first.
  std::vector<DTypeTotal> totals() const;
};

// By its ending or, of a file with another, by how it begins. Reads no tensor. Throws Error{io},
// Error{corrupt_file}, Error{unsupported}.
ModelFile read_model_file(const std::string& path);

double bits_per_weight(const DTypeTotal& total);  // 0 of no elements

}  // namespace hearth::tools
