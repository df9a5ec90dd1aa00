// Values of a config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace hearth::models {

// "a.b" is b of the object a. Null for what is absent or null.
const JsonValue* find_value(const JsonObject& object, std::string_view path);

// Nothing for what is absent or null. Throw Error{invalid_argument} with the path for values of
// another type.
const JsonObject* find_object(const JsonObject& object, std::string_view path);
const JsonArray* find_array(const JsonObject& object, std::string_view path);
std::optional<double> find_number(const JsonObject& object, std::string_view path);
std::optional<std::int64_t> find_integer(const JsonObject& object, std::string_view path);
std::optional<bool> find_flag(const JsonObject& object, std::string_view path);
std::optional<std::string> find_text(const JsonObject& object, std::string_view path);

// num_hidden_layers, 0 where it is absent, at most kMostLayers: what else a folder says is refused
// when the model's sizes are read.
std::int64_t layers_of(const JsonObject& config);

}  // namespace hearth::models
