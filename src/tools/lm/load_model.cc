#include "tools/lm/load_model.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "hearth/ops.h"
#include "io/file.h"
#include "models/config_json.h"
#include "models/quantize/folder_file.h"
#include "models/tokenizer/byte_level.h"
#include "tools/training/checkpoint.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 1 << 20;
constexpr int kByteTokens = 256;

bool is_weight(const std::string& name) {
  return name.rfind("model.", 0) == 0 || name.rfind("lm_head.", 0) == 0;
}

// A tokenizer of Hugging Face whose tokens are the bytes, in their order.
std::string byte_tokenizer() {
  JsonObject vocabulary;
  for (int byte = 0; byte < kByteTokens; ++byte) {
    const char text = static_cast<char>(byte);
    vocabulary.emplace_back(models::tokens::text_of_bytes({&text, 1}), std::int64_t{byte});
  }
  const JsonObject steps = {{"type", "ByteLevel"},
                            {"add_prefix_space", false},
                            {"trim_offsets", false},
                            {"use_regex", true}};
  return json_text(JsonObject{
      {"version", "1.0"},
      {"added_tokens", JsonArray{}},
      {"normalizer", nullptr},
      {"pre_tokenizer", steps},
      {"post_processor", nullptr},
      {"decoder", steps},
      {"model",
       JsonObject{{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", JsonArray{}}}}});
}

NamedArrays weights_of(const SafetensorsContents& contents,
                       const models::TransformerConfig& config) {
  NamedArrays weights;
  for (const NamedArray& named : contents.arrays) {
    if (!is_weight(named.name)) continue;
    if (config.tied && named.name == "lm_head.weight") continue;
    weights.push_back(named);
  }
  return weights;
}

}  // namespace

bool is_trained_model(const std::string& folder) { return has_checkpoint(folder); }

GgufContents file_of_trained_model(const std::string& folder) {
  const std::string path = checkpoint_path(folder);
  const SafetensorsContents contents =
      require_checkpoint(map_safetensors(path, Device::cpu()), path);
  const models::TransformerConfig config =
      models::parse_config(checkpoint_entry(contents, "config", path), path);
  if (config.vocabulary != kByteTokens) {
    throw Error(ErrorCode::unsupported, folder + ": no model of bytes; got a vocabulary of " +
                                            std::to_string(config.vocabulary) + ", expected " +
                                            std::to_string(kByteTokens));
  }
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  const std::optional<JsonValue> document = parse_json(models::config_json(config));
  GgufContents file = models::file_of_weights(
      std::get<JsonObject>(*document), weights_of(contents, config),
      {.tokenizer = byte_tokenizer(), .config = "", .chat_template = ""},
      (whole.has_filename() ? whole : whole.parent_path()).filename().string(), path);
  for (const char* role : {"bos", "eos"}) {
    file.metadata.set(std::string("tokenizer.ggml.") + role + "_token_id", std::uint32_t{0});
  }
  return file;
}

models::Transformer load_model(const std::string& folder, DType compute, Device device) {
  const std::string config_path = folder + "/config.json";
  SafetensorsContents contents;
  models::TransformerConfig config;
  if (has_checkpoint(folder)) {
    const std::string path = checkpoint_path(folder);
    contents = require_checkpoint(map_safetensors(path, device), path);
    config = models::parse_config(checkpoint_entry(contents, "config", path), path);
  } else {
    const std::vector<std::byte> bytes = io::read_file(config_path, kMaxConfigBytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    config = models::parse_config(text, config_path);
    contents = map_safetensors(folder + "/model.safetensors", device);
  }
  const DType kept = compute == DType::f64 ? DType::f64 : DType::f32;
  NamedArrays weights = weights_of(contents, config);
  for (NamedArray& named : weights) {
    if (is_float(named.array.dtype())) named.array = cast(named.array, kept);
  }
  models::Transformer model(config, compute, device, nullptr);
  load_state_dict(model, weights, false, CallSite::none());
  freeze(model);
  return model;
}

}  // namespace hearth::tools
