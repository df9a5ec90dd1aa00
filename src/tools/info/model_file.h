// What `hearth info` knows of a file of tensors, or of a folder of them, whatever its format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/gguf.h"
#include "hearth/shape.h"

namespace hearth::tools {

struct TensorFacts {
  std::string name;
  std::string dtype;  // as stored: of Hearth, "q4_k", or of the format alone, "f8_e4m3"
  Shape shape;
  std::int64_t bytes;
};

// Tensors of one dtype, together.
struct DTypeTotal {
  std::string dtype;
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

struct ModelFile {
  // "gguf", "safetensors"; of folders "safetensors folder" or, of adapters, "peft folder".
  std::string format;
  int version = 0;                   // 0: the format has none
  int files = 1;                     // more of a split model
  std::int64_t alignment = 0;        // 0: the format has none
  std::string architecture;          // empty: not said
  std::string family;                // of Hearth's, by GGUF's name; empty: none, or not said
  std::string name;                  // empty: not said
  GgufMetadata metadata;             // of a folder, what config.json says
  std::vector<TensorFacts> tensors;  // in the order of the file
  std::vector<std::string> others;   // files of the tokenizer and the like in a folder

  // Those with the most bytes first.
  std::vector<DTypeTotal> totals() const;
};

// By its ending or, of a file with another, by how it begins; a folder has a config.json and
// weights in safetensors. Reads no tensor. Throws Error{io}, Error{corrupt_file},
// Error{unsupported}.
ModelFile read_model_file(const std::string& path);

double bits_per_weight(const DTypeTotal& total);  // 0 of no elements

}  // namespace hearth::tools
