// Which dtype each tensor of a language model gets when its file is quantized.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/gguf.h"
#include "hearth/shape.h"
#include "models/quantize/mixes.h"

namespace hearth::models {

// What is asked for: a dtype for matrices, and which of them get another.
struct QuantizeType {
  DType dtype = DType::q4_k;
  QuantizeMix mix = QuantizeMix::none;
  // Every matrix in `dtype`: also those of the output, which otherwise get q6_k at least.
  bool is_pure = false;
  bool is_kept = false;  // every matrix as it is: "keep"
};

// "q4_k_m", "mxfp4", "f16", by llama.cpp's names; capital letters are as good. Throws
// Error{invalid_argument} with the names that there are.
QuantizeType quantize_type_from_name(std::string_view name);
std::vector<std::string> quantize_type_names();

// Whether the dtype holds so few bits that without an importance matrix little is left of a model.
bool needs_importance(DType dtype);

// The number of GGUF's "general.file_type" that names the type best; -1 for none.
std::int64_t file_type_of(const QuantizeType& type);
// What llama.cpp calls a type of that number: "Q4_K - Medium"; empty: it is not known.
std::string_view file_type_name(std::int64_t file_type) noexcept;

// Whether the tensor is a matrix that is multiplied with rows: the rest is small, and read
// otherwise.
bool is_matrix(std::string_view name, const Shape& shape);

struct TypedTensor {
  std::string name;
  Shape shape;  // [.., out, in]
  DType dtype = DType::f32;
};

// What mixes look at of a GGUF file's model. Throws Error{invalid_argument} for numbers that are
// none.
MixedModel mixed_model(const GgufMetadata& metadata, const std::vector<TypedTensor>& tensors,
                       bool has_importance);

// The dtype of each of a model's tensors: its own for norms, biases, routers and whatever else has
// few elements; and where no blocks of the type fit into its rows, a larger type whose blocks do.
std::vector<DType> quantized_dtypes(const QuantizeType& type,
                                    const std::vector<TypedTensor>& tensors,
                                    const MixedModel& model);

}  // namespace hearth::models
