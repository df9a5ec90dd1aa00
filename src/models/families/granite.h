// What the Granite families share.
#pragma once

#include "models/families/transforms.h"

namespace hearth::models {

inline constexpr KeyRule kGraniteKeys[] = {
    {"embedding_multiplier", "embedding_scale", ConfigType::number},
    {"residual_multiplier", "residual_scale", ConfigType::number},
    {"attention_multiplier", "attention.scale", ConfigType::number},
    {"logits_scaling", "logit_scale", ConfigType::number},
};

// Scores are divided by what files call their scale.
inline void invert_logit_scale(LanguageConfig& config, const Keys&, FileKind) {
  if (config.logit_scale != 0) config.logit_scale = 1 / config.logit_scale;
}

inline constexpr TensorRule kGraniteTensors[] = {
    {"model.layers.{}.block_sparse_moe.router.layer", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.block_sparse_moe.input_linear", "blk.{}.ffn_gate_exps", first_half},
    {"model.layers.{}.block_sparse_moe.input_linear", "blk.{}.ffn_up_exps", second_half},
    {"model.layers.{}.block_sparse_moe.output_linear", "blk.{}.ffn_down_exps"},
};

}  // namespace hearth::models
