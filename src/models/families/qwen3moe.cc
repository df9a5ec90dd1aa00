// Qwen 3 with experts.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3MoeTypes[] = {"qwen3_moe"};

}  // namespace

Family qwen3moe_family() {
  return {.architecture = "qwen3moe", .model_types = kQwen3MoeTypes, .is_normalised = true};
}

}  // namespace hearth::models
