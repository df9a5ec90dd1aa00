// Which layers have windows, where files do not list them, and what only those have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {

// Those for which `has_window(layer)` is true, in files without layer_types.
template <class HasWindow>
void set_window_layers(const JsonObject& config, GgufMetadata& metadata, HasWindow has_window) {
  if (find_array(config, "layer_types") != nullptr) return;
  std::vector<bool> windows;
  for (std::int64_t i = 0; i < layers_of(config); ++i) windows.push_back(has_window(i));
  metadata.set(metadata.as_text("general.architecture") + ".attention.sliding_window_pattern",
               windows);
}

// The same, but none where use_sliding_window is absent.
template <class HasWindow>
void add_window_layers(const JsonObject& config, GgufMetadata& metadata, HasWindow has_window) {
  const bool any = find_flag(config, "use_sliding_window").value_or(false) &&
                   find_value(config, "sliding_window") != nullptr;
  set_window_layers(config, metadata, [&](std::int64_t i) { return any && has_window(i); });
}

// The layers behind the first max_window_layers.
inline void add_later_windows(const JsonObject& config, bool, GgufMetadata& metadata) {
  const std::int64_t first = find_integer(config, "max_window_layers").value_or(28);
  add_window_layers(config, metadata, [&](std::int64_t i) { return i >= first; });
}

// Positions in layers with a window only, as Family::adjust.
inline void turn_windows_only(LanguageConfig& config, const Keys&, FileKind) {
  for (LayerConfig& layer : config.layers) {
    if (layer.attention.window == 0) layer.attention.rope.pairs = RopePairs::none;
  }
}

}  // namespace hearth::models
