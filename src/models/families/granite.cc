// Granite 3.
#include "models/families/granite.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGraniteTypes[] = {"granite"};

}  // namespace

Family granite_family() {
  return {.architecture = "granite",
          .model_types = kGraniteTypes,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .adjust = invert_logit_scale,
          .keys = kGraniteKeys};
}

}  // namespace hearth::models
