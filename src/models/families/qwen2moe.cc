// Qwen 2 with experts: one that all rows share, weights of the others as they come.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen2MoeTypes[] = {"qwen2_moe"};

}  // namespace

Family qwen2moe_family() {
  return {.architecture = "qwen2moe", .model_types = kQwen2MoeTypes, .repeats_output = true};
}

}  // namespace hearth::models
