// Which matrices of a model get more bits than the others, or fewer: the mixes that names of
// llama.cpp's types stand for, as one table.
#pragma once

#include <cstdint>
#include <string_view>

#include "hearth/dtype.h"
#include "models/files/tensor_roles.h"

namespace hearth::models {

// `none`: all alike. `plain`: a type of one dtype, of which only models of eight experts have more.
enum class QuantizeMix : std::uint8_t {
  none,
  plain,
  q4_0,
  q5_0,
  q2_k,
  q2_k_s,
  q3_k_s,
  q3_k_m,
  q3_k_l,
  q4_k_s,
  q4_k_m,
  q5_k_s,
  q5_k_m,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq2_m,
  iq3_xxs,
  iq3_xs,
  iq3_s,
  iq3_m,
  iq4_nl,
  iq4_xs,
  ternary,
  mxfp4_moe,
};

// What mixes look at of a model.
struct MixedModel {
  std::int64_t layers = 0;
  std::int64_t heads_together = 1;  // query heads that share keys and values, in the first layer
  std::int64_t experts = 0;
  bool has_output = false;      // "output.weight"
  bool has_importance = false;  // an importance matrix is given
  bool has_few_values = false;  // 80 layers, whose values are small beside the rest
};

struct MixedMatrix {
  TensorRole role = TensorRole::other;  // as role_in_mixes() gives it
  bool is_of_experts = false;           // [experts, out, in]
  std::int64_t layer = -1;              // N of "blk.N."
  std::int64_t index = 0;               // among those of its role, in the order of layers and names
  std::int64_t count = 0;               // of that role, in the model
};

// What mixes take a tensor for, by its name: what values are part of is a value, and the token
// embedding the output where it takes that one's place.
TensorRole role_in_mixes(std::string_view name, bool has_output);

// The dtype that the mix has for the matrix in place of `base`.
DType mixed_dtype(QuantizeMix mix, DType base, const MixedMatrix& matrix, const MixedModel& model);

}  // namespace hearth::models
