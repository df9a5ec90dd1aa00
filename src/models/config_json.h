// The config.json of a Transformer, with the names that Hugging Face has for a llama.
#pragma once

#include <string>

#include "models/transformer.h"

namespace hearth::models {

// Throws what TransformerConfig::resolved() throws.
std::string config_json(const TransformerConfig& config);

}  // namespace hearth::models
