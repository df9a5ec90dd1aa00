#include "models/language/folder/layer_keys.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/language/folder/config_values.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

// Whether the layers have experts, as mlp_layer_types says; empty where it is not there.
std::vector<bool> listed_expert_layers(const JsonObject& config) {
  std::vector<bool> flags;
  const JsonArray* types = find_array(config, "mlp_layer_types");
  if (types == nullptr) return flags;
  for (const JsonValue& each : *types) {
    flags.push_back(each == JsonValue(std::string("sparse")));
    if (!flags.back() && each != JsonValue(std::string("dense"))) {
      throw Error(ErrorCode::unsupported, "config.json: unknown type of feed-forward; got " +
                                              hearth::quoted(json_text(each)) +
                                              ", expected dense or sparse");
    }
  }
  return flags;
}

}  // namespace

void add_layer_types(const JsonObject& config, const Family& family, GgufMetadata& metadata) {
  const std::string prefix = std::string(family.architecture) + ".attention.";
  const JsonArray* types = find_array(config, "layer_types");
  const bool has_convolutions = family.mixer == Mixer::convolution;
  const std::string own = has_convolutions ? "conv" : "linear_attention";
  std::vector<bool> windows, recurrent;
  if (types != nullptr) {
    for (const JsonValue& each : *types) {
      const auto* type = std::get_if<std::string>(&each);
      windows.push_back(type != nullptr && *type == "sliding_attention");
      recurrent.push_back(type != nullptr && *type == own);
      if (type == nullptr || (!windows.back() && !recurrent.back() && *type != "full_attention")) {
        throw Error(ErrorCode::unsupported,
                    "config.json: unknown type of layer; got " + hearth::quoted(json_text(each)) +
                        ", expected full_attention, sliding_attention or " + own);
      }
    }
  } else if (find_flag(config, "use_sliding_window").value_or(true) && family.window_period < 2) {
    windows.assign(static_cast<std::size_t>(layers_of(config)),
                   find_integer(config, "sliding_window").has_value());
  }
  const auto any = [](const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  };
  if (any(windows) && find_integer(config, "sliding_window") == 0) {
    throw Error(
        ErrorCode::invalid_argument,
        "config.json: sliding_window of no rows; got 0, expected at least 1, or null for none");
  }
  if (types != nullptr || any(windows)) metadata.set(prefix + "sliding_window_pattern", windows);
  // Families whose layers differ take some for recurrent where files list none.
  const bool differs = definition_of(family.mixer).mixes_layer != nullptr;
  if (any(recurrent) || (types != nullptr && differs)) {
    metadata.set(prefix + "recurrent_layers", recurrent);
  }
}

void add_expert_layers(const JsonObject& config, const Family& family, GgufMetadata& metadata) {
  const std::vector<bool> listed = listed_expert_layers(config);
  if (!listed.empty()) {
    // All behind the first few, as GGUF has it, or any.
    const auto first = std::find(listed.begin(), listed.end(), true);
    const std::string prefix = std::string(family.architecture) + ".";
    metadata.set(prefix + "leading_dense_block_count",
                 static_cast<std::uint32_t>(first - listed.begin()));
    if (std::find(first, listed.end(), false) != listed.end()) {
      metadata.set(prefix + "expert_layers", listed);
    }
    return;
  }
  const std::int64_t step = find_integer(config, "decoder_sparse_step").value_or(1);
  const JsonArray* dense = find_array(config, "mlp_only_layers");
  if (step < 1 || (step == 1 && (dense == nullptr || dense->empty()))) return;
  const std::int64_t layers = layers_of(config);
  std::vector<bool> flags;
  for (std::int64_t i = 0; i < layers; ++i) flags.push_back((i + 1) % step == 0);
  if (dense != nullptr) {
    for (const JsonValue& each : *dense) {
      const auto* layer = std::get_if<std::int64_t>(&each);
      if (layer == nullptr || *layer < 0 || *layer >= layers) continue;
      flags[static_cast<std::size_t>(*layer)] = false;
    }
  }
  metadata.set(std::string(family.architecture) + ".expert_layers", flags);
}

}  // namespace hearth::models
