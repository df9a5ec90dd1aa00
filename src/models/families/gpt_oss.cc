// GPT-OSS: experts in MXFP4 with biases and a clamped activation, a sink for each head, a window in
// every other layer.
#include "hearth/ops.h"
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGptOssTypes[] = {"gpt_oss"};

// Folders hold gates in the even columns and what they gate in the odd ones, [experts, in, out] of
// plain floats, [experts, out, in] of blocks.
Array every_second(const Array& x, std::int64_t first) {
  const std::int64_t axis = x.rank() - 1;
  const std::int64_t pairs = x.shape(axis) / 2;
  Shape split = x.shape();
  split[x.rank() - 1] = pairs;
  split.push_back(2);
  return squeeze(narrow(reshape(x, split), axis + 1, first, 1), {axis + 1});
}
Array even_bias(const Array& x, const FolderContext&) { return every_second(x, 0); }
Array odd_bias(const Array& x, const FolderContext&) { return every_second(x, 1); }
Array rows_first(const Array& x) { return contiguous(swap_axes(x, 1, 2)); }
Array gates(const Array& x, const FolderContext&) {
  if (!is_packed(x.dtype())) return rows_first(every_second(x, 0));
  return slice(x, {Slice(), Slice(0, x.shape(1), 2)});
}
Array ups(const Array& x, const FolderContext&) {
  if (!is_packed(x.dtype())) return rows_first(every_second(x, 1));
  return slice(x, {Slice(), Slice(1, x.shape(1), 2)});
}
Array downs(const Array& x, const FolderContext&) {
  return is_packed(x.dtype()) ? x : rows_first(x);
}

constexpr TensorRule kGptOssTensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.mlp.router", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", gates},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_up_exps.weight", ups},
    {"model.layers.{}.mlp.experts.gate_up_proj_blocks", "blk.{}.ffn_gate_exps.weight", gates},
    {"model.layers.{}.mlp.experts.gate_up_proj_blocks", "blk.{}.ffn_up_exps.weight", ups},
    {"model.layers.{}.mlp.experts.down_proj_blocks", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj_bias", "blk.{}.ffn_gate_exps.bias", even_bias},
    {"model.layers.{}.mlp.experts.gate_up_proj_bias", "blk.{}.ffn_up_exps.bias", odd_bias},
    {"model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight", downs},
    {"model.layers.{}.mlp.experts.down_proj_bias", "blk.{}.ffn_down_exps.bias"},
};
constexpr KeyRule kGptOssKeys[] = {{"intermediate_size", "expert_feed_forward_length"}};

// Files do not say that yarn's range is not one of whole pairs.
void adjust_gpt_oss(LanguageConfig& config, const Keys& keys, FileKind) {
  const bool truncate = keys.flag("rope.scaling.yarn_truncate", false);
  for (LayerConfig& layer : config.layers) layer.attention.rope.scaling.truncate = truncate;
}

}  // namespace

Family gpt_oss_family() {
  return {.architecture = "gpt-oss",
          .model_types = kGptOssTypes,
          .feed_forward_norm = "post_attention_norm",
          .activation = Activation::clamped_swiglu,
          .window_period = 2,
          .router = RouterGate::softmax_of_chosen,
          .adjust = adjust_gpt_oss,
          .keys = kGptOssKeys,
          .tensors = kGptOssTensors,
          .repeats_output = true};
}

}  // namespace hearth::models
