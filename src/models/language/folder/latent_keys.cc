#include "models/language/folder/latent_keys.h"

#include <string>

#include "models/language/folder/config_values.h"
#include "models/language/keys.h"

namespace hearth::models {

void add_latent_keys(const JsonObject& config, std::string_view architecture,
                     GgufMetadata& metadata) {
  const auto plain = find_count(config, "qk_nope_head_dim");
  const auto turned = find_count(config, "qk_rope_head_dim");
  if (!plain || !turned) return;
  set_count(metadata, std::string(architecture) + ".attention.key_length_mla", *plain + *turned);
}

}  // namespace hearth::models
