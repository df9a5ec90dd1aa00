// What the families of Cohere share.
#pragma once

#include "models/families/key_rules.h"

namespace hearth::models {

inline constexpr KeyRule kCohereKeys[] = {
    kLayerNormEps,
    {"logit_scale", "logit_scale", ConfigType::number},
};

}  // namespace hearth::models
