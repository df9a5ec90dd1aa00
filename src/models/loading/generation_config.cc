#include "models/loading/generation_config.h"

#include <cstdint>

#include "io/text_file.h"
#include "models/sampling/recommended_sampling.h"

namespace hearth::models {

void add_generation_config_of(const ModelFolder& folder, GgufMetadata& metadata) {
  constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 20;
  if (folder.generation_config.empty()) return;
  add_generation_config(metadata, io::read_text(folder.generation_config, kMostConfigBytes),
                        folder.generation_config);
}

}  // namespace hearth::models
