// Gemma 2.
#include "models/families/gemma.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemma2Types[] = {"gemma2"};

}  // namespace

Family gemma2_family() {
  return {.architecture = "gemma2",
          .model_types = kGemma2Types,
          .places = NormPlaces::both,
          .activation = Activation::gelu_tanh,
          .window_period = 2,
          .adjust = [](LanguageConfig& config, const Keys& keys,
                       FileKind) { adjust_gemma(config, keys, 46); },
          .keys = kGemmaKeys,
          .tensors = kGemmaTensors,
          .adjust_folder = add_gemma_scale};
}

}  // namespace hearth::models
