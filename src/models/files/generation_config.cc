#include "models/files/generation_config.h"

#include <cstdint>

#include "io/file.h"
#include "models/sampling/recommended_sampling.h"

namespace hearth::models {

void add_generation_config_of(const ModelFolder& folder, GgufMetadata& metadata) {
  constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 20;
  if (folder.generation_config.empty()) return;
  const auto bytes = io::read_file(folder.generation_config, kMostConfigBytes);
  add_generation_config(metadata, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                        folder.generation_config);
}

}  // namespace hearth::models
