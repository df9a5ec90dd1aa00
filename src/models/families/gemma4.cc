// Gemma 4: heads of two widths, later layers that read keys and values of earlier ones, an input of
// each layer's own, and experts beside the feed-forward.
#include "models/families/window_layers.h"
#include "models/language/folder/full_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemma4Defaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 30, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 256, "global_head_dim": 512, "rms_norm_eps": 1e-6, "tie_word_embeddings": true,
        "sliding_window": 512, "hidden_size_per_layer_input": 256,
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
        "rope_theta": 1e6}}})";
constexpr std::string_view kGemma4Unified =
    R"({"max_position_embeddings": 262144, "sliding_window": 1024,
        "hidden_size_per_layer_input": null})";
constexpr FolderType kGemma4Types[] = {
    {.name = "gemma4_text", .defaults = kGemma4Defaults, .has_windows = true, .has_softcaps = true},
    {.name = "gemma4", .defaults = kGemma4Defaults, .has_windows = true, .has_softcaps = true},
    {.name = "gemma4_unified_text",
     .defaults = kGemma4Defaults,
     .others = kGemma4Unified,
     .has_windows = true,
     .has_softcaps = true}};
constexpr std::int64_t kGemma4Period = 6;
constexpr TensorRule kGemma4Tensors[] = {
    {"model.embed_tokens_per_layer", "per_layer_token_embd"},
    {"model.per_layer_model_projection", "per_layer_model_proj"},
    {"model.per_layer_projection_norm", "per_layer_proj_norm"},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.pre_feedforward_layernorm_2", "blk.{}.pre_ffw_norm_2"},
    {"model.layers.{}.post_feedforward_layernorm_1", "blk.{}.post_ffw_norm_1"},
    {"model.layers.{}.post_feedforward_layernorm_2", "blk.{}.post_ffw_norm_2"},
    {"model.layers.{}.layer_scalar", "blk.{}.layer_output_scale.weight"},
    {"model.layers.{}.per_layer_input_gate", "blk.{}.inp_gate"},
    {"model.layers.{}.per_layer_projection", "blk.{}.proj"},
    {"model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"},
    {"model.layers.{}.router.proj", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.router.scale", "blk.{}.ffn_gate_inp.scale"},
    {"model.layers.{}.router.per_expert_scale", "blk.{}.ffn_down_exps.scale"},
    {"model.layers.{}.experts.gate_up_proj", "blk.{}.ffn_gate_up_exps.weight"},
    {"model.layers.{}.experts.down_proj", "blk.{}.ffn_down_exps.weight"},
};

// The last layer sees all keys, too.
void add_gemma4_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  set_window_layers(config, metadata, [layers = layers_of(config)](std::int64_t i) {
    return (i + 1) % kGemma4Period != 0 && i + 1 != layers;
  });
  add_full_layers(config, metadata);
  add_wide_feed_forwards(config, metadata);
  if (!find_flag(config, "enable_moe_block").value_or(false)) metadata.erase("gemma4.expert_count");
}

}  // namespace

Family gemma4_family() {
  return {.architecture = "gemma4",
          .model_types = kGemma4Types,
          .places = NormPlaces::both,
          .activation = Activation::gelu_tanh,
          .scales_embedding = true,
          .attention_scale = 1,
          .norms_values = true,
          .window_period = kGemma4Period,
          .scales_windows = false,
          .window_base = 10000,
          .is_normalised = true,
          .has_both = true,
          .tensors = kGemma4Tensors,
          .adjust_folder = add_gemma4_keys,
          .keeps_merges = true};
}

}  // namespace hearth::models
