// Qwen 3 with experts.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3MoeTypes[] = {"qwen3_moe"};

void add_all_windows(const JsonObject& config, const JsonObject&, GgufMetadata& metadata) {
  add_window_layers(config, metadata, [](std::int64_t) { return true; });
}

}  // namespace

Family qwen3moe_family() {
  return {.architecture = "qwen3moe",
          .model_types = kQwen3MoeTypes,
          .is_normalised = true,
          .adjust_folder = add_all_windows};
}

}  // namespace hearth::models
