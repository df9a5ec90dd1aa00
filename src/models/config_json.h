// The config.json of Llama-shaped models, with the names that Hugging Face uses.
#pragma once

#include <string>

#include "models/transformer.h"

namespace hearth::models {

// Reads what Hearth knows and checks it. `source` is the name used in messages. Throws
// Error{corrupt_file} for what is no JSON object, Error{invalid_argument} for values that are
// missing or make no sense, Error{unsupported} for models of another shape.
TransformerConfig parse_config(const std::string& json, const std::string& source);

std::string config_json(const TransformerConfig& config);

}  // namespace hearth::models
