// StableLM 2 and 3B: LayerNorm, the first columns of a head turn.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kStablelmTypes[] = {"stablelm"};
constexpr KeyRule kStablelmKeys[] = {{"layer_norm_eps", "attention.layer_norm_epsilon"}};

}  // namespace

Family stablelm_family() {
  return {.architecture = "stablelm", .model_types = kStablelmTypes, .keys = kStablelmKeys};
}

}  // namespace hearth::models
