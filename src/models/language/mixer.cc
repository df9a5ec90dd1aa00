#include "models/language/mixer.h"

#include <algorithm>

namespace hearth::models {
namespace {

constexpr const MixerDef* kMixers[] = {
#define MIXER(name) &name##_mixer,
#include "models/language/mixers.def"
};

}  // namespace

const MixerDef& definition_of(Mixer mixer) { return *kMixers[static_cast<std::size_t>(mixer)]; }

Mixer mixer_of(const Keys& keys, const Family& family, std::int64_t layer) {
  const MixerDef& mixer = definition_of(family.mixer);
  const bool mixes = mixer.mixes_layer == nullptr || mixer.mixes_layer(keys, layer);
  return mixes ? family.mixer : Mixer::attention;
}

bool has_states(const LanguageConfig& config) {
  return std::ranges::any_of(config.layers, [](const LayerConfig& layer) {
    return definition_of(layer.mixer).has_states;
  });
}

std::int64_t block_rows(const LanguageConfig& config) {
  std::int64_t rows = 1;
  for (const LayerConfig& layer : config.layers) {
    rows = std::max(rows, definition_of(layer.mixer).block_rows);
  }
  return rows;
}

}  // namespace hearth::models
