// Gemma 3: layers with a window turn positions by a base of their own, and do not scale them.
#include "models/families/gemma.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemma3Types[] = {"gemma3_text", "gemma3"};

// Models of texts and images do not cap their logits, whatever they say.
void add_gemma3_keys(const JsonObject& config, const JsonObject& folder, GgufMetadata& metadata) {
  add_gemma_scale(config, folder, metadata);
  if (&config != &folder) metadata.erase("gemma3.final_logit_softcapping");
}

}  // namespace

Family gemma3_family() {
  return {.architecture = "gemma3",
          .model_types = kGemma3Types,
          .places = NormPlaces::both,
          .activation = Activation::gelu_tanh,
          .window_period = 6,
          .scales_windows = false,
          .window_base = 10000,
          .adjust = [](LanguageConfig& config, const Keys& keys,
                       FileKind) { adjust_gemma(config, keys, 62); },
          .tensors = kGemmaTensors,
          .adjust_folder = add_gemma3_keys};
}

}  // namespace hearth::models
