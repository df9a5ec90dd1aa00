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
      const auto number = values == nullptr ? std::nullopt : find_count(*values, key);
      if (number) return number;
    }
  }
  return find_count(config, old_key);
}

}  // namespace

void add_full_layers(const JsonObject& config, GgufMetadata& metadata) {
  const std::string architecture = metadata.as_text("general.architecture");
  const std::string prefix = architecture + ".";
  const std::int64_t window_dim = find_count(config, "head_dim").value_or(0);
  if (const auto head_dim = number_of_full_layers(config, "head_dim", "global_head_dim")) {
    set_count(metadata, prefix + "attention.key_length", *head_dim);
    set_count(metadata, prefix + "attention.value_length", *head_dim);
  }
  if (find_value(config, "head_dim") != nullptr) {
    set_count(metadata, prefix + "attention.key_length_swa", window_dim);
    set_count(metadata, prefix + "attention.value_length_swa", window_dim);
  }
  set_count(metadata, prefix + "rope.dimension_count_swa", window_dim);
  const auto full_heads =
      number_of_full_layers(config, "num_key_value_heads", "num_global_key_value_heads");
  if (!full_heads || !find_flag(config, "attention_k_eq_v").value_or(false)) return;
  const Keys keys(metadata, architecture);
  const Family& family = family_by_name(architecture);
  const std::int64_t window_heads = find_count(config, "num_key_value_heads").value_or(0);
  std::vector<std::uint32_t> heads;
  for (std::int64_t i = 0; i < layers_of(config); ++i) {
    const std::int64_t count = window_of(keys, family, i) == 0 ? *full_heads : window_heads;
    heads.push_back(static_cast<std::uint32_t>(count));
  }
  metadata.set(prefix + "attention.head_count_kv", heads);
}

void add_wide_feed_forwards(const JsonObject& config, GgufMetadata& metadata) {
  if (!find_flag(config, "use_double_wide_mlp").value_or(false)) return;
  const std::int64_t layers = layers_of(config);
  const std::int64_t own =
      layers - std::min(layers, find_count(config, "num_kv_shared_layers").value_or(0));
  const auto width =
      static_cast<std::uint32_t>(find_count(config, "intermediate_size").value_or(0));
  std::vector<std::uint32_t> widths;
  for (std::int64_t i = 0; i < layers; ++i) widths.push_back(i < own ? width : 2 * width);
  metadata.set(metadata.as_text("general.architecture") + ".feed_forward_length", widths);
}

}  // namespace hearth::models
