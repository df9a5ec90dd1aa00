// GPT-OSS: experts in MXFP4 with biases and a clamped activation, a sink for each head, a window in
// every other layer.
#include "models/families/transforms.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGptOssDefaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 2880, "intermediate_size": 2880,
        "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 64, "num_local_experts": 128, "sliding_window": 128, "rms_norm_eps": 1e-5,
        "num_experts_per_tok": 4, "rope_parameters": {"rope_type": "yarn", "factor": 32.0,
        "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false,
        "original_max_position_embeddings": 4096}, "rope_theta": 1.5e5})";
constexpr FolderType kGptOssTypes[] = {
    {.name = "gpt_oss", .defaults = kGptOssDefaults, .has_windows = true}};

// Every second column of the last axis.
Array every_second(const Array& x, std::int64_t first) {
  const std::int64_t axis = x.rank() - 1;
  Shape pairs = x.shape();
  pairs[axis] = x.shape(axis) / 2;
  pairs.push_back(2);
  return squeeze(narrow(reshape(x, pairs), axis + 1, first, 1), {axis + 1});
}
Array even_columns(const Array& x, const FolderContext&) { return every_second(x, 0); }
Array odd_columns(const Array& x, const FolderContext&) { return every_second(x, 1); }

// Weights of experts as [experts, out, in], which folders have so where they are blocks, and as
// [experts, in, out] where they are floats; of these rows all, or every second.
Array expert_rows(const Array& x, const FolderContext&) {
  return is_packed(x.dtype()) ? x : contiguous(swap_axes(x, 1, 2));
}
Array every_second_row(const Array& x, std::int64_t first) {
  if (is_packed(x.dtype())) return slice(x, {Slice(), Slice(first, x.shape(1), 2)});
  return contiguous(swap_axes(every_second(x, first), 1, 2));
}
Array even_rows(const Array& x, const FolderContext&) { return every_second_row(x, 0); }
Array odd_rows(const Array& x, const FolderContext&) { return every_second_row(x, 1); }

constexpr TensorRule kGptOssTensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.mlp.router", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", even_rows},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_up_exps.weight", odd_rows},
    {"model.layers.{}.mlp.experts.gate_up_proj_blocks", "blk.{}.ffn_gate_exps.weight", even_rows},
    {"model.layers.{}.mlp.experts.gate_up_proj_blocks", "blk.{}.ffn_up_exps.weight", odd_rows},
    {"model.layers.{}.mlp.experts.down_proj_blocks", "blk.{}.ffn_down_exps.weight"},
    {"model.layers.{}.mlp.experts.gate_up_proj_bias", "blk.{}.ffn_gate_exps.bias", even_columns},
    {"model.layers.{}.mlp.experts.gate_up_proj_bias", "blk.{}.ffn_up_exps.bias", odd_columns},
    {"model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight", expert_rows},
    {"model.layers.{}.mlp.experts.down_proj_bias", "blk.{}.ffn_down_exps.bias"},
};
constexpr KeyRule kGptOssKeys[] = {{"intermediate_size", "expert_feed_forward_length"}};
constexpr FixedValue kGptOssFixed[] = {{"swiglu_alpha", 1.702}, {"swiglu_limit", 7.0}};

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
          .fixed = kGptOssFixed,
          .repeats_output = true};
}

}  // namespace hearth::models
