// Qwen 3.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3Types[] = {"qwen3"};

}  // namespace

Family qwen3_family() { return {.architecture = "qwen3", .model_types = kQwen3Types}; }

}  // namespace hearth::models
