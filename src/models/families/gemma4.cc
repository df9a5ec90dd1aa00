// Gemma 4: heads of two widths, later layers that read keys and values of earlier ones, an input of
// each layer's own, and experts beside the feed-forward.
#include <algorithm>
#include <cmath>
#include <string>

#include "hearth/error.h"
#include "models/families/gemma4_folder.h"
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemma4Types[] = {"gemma4_text", "gemma4", "gemma4_unified_text"};

// The last of the first `count` layers that sees as much as layer `i`.
std::int64_t layer_to_share(const LanguageConfig& config, std::size_t i, std::int64_t count) {
  const bool has_window = config.layers[i].attention.window > 0;
  for (std::int64_t j = count; j-- > 0;) {
    const bool same =
        (config.layers[static_cast<std::size_t>(j)].attention.window > 0) == has_window;
    if (same) return j;
  }
  throw Error(ErrorCode::invalid_argument,
              "gemma4.attention.shared_kv_layers: no layer to share with; got " +
                  std::to_string(config.layers.size() - static_cast<std::size_t>(count)) +
                  " layers that share, expected fewer");
}

void adjust_gemma4(LanguageConfig& config, const Keys& keys, FileKind) {
  if (!config.is_causal) {
    throw Error(ErrorCode::unsupported, "gemma4.attention.causal: got false, expected true");
  }
  config.embedding_scale = std::sqrt(static_cast<double>(config.dim));
  config.layer_input_dim = keys.size("embedding_length_per_layer_input", 0);
  const auto layers = static_cast<std::int64_t>(config.layers.size());
  const std::int64_t own = layers - std::min(keys.size("attention.shared_kv_layers", 0), layers);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    AttentionConfig& attention = config.layers[i].attention;
    attention.scale = 1;
    attention.norms_values = true;
    if (static_cast<std::int64_t>(i) >= own)
      attention.shared_layer = layer_to_share(config, i, own);
    if (attention.window == 0) continue;
    attention.key_dim = keys.size("attention.key_length_swa", attention.key_dim);
    attention.value_dim = keys.size("attention.value_length_swa", attention.value_dim);
    attention.rope.dims = keys.size("rope.dimension_count_swa", attention.key_dim);
    attention.rope.base = keys.number("rope.freq_base_swa", 10000);
    attention.rope.scaling = {};
    attention.rope.has_factors = false;
  }
}

}  // namespace

Family gemma4_family() {
  return {.architecture = "gemma4",
          .model_types = kGemma4Types,
          .places = NormPlaces::both,
          .activation = Activation::gelu_tanh,
          .window_period = 6,
          .is_normalised = true,
          .has_both = true,
          .adjust = adjust_gemma4,
          .keys = kGemma4Keys,
          .tensors = kGemma4Tensors,
          .adjust_folder = add_gemma4_keys};
}

}  // namespace hearth::models
