// Qwen 2 and 2.5.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen2Types[] = {"qwen2"};

}  // namespace

Family qwen2_family() { return {.architecture = "qwen2", .model_types = kQwen2Types}; }

}  // namespace hearth::models
