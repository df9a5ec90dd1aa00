// What the Granite families share.
#pragma once

#include "models/language/family.h"

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

}  // namespace hearth::models
