// What the families of encoders share.
#pragma once

#include "models/language/family.h"

namespace hearth::models {

// Rows see all rows of their text; texts are the mean of them where files do not say.
inline void see_both_ways(LanguageConfig& config, const Keys&, FileKind) {
  config.is_causal = false;
  if (config.pooling == Pooling::none) config.pooling = Pooling::mean;
}

// What see_both_ways() has of itself.
inline void say_both_ways(GgufContents& contents, const LanguageConfig& config) {
  const auto set = [&](const char* key, GgufValue value) {
    contents.metadata.insert(config.architecture + "." + key, std::move(value));
  };
  set("attention.causal", false);
  set("pooling_type", static_cast<std::uint32_t>(config.pooling));
  for (const NamedArray& each : contents.arrays) {
    if (each.name != "token_types.weight") continue;
    contents.metadata.set("tokenizer.ggml.token_type_count",
                          static_cast<std::uint32_t>(each.array.shape(0)));
  }
}

}  // namespace hearth::models
