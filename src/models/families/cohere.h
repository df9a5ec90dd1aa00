// What the families of Cohere share.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

inline constexpr KeyRule kCohereKeys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon", ConfigType::number},
    {"logit_scale", "logit_scale", ConfigType::number},
};

}  // namespace hearth::models
