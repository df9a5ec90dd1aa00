#include "models/files/tensor_roles.h"

#include <charconv>

namespace hearth::models {
namespace {

constexpr std::string_view kWeightSuffix = ".weight", kNormSuffix = "_norm", kLayerPrefix = "blk.";

struct NamedRole {
  std::string_view name;
  TensorRole role;
};
constexpr NamedRole kOfModel[] = {
    {"token_embd", TensorRole::token_embedding},
    {"output", TensorRole::output},
    {"position_embd", TensorRole::table},
    {"token_types", TensorRole::table},
    {"per_layer_token_embd", TensorRole::layer_embedding},
    {"per_layer_model_proj", TensorRole::layer_projection},
};
// By the last part of their names.
constexpr NamedRole kOfLayers[] = {
    {"attn_q", TensorRole::query},
    {"attn_k", TensorRole::key},
    {"attn_v", TensorRole::value},
    {"attn_qkv", TensorRole::query_key_value},
    {"attn_output", TensorRole::mixed},
    {"attn_q_a", TensorRole::mixer},
    {"attn_q_b", TensorRole::mixer},
    {"attn_kv_a_mqa", TensorRole::mixer},
    {"attn_gate", TensorRole::mixer},
    {"ssm_in", TensorRole::mixer},
    {"ssm_out", TensorRole::mixer},
    {"in_proj", TensorRole::mixer},
    {"out_proj", TensorRole::mixer},
    {"ssm_conv1d", TensorRole::convolution},
    {"conv", TensorRole::convolution},
    {"attn_kv_b", TensorRole::key_value},
    {"ffn_gate", TensorRole::gate},
    {"ffn_gate_exps", TensorRole::gate},
    {"ffn_gate_up_exps", TensorRole::gate},
    {"ffn_gate_shexp", TensorRole::gate},
    {"ffn_up", TensorRole::up},
    {"ffn_up_exps", TensorRole::up},
    {"ffn_up_shexp", TensorRole::up},
    {"ffn_down", TensorRole::down},
    {"ffn_down_exps", TensorRole::down},
    {"ffn_down_shexp", TensorRole::down},
    {"ffn_gate_inp", TensorRole::router},
    {"ffn_gate_inp_shexp", TensorRole::router},
};

}  // namespace

TensorRole role_of(std::string_view name) {
  if (name.ends_with(kWeightSuffix)) name.remove_suffix(kWeightSuffix.size());
  if (name.ends_with(kNormSuffix)) return TensorRole::norm;
  for (const NamedRole& each : kOfModel) {
    if (each.name == name) return each.role;
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return TensorRole::other;
  for (const NamedRole& each : kOfLayers) {
    if (each.name == name.substr(dot + 1)) return each.role;
  }
  return TensorRole::other;
}

std::int64_t layer_of(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) return -1;
  std::int32_t layer = -1;  // stays where no number follows, or one that is no int32
  std::from_chars(name.data() + kLayerPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

const NamedArray* find_weight(const NamedArrays& arrays, TensorRole role) {
  for (const NamedArray& each : arrays) {
    if (role_of(each.name) == role && each.name.ends_with(kWeightSuffix)) return &each;
  }
  return nullptr;
}

std::int64_t vocabulary_of(const NamedArrays& arrays) {
  const NamedArray* embedding = find_weight(arrays, TensorRole::token_embedding);
  return embedding == nullptr ? 0 : embedding->array.shape(0);
}

}  // namespace hearth::models
