// MiniCPM 1, 2 and 4: what blocks add is scaled by the depth of the model, scores by its width.
#include <cmath>

#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kMiniCpmDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-6,
        "tie_word_embeddings": true, "scale_emb": 1, "scale_depth": 1, "dim_model_base": 1})";
constexpr FolderType kMiniCpmTypes[] = {{.name = "minicpm", .defaults = kMiniCpmDefaults}};
constexpr KeyRule kMiniCpmKeys[] = {{"scale_emb", "embedding_scale", ConfigType::number}};
// Rows of long texts that see but some of those before them.
constexpr FixedValue kMiniCpmFixed[] = {{"sparse_config", false}};

// Scores are divided by what files call their scale. Those from before there were these keys are of
// 1B and 2B.
void scale_minicpm(LanguageConfig& config, const Keys& keys, FileKind) {
  const auto layers = static_cast<double>(config.layers.size());
  config.embedding_scale = keys.number("embedding_scale", 12);
  config.residual_scale = keys.number("residual_scale", 1.4 / std::sqrt(layers));
  const double divisor = keys.number("logit_scale", static_cast<double>(config.dim) / 256);
  config.logit_scale = divisor == 0 ? 1 : 1 / divisor;
}

void add_minicpm_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  const auto layers = static_cast<double>(layers_of(config));
  const auto width = static_cast<double>(metadata.as_int("minicpm.embedding_length"));
  if (const auto depth = find_number(config, "scale_depth"); depth && layers > 0) {
    metadata.set("minicpm.residual_scale", *depth / std::sqrt(layers));
  }
  if (const auto base = find_number(config, "dim_model_base"); base && *base > 0) {
    metadata.set("minicpm.logit_scale", width / *base);
  }
}

}  // namespace

Family minicpm_family() {
  return {.architecture = "minicpm",
          .model_types = kMiniCpmTypes,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .adjust = scale_minicpm,
          .keys = kMiniCpmKeys,
          .fixed = kMiniCpmFixed,
          .adjust_folder = add_minicpm_keys};
}

}  // namespace hearth::models
