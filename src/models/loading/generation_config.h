// How a folder's makers say that tokens should be drawn from its model.
#pragma once

#include "hearth/gguf.h"
#include "models/files/model_folder.h"

namespace hearth::models {

// Adds what the folder's generation_config.json says, where there is one. Throws as
// add_generation_config() does, and Error{io}.
void add_generation_config_of(const ModelFolder& folder, GgufMetadata& metadata);

}  // namespace hearth::models
