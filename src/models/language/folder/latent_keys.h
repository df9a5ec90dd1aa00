// Multi-head latent attention in folders and in GGUF files.
#pragma once

#include "core/json.h"
#include "hearth/io.h"
#include "models/language/config.h"

namespace hearth::models {

// What a head is wide before its key is made of two parts, where config.json has such heads. Throws
// Error{invalid_argument} for sizes that are none.
void add_latent_keys(const JsonObject& config, std::string_view architecture,
                     GgufMetadata& metadata);

// Files hold keys and values apart, keys by what they expand from, and heads are those of the
// latent row. Nothing where `config` has no such layers.
void lay_out_latent(GgufContents& contents, const LanguageConfig& config);

}  // namespace hearth::models
