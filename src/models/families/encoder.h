// What the families of encoders share.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

// Rows see all rows of their text; texts are the mean of them where files do not say.
inline void see_both_ways(LanguageConfig& config, const Keys&, FileKind) {
  config.is_causal = false;
  if (config.pooling == Pooling::none) config.pooling = Pooling::mean;
}

}  // namespace hearth::models
