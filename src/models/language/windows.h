// Layers that see a window of keys keep the rows of that window only: which layers those are, and
// how much they keep.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/language/config.h"

namespace hearth::models {

// Whether the layer's keys and values, which may be another layer's, are those of a window.
constexpr bool keeps_window(const LayerConfig& layer) {
  return layer.mixer == Mixer::attention && layer.attention.window > 0;
}

// What all layers with windows keep: as many keys as the widest window has; 0: no layer has one.
inline std::int64_t kept_window(const LanguageConfig& config) {
  std::int64_t window = 0;
  for (const LayerConfig& layer : config.layers) {
    if (keeps_window(layer)) window = std::max(window, layer.attention.window);
  }
  return window;
}

// The first row that the one at `position` sees.
constexpr std::int64_t first_seen_row(std::int64_t position, std::int64_t window) {
  return std::max<std::int64_t>(position + 1 - window, 0);
}

// Pages of layers with windows that a text has at most, however long it is, where a step runs
// `piece` of its rows at most: those that the piece has and sees, and one before them, so that a
// few rows can be taken back. 0: no layer has a window.
inline std::int64_t window_pages_of_text(const LanguageConfig& config, std::int64_t piece,
                                         std::int64_t page_size) {
  const std::int64_t window = kept_window(config);
  return window == 0 ? 0 : (window + piece + page_size - 1) / page_size + 2;
}

}  // namespace hearth::models
