#include "models/quantize/tensor_types.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "models/files/tensor_roles.h"
#include "models/language/family.h"

namespace hearth::models {
namespace {

double bits_of(DType dtype) {
  return 8.0 * static_cast<double>(size_of(dtype)) / static_cast<double>(block_of(dtype));
}

// Of 32 elements a block, for rows that are no multiple of 256.
DType with_small_blocks(DType dtype) {
  switch (dtype) {
    case DType::q4_k:
      return DType::q5_0;
    case DType::q5_k:
      return DType::q5_1;
    case DType::q6_k:
      return DType::q8_0;
    case DType::q2_k:
    case DType::q3_k:
    case DType::tq1_0:
    case DType::tq2_0:
    case DType::q2_0:
      return DType::q4_0;
    default:
      return DType::iq4_nl;
  }
}

DType dtype_of_matrix(const QuantizeType& type, const TypedTensor& tensor,
                      const MixedMatrix& matrix, const MixedModel& model) {
  DType dtype = type.dtype;
  const std::int64_t in = tensor.shape.back();
  if (is_packed(dtype) && !type.is_pure) {
    const bool has_blocks = in % block_of(dtype) == 0;
    dtype = mixed_dtype(type.mix, dtype, matrix, model);
    if (matrix.role == TensorRole::output) {
      if (type.mix == QuantizeMix::none && bits_of(dtype) < bits_of(DType::q6_k))
        dtype = DType::q6_k;
      if (!has_blocks) dtype = DType::q8_0;
    }
  }
  if (in % block_of(dtype) != 0) dtype = with_small_blocks(dtype);
  return in % block_of(dtype) == 0 ? dtype : tensor.dtype;
}

// Of the models that llama.cpp calls 70B.
constexpr std::int64_t kLayersOfFewValues = 80;

// A number of the model's family, of the first layer where each has its own; `otherwise` where the
// file does not say.
std::int64_t number_of(const GgufMetadata& metadata, const std::string& name,
                       std::int64_t otherwise) {
  const std::string key = metadata.as_text("general.architecture", "") + "." + name;
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_array()) return value->as_int(key);
  const std::vector<std::int64_t> of_layers = value->as_ints(key);
  return of_layers.empty() ? otherwise : of_layers.front();
}

}  // namespace

bool needs_importance(DType dtype) {
  return dtype == DType::iq1_s || dtype == DType::iq1_m || dtype == DType::iq2_xxs ||
         dtype == DType::iq2_xs || dtype == DType::iq2_s;
}

bool is_matrix(std::string_view name, const Shape& shape) {
  if (shape.rank() < 2 || !name.ends_with(".weight")) return false;
  const TensorRole role = role_of(name);
  return role != TensorRole::norm && role != TensorRole::router && role != TensorRole::table &&
         role != TensorRole::convolution && role != TensorRole::layer_projection;
}

MixedModel mixed_model(const GgufMetadata& metadata, const std::vector<TypedTensor>& tensors,
                       bool has_importance) {
  MixedModel model{.experts = number_of(metadata, "expert_count", 0),
                   .has_importance = has_importance};
  for (const TypedTensor& each : tensors) {
    model.layers = std::max(model.layers, 1 + layer_of(each.name));
    if (each.name == kOutputWeight) model.has_output = true;
  }
  const std::int64_t heads = number_of(metadata, "attention.head_count", 1);
  const std::int64_t shared = number_of(metadata, "attention.head_count_kv", heads);
  model.heads_together = shared > 0 ? heads / shared : 0;
  const Family* family = find_family(metadata.as_text("general.architecture", ""));
  if (family != nullptr && model.layers == kLayersOfFewValues) {
    model.has_few_values = family->few_values == FewValues::always ||
                           (family->few_values == FewValues::where_shared && heads != shared);
  }
  return model;
}

std::vector<DType> quantized_dtypes(const QuantizeType& type,
                                    const std::vector<TypedTensor>& tensors,
                                    const MixedModel& model) {
  std::vector<DType> dtypes;
  for (const TypedTensor& each : tensors) dtypes.push_back(each.dtype);
  if (type.is_kept) return dtypes;
  struct Placed {
    std::size_t place;
    TensorRole role;
    std::int64_t layer;
  };
  std::vector<Placed> matrices;
  std::map<TensorRole, std::int64_t> counts, seen;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TypedTensor& tensor = tensors[i];
    const bool is_real = is_float(tensor.dtype) || is_packed(tensor.dtype);
    if (!is_real || !is_matrix(tensor.name, tensor.shape)) continue;
    matrices.push_back({i, role_in_mixes(tensor.name, model.has_output), layer_of(tensor.name)});
    ++counts[matrices.back().role];
  }
  std::sort(matrices.begin(), matrices.end(), [&](const Placed& a, const Placed& b) {
    return a.layer != b.layer ? a.layer < b.layer : tensors[a.place].name < tensors[b.place].name;
  });
  for (const auto& [place, role, layer] : matrices) {
    const Shape& shape = tensors[place].shape;
    const MixedMatrix matrix = {.role = role,
                                .is_of_experts = shape.rank() == 3 && shape[0] > 1,
                                .layer = layer,
                                .index = seen[role]++,
                                .count = counts[role]};
    dtypes[place] = dtype_of_matrix(type, tensors[place], matrix, model);
  }
  return dtypes;
}

}  // namespace hearth::models
