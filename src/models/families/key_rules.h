// Keys of config.json that several families have.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

inline constexpr KeyRule kLayerNormEps{"layer_norm_eps", "attention.layer_norm_epsilon",
                                       ConfigType::number};
inline constexpr KeyRule kClipQkv{"clip_qkv", "attention.clamp_kqv", ConfigType::number};

}  // namespace hearth::models
