// SmolLM 3: Llama, but that every fourth layer has no positions, where files do not say which.
#include <string>
#include <vector>

#include "core/counted.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kSmolLm3Defaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 2048, "intermediate_size": 11008,
        "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": true, "rope_theta": 2e6})";
constexpr FolderType kSmolLm3Types[] = {
    {.name = "smollm3", .defaults = kSmolLm3Defaults, .has_windows = true}};

constexpr std::int64_t kSmolLm3Interval = 4;

void drop_positions(LanguageConfig& config, const Keys& keys, FileKind) {
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if (!keys.flag_of("rope_layers", layer, (layer + 1) % kSmolLm3Interval != 0)) {
      config.layers[i].attention.rope.pairs = RopePairs::none;
    }
  }
}

// Despite its name no_rope_layers says 1 of layers with positions. Windows are in the others.
void add_smollm3_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  const std::int64_t interval =
      find_integer(config, "no_rope_layer_interval").value_or(kSmolLm3Interval);
  const JsonArray* own = find_array(config, "no_rope_layers");
  const std::int64_t layers = layers_of(config);
  if (interval < 1 || (own != nullptr && static_cast<std::int64_t>(own->size()) != layers)) {
    throw Error(ErrorCode::invalid_argument,
                "config.json: no such layers without positions; got no_rope_layer_interval " +
                    std::to_string(interval) + " and no_rope_layers " +
                    (own == nullptr ? "null" : hearth::quoted(json_text(*own))) +
                    ", expected at least 1 and a number for each of " + counted(layers, "layer"));
  }
  std::vector<bool> turning;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (own == nullptr) {
      turning.push_back((i + 1) % interval != 0);
    } else {
      const JsonValue& one = (*own)[static_cast<std::size_t>(i)];
      turning.push_back(as_integer(one, "no_rope_layers", config_source()).value_or(0) != 0);
    }
  }
  metadata.set("smollm3.rope_layers", turning);
  add_window_layers(config, metadata,
                    [&](std::int64_t i) { return !turning[static_cast<std::size_t>(i)]; });
}

}  // namespace

Family smollm3_family() {
  return {.architecture = "smollm3",
          .model_types = kSmolLm3Types,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .adjust = drop_positions,
          .adjust_folder = add_smollm3_keys};
}

}  // namespace hearth::models
