#include "models/language/folder/config_values.h"

#include <algorithm>
#include <string>

#include "models/files/layer_limit.h"
#include "models/language/keys.h"

namespace hearth::models {

JsonSource config_source() { return {"config.json", ErrorCode::invalid_argument}; }

const JsonObject* find_object(const JsonObject& config, std::string_view path) {
  return find_object(config, path, config_source());
}

const JsonArray* find_array(const JsonObject& config, std::string_view path) {
  return find_array(config, path, config_source());
}

std::optional<double> find_number(const JsonObject& config, std::string_view path) {
  return find_number(config, path, config_source());
}

std::optional<std::int64_t> find_integer(const JsonObject& config, std::string_view path) {
  return find_integer(config, path, config_source());
}

std::optional<bool> find_flag(const JsonObject& config, std::string_view path) {
  return find_flag(config, path, config_source());
}

std::optional<std::string> find_text(const JsonObject& config, std::string_view path) {
  return find_text(config, path, config_source());
}

std::optional<std::int64_t> find_count(const JsonObject& config, std::string_view path) {
  const std::optional<std::int64_t> count = find_integer(config, path);
  if (!count) return std::nullopt;
  return checked_count(config_source().name + ": " + std::string(path), *count);
}

std::int64_t layers_of(const JsonObject& config) {
  return std::clamp<std::int64_t>(find_integer(config, "num_hidden_layers").value_or(0), 0,
                                  kMostLayers);
}

}  // namespace hearth::models
