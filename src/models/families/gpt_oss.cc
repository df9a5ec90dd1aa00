// GPT-OSS: experts in MXFP4 with biases and a clamped activation, a sink for each head, a window in
// every other layer.
#include "models/families/transforms.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGptOssTypes[] = {"gpt_oss"};

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
