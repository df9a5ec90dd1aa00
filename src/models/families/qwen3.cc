// Qwen 3.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3Types[] = {"qwen3"};

}  // namespace

Family qwen3_family() {
  return {.architecture = "qwen3", .model_types = kQwen3Types, .adjust_folder = add_later_windows};
}

}  // namespace hearth::models
