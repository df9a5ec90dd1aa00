#include "models/config_json.h"

#include <nlohmann/json.hpp>

namespace hearth::models {
namespace {

using nlohmann::json;

[[noreturn]] void fail(ErrorCode code, const std::string& source, const std::string& what) {
  throw Error(code, source + ": " + what);
}

std::int64_t integer(const json& object, const char* key, const std::string& source) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) {
    fail(ErrorCode::invalid_argument, source,
         std::string(key) + " is missing or no integer; got " +
             (found == object.end() ? "none" : found->dump()) + ", expected an integer");
  }
  return found->get<std::int64_t>();
}

// A value that may be absent or null.
template <class T>
T optional(const json& object, const char* key, T fallback, const std::string& source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  bool fits = false;
  if constexpr (std::is_same_v<T, bool>) {
    fits = found->is_boolean();
  } else if constexpr (std::is_same_v<T, double>) {
    fits = found->is_number();
  } else if constexpr (std::is_same_v<T, std::string>) {
    fits = found->is_string();
  } else {
    fits = found->is_number_integer();
  }
  if (!fits) {
    fail(ErrorCode::invalid_argument, source,
         std::string(key) + " is of the wrong type; got " + found->dump());
  }
  return found->get<T>();
}

// Nesting far beyond any configuration is refused before the parser's stack of values grows.
bool nests_deeply(const std::string& text) {
  constexpr int kMost = 64;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMost) return true;
  }
  return false;
}

}  // namespace

TransformerConfig parse_config(const std::string& text, const std::string& source) {
  const json object =
      nests_deeply(text) ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
  if (!object.is_object()) {
    fail(ErrorCode::corrupt_file, source, "not a configuration; expected one JSON object");
  }
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
  const auto scaling = object.find("rope_scaling");
  if (scaling != object.end() && !scaling->is_null()) {
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
  nlohmann::ordered_json object = {
      {"architectures", json::array({"LlamaForCausalLM"})},
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
  return object.dump(2) + "\n";
}

}  // namespace hearth::models
