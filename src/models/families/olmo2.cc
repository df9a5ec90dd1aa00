// OLMo 2 and 3: norms behind the blocks, and of all columns of queries and keys. OLMo 3 has
// windows.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kOlmo2Types[] = {"olmo2", "olmo3"};
constexpr TensorRule kOlmo2Tensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
};

// Positions are scaled in layers that see all keys alone.
void adjust_olmo2(LanguageConfig& config, const Keys& keys, FileKind) {
  for (LayerConfig& layer : config.layers) {
    if (layer.attention.window == 0) continue;
    layer.attention.rope.base = keys.number("rope.freq_base_swa", layer.attention.rope.base);
    layer.attention.rope.scaling = {};
    layer.attention.rope.magnitude = 1;
  }
}

}  // namespace

Family olmo2_family() {
  return {.architecture = "olmo2",
          .model_types = kOlmo2Types,
          .places = NormPlaces::after,
          .window_period = 4,
          .adjust = adjust_olmo2,
          .tensors = kOlmo2Tensors,
          .repeats_output = true};
}

}  // namespace hearth::models
