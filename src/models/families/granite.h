// What the Granite families share.
#pragma once

#include "hearth/ops.h"
#include "models/language/family.h"

namespace hearth::models {

inline constexpr KeyRule kGraniteKeys[] = {
    {"embedding_multiplier", "embedding_scale"},
    {"residual_multiplier", "residual_scale"},
    {"attention_multiplier", "attention.scale"},
    {"logits_scaling", "logit_scale"},
};

// Scores are divided by what files call their scale.
inline void invert_logit_scale(LanguageConfig& config, const Keys&, FileKind) {
  if (config.logit_scale != 0) config.logit_scale = 1 / config.logit_scale;
}

// Of each expert the gates, then what they gate.
inline Array first_half(const Array& x, const FolderContext&) {
  return narrow(x, 1, 0, x.shape(1) / 2);
}
inline Array second_half(const Array& x, const FolderContext&) {
  return narrow(x, 1, x.shape(1) / 2, x.shape(1) / 2);
}

inline constexpr TensorRule kGraniteTensors[] = {
    {"model.layers.{}.block_sparse_moe.router.layer", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.block_sparse_moe.input_linear", "blk.{}.ffn_gate_exps", first_half},
    {"model.layers.{}.block_sparse_moe.input_linear", "blk.{}.ffn_up_exps", second_half},
    {"model.layers.{}.block_sparse_moe.output_linear", "blk.{}.ffn_down_exps"},
};

}  // namespace hearth::models
