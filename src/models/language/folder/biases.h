// Biases that a configuration says its model has.
#pragma once

#include <map>
#include <string>

#include "core/json.h"
#include "models/language/family.h"

namespace hearth::models {

// Throws Error{invalid_argument}, with the tensor's name, where the configuration says that
// projections have biases and one has none: others would take random numbers for them. `sources`:
// the folder's names of tensors, by GGUF's.
void require_biases(const JsonObject& config, const FolderType& type,
                    const std::map<std::string, std::string>& sources);

}  // namespace hearth::models
