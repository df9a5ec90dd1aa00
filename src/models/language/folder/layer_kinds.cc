#include "models/language/folder/layer_kinds.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/language/folder/config_values.h"
#include "models/language/keys.h"
#include "models/language/read_attention.h"
#include "models/layer_limit.h"

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

}  // namespace

void add_layer_kinds(const JsonObject& config, GgufMetadata& metadata) {
  const std::string architecture = metadata.as_text("general.architecture");
  const std::string prefix = architecture + ".";
  const auto count = [&](const char* key) {
    const std::int64_t value = find_integer(config, key).value_or(0);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 1 << 28));
  };
  constexpr std::int64_t kFullHeadDim = 512;  // where files do not say
  const auto head_dim = static_cast<std::uint32_t>(
      number_of_full_layers(config, "head_dim", "global_head_dim").value_or(kFullHeadDim));
  metadata.set(prefix + "attention.key_length", head_dim);
  metadata.set(prefix + "attention.value_length", head_dim);
  if (find_value(config, "head_dim") != nullptr) {
    metadata.set(prefix + "attention.key_length_swa", count("head_dim"));
    metadata.set(prefix + "attention.value_length_swa", count("head_dim"));
  }
  const double part =
      find_number(config, "rope_parameters.sliding_attention.partial_rotary_factor").value_or(1);
  metadata.set(prefix + "rope.dimension_count_swa",
               static_cast<std::uint32_t>(part * count("head_dim")));
  const auto full_heads =
      number_of_full_layers(config, "num_key_value_heads", "num_global_key_value_heads");
  const bool has_own_heads = find_flag(config, "attention_k_eq_v").value_or(false) && full_heads;
  const std::size_t layers = std::min<std::size_t>(count("num_hidden_layers"), kMostLayers);
  const bool is_wide = find_flag(config, "use_double_wide_mlp").value_or(false);
  const std::size_t own = layers - std::min<std::size_t>(layers, count("num_kv_shared_layers"));
  std::vector<std::uint32_t> heads, hidden;
  const Keys keys(metadata, architecture);
  const Family& family = *find_family(architecture);
  for (std::size_t i = 0; i < layers; ++i) {
    const bool is_full =
        has_own_heads && window_of(keys, family, static_cast<std::int64_t>(i)) == 0;
    heads.push_back(is_full ? static_cast<std::uint32_t>(*full_heads)
                            : count("num_key_value_heads"));
    hidden.push_back(count("intermediate_size") * (is_wide && i >= own ? 2 : 1));
  }
  if (has_own_heads) metadata.set(prefix + "attention.head_count_kv", heads);
  if (is_wide) metadata.set(prefix + "feed_forward_length", hidden);
}

}  // namespace hearth::models
