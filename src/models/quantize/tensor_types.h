// Which dtype each tensor of a language model gets when its file is quantized.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/gguf.h"
#include "hearth/shape.h"
#include "models/quantize/mixes.h"
#include "models/quantize/quantize_types.h"

namespace hearth::models {

// Whether the dtype holds so few bits that without an importance matrix little is left of a model.
bool needs_importance(DType dtype);

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
