// Which dtype each tensor of a language model gets when its file is quantized.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth::models {

// Which matrices get more bits than others, as llama.cpp has it: "q4_k_s", "q4_k_m", "q3_k_l".
enum class QuantizeMix : std::uint8_t { none, small, medium, large };

// What is asked for: a dtype for matrices, and where some get more bits than others.
struct QuantizeType {
  DType dtype = DType::q4_k;
  QuantizeMix mix = QuantizeMix::none;
  // Every matrix in `dtype`: also those of the output, which otherwise get q6_k at least.
  bool is_pure = false;
  bool is_kept = false;  // every matrix as it is: "keep"
};

// "q4_k", "q4_k_m", "mxfp4", "f16"; capital letters are as good. Throws Error{invalid_argument}
// with the names that there are.
QuantizeType quantize_type_from_name(std::string_view name);
std::vector<std::string> quantize_type_names();

// Whether the dtype holds so few bits that without an importance matrix little is left of a model.
bool needs_importance(DType dtype);

// The number of GGUF's "general.file_type" that names the type best; -1 for none.
std::int64_t file_type_of(const QuantizeType& type);

// Whether the tensor is a matrix that is multiplied with rows: the rest is small, and read
// otherwise.
bool is_matrix(std::string_view name, const Shape& shape);

// The dtype of the tensor called `name`, [.., out, in]: its own, `given`, for norms, biases,
// routers and whatever else has few elements; and where no blocks of the type fit into its rows,
// the next larger type whose blocks do. `layers` is the number of blocks "blk.N" of the model;
// `has_output` says whether it has an output of its own, or the token embedding takes its
// place.
DType quantized_dtype(const QuantizeType& type, std::string_view name, const Shape& shape,
                      DType given, std::int64_t layers, bool has_output);

}  // namespace hearth::models
