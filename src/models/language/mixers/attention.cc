// Attention to keys and values in the caches.
#include "models/language/blocks/attention.h"

#include "models/language/mixer.h"

namespace hearth::models {
namespace {

MixerMemory attention_memory(const LanguageConfig&, const LayerConfig& layer) {
  const AttentionConfig& attention = layer.attention;
  if (attention.shared_layer >= 0) return {};
  return {.keys = {attention.kv_heads, attention.key_dim},
          .values = {attention.kv_heads, attention.value_dim}};
}

std::int64_t attention_columns(const LanguageConfig&, const LayerConfig& layer) {
  const AttentionConfig& attention = layer.attention;
  return (attention.heads + attention.kv_heads) * (attention.key_dim + attention.value_dim);
}

std::string why_heads_are_unfit(const LayerConfig& layer, CacheType keys, CacheType values) {
  const std::string why = why_unfit(keys, layer.attention.key_dim);
  return why.empty() ? why_unfit(values, layer.attention.value_dim) : why;
}

std::shared_ptr<const MixerBlock> make_attention(const MixerParts& parts) {
  return std::make_shared<Attention>(parts.model, parts.layer.attention, parts.weights,
                                     parts.prefix, parts.divisors, parts.device);
}

}  // namespace

constinit const MixerDef attention_mixer = {.memory = attention_memory,
                                            .why_unfit = why_heads_are_unfit,
                                            .widest_columns = attention_columns,
                                            .make = make_attention};

}  // namespace hearth::models
