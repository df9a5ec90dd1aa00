// The sizes of well-known language models: what decides how fast one is, without its weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/gguf.h"
#include "hearth/shape.h"

namespace hearth::tools {

struct ModelShape {
  std::string_view name;          // "llama-8b"
  std::string_view architecture;  // of GGUF
  std::int64_t layers = 0;
  std::int64_t dim = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t hidden = 0;  // of the feed-forward, or of one expert
  std::int64_t vocabulary = 0;
  bool has_output = false;      // else the token embedding serves as the output's weight
  bool has_head_norms = false;  // of queries and keys
  std::int64_t window = 0;      // of keys, in those layers that have one
  std::int64_t experts = 0;
  std::int64_t experts_used = 0;
  double rope_base = 10000;
};

std::span<const ModelShape> model_shapes();
std::vector<std::string> model_shape_names();
// Throws Error{invalid_argument} with the names that there are.
const ModelShape& model_shape(std::string_view name);

struct ShapeTensor {
  std::string name;
  Shape shape;  // [out, in], [experts, out, in], or [n] of a norm
};

// What a GGUF file of the model would say: numbers without a tokenizer, and the tensors.
GgufMetadata shape_metadata(const ModelShape& shape, std::int64_t context);
std::vector<ShapeTensor> shape_tensors(const ModelShape& shape);

}  // namespace hearth::tools
