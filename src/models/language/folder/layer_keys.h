// What a config.json says of layers that differ, as keys of GGUF's.
#pragma once

#include "core/json.h"
#include "hearth/gguf.h"
#include "models/language/family.h"

namespace hearth::models {

// Which layers see a window only, and which have no attention.
void add_layer_types(const JsonObject& config, const Family& family, GgufMetadata& metadata);
// Which layers have experts, where not all that could.
void add_expert_layers(const JsonObject& config, const Family& family, GgufMetadata& metadata);

}  // namespace hearth::models
