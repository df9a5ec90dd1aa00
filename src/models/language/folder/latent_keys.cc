#include "models/language/folder/latent_keys.h"

#include <string>

#include "hearth/error.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {

void add_latent_keys(const JsonObject& config, std::string_view architecture,
                     GgufMetadata& metadata) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto plain = find_integer(config, "qk_nope_head_dim");
  const auto turned = find_integer(config, "qk_rope_head_dim");
  if (!plain || !turned) return;
  if (*plain < 0 || *turned < 0 || *plain > kMost || *turned > kMost) {
    throw Error(ErrorCode::invalid_argument, "config.json: no such heads; got qk_nope_head_dim " +
                                                 std::to_string(*plain) + " and qk_rope_head_dim " +
                                                 std::to_string(*turned) +
                                                 ", expected 0 to 2^20 columns");
  }
  metadata.set(std::string(architecture) + ".attention.key_length_mla",
               static_cast<std::uint32_t>(*plain + *turned));
}

}  // namespace hearth::models
