#include "models/language/folder/latent_keys.h"

#include <string>
#include <utility>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
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

void lay_out_latent(GgufContents& contents, const LanguageConfig& config) {
  const AttentionConfig& attention = config.layers.front().attention;
  if (!attention.latent) return;
  const LatentConfig& latent = *attention.latent;
  NamedArrays arrays;
  for (NamedArray& each : contents.arrays) {
    const std::string_view ending = "attn_kv_b.weight";
    if (!each.name.ends_with(ending)) {
      arrays.push_back(std::move(each));
      continue;
    }
    const std::int64_t plain = attention.key_dim - latent.rope_dims;
    const Array open = is_packed(each.array.dtype()) ? dequantize(each.array) : each.array;
    const Array both = reshape(open, {attention.heads, plain + attention.value_dim, latent.rank});
    const std::string prefix = each.name.substr(0, each.name.size() - ending.size());
    arrays.push_back(
        {prefix + "attn_k_b.weight", contiguous(swap_axes(narrow(both, 1, 0, plain), 1, 2))});
    arrays.push_back(
        {prefix + "attn_v_b.weight", contiguous(narrow(both, 1, plain, attention.value_dim))});
  }
  contents.arrays = std::move(arrays);
  const auto set = [&](const char* key, std::int64_t value) {
    contents.metadata.set(config.architecture + ".attention." + key,
                          static_cast<std::uint32_t>(value));
  };
  set("head_count_kv", 1);
  set("key_length", latent.rank + latent.rope_dims);
  set("value_length", latent.rank);
}

}  // namespace hearth::models
