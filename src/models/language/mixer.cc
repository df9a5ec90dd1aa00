#include "models/language/mixer.h"

#include <algorithm>

#include "hearth/error.h"

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

void require_size(const char* what, std::int64_t size, std::int64_t least) {
  constexpr std::int64_t kMost = 1 << 20;
  if (size >= least && size <= kMost) return;
  throw Error(ErrorCode::invalid_argument,
              std::string("model: no such size; got ") + std::to_string(size) + " " + what +
                  ", expected " + std::to_string(least) + " to " + std::to_string(kMost));
}

}  // namespace hearth::models
