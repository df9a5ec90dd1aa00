// Attention to keys and values in the caches: of heads, or of latent rows.
#include "models/language/blocks/attention.h"

#include "models/language/blocks/latent_attention.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

MixerMemory attention_memory(const LanguageConfig&, const LayerConfig& layer) {
  const AttentionConfig& attention = layer.attention;
  if (attention.shared_layer >= 0) return {};
  if (attention.latent) return {.keys = {1, attention.latent->rank + attention.latent->rope_dims}};
  return {.keys = {attention.kv_heads, attention.key_dim},
          .values = {attention.kv_heads, attention.value_dim}};
}

std::int64_t attention_columns(const LanguageConfig&, const LayerConfig& layer) {
  const AttentionConfig& attention = layer.attention;
  return (attention.heads + attention.kv_heads) * (attention.key_dim + attention.value_dim);
}

std::shared_ptr<const MixerBlock> make_attention(const MixerParts& parts) {
  const AttentionConfig& attention = parts.layer.attention;
  if (attention.latent) {
    return std::make_shared<LatentAttention>(parts.model, attention, parts.weights, parts.prefix,
                                             parts.divisors, parts.device);
  }
  return std::make_shared<Attention>(parts.model, attention, parts.weights, parts.prefix,
                                     parts.divisors, parts.device);
}

}  // namespace

constinit const MixerDef attention_mixer = {
    .memory = attention_memory, .widest_columns = attention_columns, .make = make_attention};

}  // namespace hearth::models
