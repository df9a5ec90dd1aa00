#include "models/config_json.h"

#include <type_traits>

#include "core/json.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& source, const std::string& what) {
  throw Error(code, source + ": " + what);
}

// A value that may be absent or null.
template <class T>
T optional(const JsonObject& object, const char* key, T fallback, const std::string& source) {
  const JsonValue* found = find_value(object, key);
  if (found == nullptr) return fallback;
  if (const T* value = std::get_if<T>(found)) return *value;
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<std::int64_t>(found)) return static_cast<T>(*whole);
  }
  constexpr const char* kExpected = std::is_same_v<T, bool>           ? "true or false"
                                    : std::is_same_v<T, double>       ? "a number"
                                    : std::is_same_v<T, std::int64_t> ? "an integer"
                                                                      : "a text";
  fail(ErrorCode::invalid_argument, source,
       std::string(key) + " is of the wrong type; got " + json_text(*found) + ", expected " +
           kExpected);
}

std::int64_t integer(const JsonObject& object, const char* key, const std::string& source) {
  if (find_value(object, key) == nullptr) {
    fail(ErrorCode::invalid_argument, source,
         std::string(key) + " is missing; got none, expected an integer");
  }
  return optional<std::int64_t>(object, key, 0, source);
}

}  // namespace

TransformerConfig parse_config(const std::string& text, const std::string& source) {
  const std::optional<JsonValue> document = parse_json(text);
  if (!document || !std::holds_alternative<JsonObject>(*document)) {
    fail(ErrorCode::corrupt_file, source, "not a configuration; expected one JSON object");
  }
  const auto& object = std::get<JsonObject>(*document);
  const auto type = optional<std::string>(object, "model_type", "llama", source);
  if (type != "llama") {
    fail(ErrorCode::unsupported, source,
         "model of another shape; got " + type + ", expected llama");
  }
  if (optional<bool>(object, "attention_bias", false, source) ||
      optional<bool>(object, "mlp_bias", false, source)) {
    fail(ErrorCode::unsupported, source, "projections with bias are not supported");
  }
  const auto activation = optional<std::string>(object, "hidden_act", "silu", source);
  if (activation != "silu") {
    fail(ErrorCode::unsupported, source,
         "another activation; got " + activation + ", expected silu");
  }
  if (find_value(object, "rope_scaling") != nullptr) {
    fail(ErrorCode::unsupported, source, "scaled rotary positions are not supported");
  }
  TransformerConfig config;
  config.vocabulary = integer(object, "vocab_size", source);
  config.dim = integer(object, "hidden_size", source);
  config.hidden = integer(object, "intermediate_size", source);
  config.layers = integer(object, "num_hidden_layers", source);
  config.heads = integer(object, "num_attention_heads", source);
  config.kv_heads = optional<std::int64_t>(object, "num_key_value_heads", config.heads, source);
  config.head_dim = optional<std::int64_t>(object, "head_dim", 0, source);
  config.context = integer(object, "max_position_embeddings", source);
  config.rope_base = optional<double>(object, "rope_theta", 10000, source);
  config.norm_epsilon = optional<double>(object, "rms_norm_eps", 1e-6, source);
  config.tied = optional<bool>(object, "tie_word_embeddings", false, source);
  return config.resolved();
}

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
