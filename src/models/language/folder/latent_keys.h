// Multi-head latent attention in folders.
#pragma once

#include <string_view>

#include "core/json.h"
#include "hearth/gguf.h"

namespace hearth::models {

// What a head is wide before its key is made of two parts, where config.json has such heads. Throws
// Error{invalid_argument} for sizes that are none.
void add_latent_keys(const JsonObject& config, std::string_view architecture,
                     GgufMetadata& metadata);

}  // namespace hearth::models
