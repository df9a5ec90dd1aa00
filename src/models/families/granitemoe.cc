// Granite 3 with experts.
#include "models/families/granite.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGraniteMoeTypes[] = {"granitemoe"};

}  // namespace

Family granitemoe_family() {
  return {.architecture = "granitemoe",
          .model_types = kGraniteMoeTypes,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .router = RouterGate::softmax_of_chosen,
          .adjust = invert_logit_scale,
          .keys = kGraniteKeys,
          .tensors = kGraniteTensors};
}

}  // namespace hearth::models
