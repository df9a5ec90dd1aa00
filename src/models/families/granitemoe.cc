// Granite 3 with experts.
#include "models/families/granite.h"
#include "models/families/transforms.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGraniteMoeDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-6,
        "attention_multiplier": 1.0, "num_local_experts": 8, "num_experts_per_tok": 2})";
constexpr FolderType kGraniteMoeTypes[] = {{.name = "granitemoe", .defaults = kGraniteMoeDefaults}};

constexpr TensorRule kGraniteMoeTensors[] = {
    {"model.layers.{}.block_sparse_moe.router.layer", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.block_sparse_moe.input_linear", "blk.{}.ffn_gate_exps", first_half},
    {"model.layers.{}.block_sparse_moe.input_linear", "blk.{}.ffn_up_exps", second_half},
    {"model.layers.{}.block_sparse_moe.output_linear", "blk.{}.ffn_down_exps"},
};

}  // namespace

Family granitemoe_family() {
  return {.architecture = "granitemoe",
          .model_types = kGraniteMoeTypes,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .router = RouterGate::softmax_of_chosen,
          .adjust = invert_logit_scale,
          .keys = kGraniteKeys,
          .tensors = kGraniteMoeTensors};
}

}  // namespace hearth::models
