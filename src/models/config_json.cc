#include "models/config_json.h"

#include "core/json.h"

namespace hearth::models {

std::string config_json(const TransformerConfig& given) {
  const TransformerConfig config = given.resolved();
  const JsonObject object = {
      {"architectures", JsonArray{"LlamaForCausalLM"}},
      {"model_type", "llama"},
      {"vocab_size", config.vocabulary},
      {"hidden_size", config.dim},
      {"intermediate_size", config.hidden},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"max_position_embeddings", config.context},
      {"hidden_act", "silu"},
      {"rope_theta", config.rope_base},
      {"rms_norm_eps", config.norm_epsilon},
      {"tie_word_embeddings", config.tied},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"torch_dtype", "float32"},
  };
  return json_text(object, 2) + "\n";
}

}  // namespace hearth::models
