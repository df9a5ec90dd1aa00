#include "models/language/folder/full_layers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/language/folder/config_values.h"
#include "models/language/keys.h"
#include "models/language/read_attention.h"

namespace hearth::models {
namespace {

// A number of the layers that see all keys: of the first that has one for itself, or, in older
// files, by a name of its own.
std::optional<std::int64_t> number_of_full_layers(const JsonObject& config, const char* key,
                                                  const char* old_key) {
  if (const JsonObject* own = find_object(config, "per_layer_config")) {
    for (const auto& [layer, value] : *own) {
      const auto* values = std::get_if<JsonObject>(&value);
      const auto number = values == nullptr ? std::nullopt : find_integer(*values, key);
      if (number) return number;
    }
  }
  return find_integer(config, old_key);
}

// The number, or 0 where there is none.
std::uint32_t config_count(const JsonObject& config, const char* key) {
  const std::int64_t value = find_integer(config, key).value_or(0);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 1 << 28));
}

}  // namespace

void add_full_layers(const JsonObject& config, GgufMetadata& metadata) {
  const std::string architecture = metadata.as_text("general.architecture");
  const std::string prefix = architecture + ".";
  const std::uint32_t window_dim = config_count(config, "head_dim");
  if (const auto head_dim = number_of_full_layers(config, "head_dim", "global_head_dim")) {
    metadata.set(prefix + "attention.key_length", static_cast<std::uint32_t>(*head_dim));
    metadata.set(prefix + "attention.value_length", static_cast<std::uint32_t>(*head_dim));
  }
  if (find_value(config, "head_dim") != nullptr) {
    metadata.set(prefix + "attention.key_length_swa", window_dim);
    metadata.set(prefix + "attention.value_length_swa", window_dim);
  }
  metadata.set(prefix + "rope.dimension_count_swa", window_dim);
  const auto full_heads =
      number_of_full_layers(config, "num_key_value_heads", "num_global_key_value_heads");
  if (!full_heads || !find_flag(config, "attention_k_eq_v").value_or(false)) return;
  const Keys keys(metadata, architecture);
  const Family& family = family_by_name(architecture);
  std::vector<std::uint32_t> heads;
  for (std::int64_t i = 0; i < layers_of(config); ++i) {
    heads.push_back(window_of(keys, family, i) == 0 ? static_cast<std::uint32_t>(*full_heads)
                                                    : config_count(config, "num_key_value_heads"));
  }
  metadata.set(prefix + "attention.head_count_kv", heads);
}

void add_wide_feed_forwards(const JsonObject& config, GgufMetadata& metadata) {
  if (!find_flag(config, "use_double_wide_mlp").value_or(false)) return;
  const std::int64_t layers = layers_of(config);
  const std::int64_t own =
      layers - std::min<std::int64_t>(layers, config_count(config, "num_kv_shared_layers"));
  const std::uint32_t width = config_count(config, "intermediate_size");
  std::vector<std::uint32_t> widths;
  for (std::int64_t i = 0; i < layers; ++i) widths.push_back(i < own ? width : 2 * width);
  metadata.set(metadata.as_text("general.architecture") + ".feed_forward_length", widths);
}

}  // namespace hearth::models
