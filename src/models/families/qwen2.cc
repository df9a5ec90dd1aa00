// Qwen 2 and 2.5.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen2Types[] = {"qwen2"};

}  // namespace

Family qwen2_family() {
  return {.architecture = "qwen2", .model_types = kQwen2Types, .adjust_folder = add_later_windows};
}

}  // namespace hearth::models
