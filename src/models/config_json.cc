#include "models/config_json.h"

#include <charconv>
#include <map>

#include "core/json_reader.h"
#include "core/json_writer.h"

namespace hearth::models {
namespace {

// The members of one JSON object, each as it is written.
class Members {
 public:
  Members(const std::string& text, const std::string& source) : source_(source) {
    try {
      JsonReader json(text);
      std::string key;
      for (json.begin_object(); json.next_key(key);) written_[key] = json.skip();
      json.end();
    } catch (const JsonError& error) {
      fail(ErrorCode::corrupt_file,
           "not a configuration; got broken JSON: " + std::string(error.what()) + " at byte " +
               std::to_string(error.position()) + ", expected one JSON object");
    }
  }

  [[noreturn]] void fail(ErrorCode code, const std::string& what) const {
    throw Error(code, source_ + ": " + what);
  }

  bool has(const std::string& key) const { return !found(key).empty(); }

  std::int64_t integer(const char* key) const {
    if (!has(key)) {
      fail(ErrorCode::invalid_argument,
           std::string(key) + " is missing; got none, expected an integer");
    }
    return optional<std::int64_t>(key, 0);
  }

  // A value that may be absent or null.
  template <class T>
  T optional(const char* key, T fallback) const {
    const std::string_view written = found(key);
    if (written.empty()) return fallback;
    const JsonKind kind = JsonReader(written).peek();
    if constexpr (std::is_same_v<T, std::string>) {
      if (kind == JsonKind::string) return JsonReader(written).string();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (kind == JsonKind::boolean) return JsonReader(written).boolean();
    } else if (kind == JsonKind::number) {
      T value{};
      const char* const end = written.data() + written.size();
      const auto [stop, error] = std::from_chars(written.data(), end, value);
      if (error == std::errc() && stop == end) return value;
    }
    constexpr const char* kExpected = std::is_same_v<T, std::string> ? "a text"
                                      : std::is_same_v<T, bool>      ? "true or false"
                                      : std::is_same_v<T, double>    ? "a number"
                                                                     : "an integer";
    fail(ErrorCode::invalid_argument, std::string(key) + " is of the wrong type; got " +
                                          std::string(written) + ", expected " + kExpected);
  }

 private:
  // Empty for what is absent or null.
  std::string_view found(const std::string& key) const {
    const auto at = written_.find(key);
    return at == written_.end() || at->second == "null" ? std::string_view() : at->second;
  }

  std::string source_;
  std::map<std::string, std::string_view> written_;
};

}  // namespace

TransformerConfig parse_config(const std::string& text, const std::string& source) {
  const Members object(text, source);
  const auto type = object.optional<std::string>("model_type", "llama");
  if (type != "llama") {
    object.fail(ErrorCode::unsupported, "model of another shape; got " + type + ", expected llama");
  }
  if (object.optional<bool>("attention_bias", false) || object.optional<bool>("mlp_bias", false)) {
    object.fail(ErrorCode::unsupported, "projections with bias are not supported");
  }
  const auto activation = object.optional<std::string>("hidden_act", "silu");
  if (activation != "silu") {
    object.fail(ErrorCode::unsupported,
                "another activation; got " + activation + ", expected silu");
  }
  if (object.has("rope_scaling")) {
    object.fail(ErrorCode::unsupported, "scaled rotary positions are not supported");
  }
  TransformerConfig config;
  config.vocabulary = object.integer("vocab_size");
  config.dim = object.integer("hidden_size");
  config.hidden = object.integer("intermediate_size");
  config.layers = object.integer("num_hidden_layers");
  config.heads = object.integer("num_attention_heads");
  config.kv_heads = object.optional<std::int64_t>("num_key_value_heads", config.heads);
  config.head_dim = object.optional<std::int64_t>("head_dim", 0);
  config.context = object.integer("max_position_embeddings");
  config.rope_base = object.optional<double>("rope_theta", 10000);
  config.norm_epsilon = object.optional<double>("rms_norm_eps", 1e-6);
  config.tied = object.optional<bool>("tie_word_embeddings", false);
  return config.resolved();
}

std::string config_json(const TransformerConfig& given) {
  const TransformerConfig config = given.resolved();
  JsonWriter json(2);
  json.begin_object();
  json.key("architectures").begin_array().value("LlamaForCausalLM").end_array();
  json.member("model_type", "llama");
  json.member("vocab_size", config.vocabulary);
  json.member("hidden_size", config.dim);
  json.member("intermediate_size", config.hidden);
  json.member("num_hidden_layers", config.layers);
  json.member("num_attention_heads", config.heads);
  json.member("num_key_value_heads", config.kv_heads);
  json.member("head_dim", config.head_dim);
  json.member("max_position_embeddings", config.context);
  json.member("hidden_act", "silu");
  json.member("rope_theta", config.rope_base);
  json.member("rms_norm_eps", config.norm_epsilon);
  json.member("tie_word_embeddings", config.tied);
  json.member("attention_bias", false);
  json.member("mlp_bias", false);
  json.member("torch_dtype", "float32");
  return json.end_object().take() + "\n";
}

}  // namespace hearth::models
