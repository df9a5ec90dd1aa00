// Values of a config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "models/files/json_values.h"

namespace hearth::models {

// Error{invalid_argument} for values of the wrong type.
JsonSource config_source();

// find_object() and so on of config_source().
const JsonObject* find_object(const JsonObject& config, std::string_view path);
const JsonArray* find_array(const JsonObject& config, std::string_view path);
std::optional<double> find_number(const JsonObject& config, std::string_view path);
std::optional<std::int64_t> find_integer(const JsonObject& config, std::string_view path);
std::optional<bool> find_flag(const JsonObject& config, std::string_view path);
std::optional<std::string> find_text(const JsonObject& config, std::string_view path);

// A width or count of parts. Throws Error{invalid_argument} with the key for one that is not 0 to
// kMostCount.
std::optional<std::int64_t> find_count(const JsonObject& config, std::string_view path);

// num_hidden_layers, 0 where it is absent, at most kMostLayers: what else a folder says is refused
// when the model's sizes are read.
std::int64_t layers_of(const JsonObject& config);

}  // namespace hearth::models
