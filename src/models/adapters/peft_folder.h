// Folders of PEFT: adapter_config.json beside adapter_model.safetensors.
#pragma once

#include <string>

#include "models/adapters/stored_adapter.h"

namespace hearth::models {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";

// As read_adapter(), of a folder that has this file.
StoredAdapter read_folder_adapter(const std::string& path);

}  // namespace hearth::models
