// Qwen 2 with experts: one that all rows share, weights of the others as they come.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen2MoeTypes[] = {"qwen2_moe"};

// Every other one of the first layers.
void add_even_windows(const JsonObject& config, const JsonObject&, GgufMetadata& metadata) {
  const std::int64_t count = find_integer(config, "max_window_layers").value_or(28);
  add_window_layers(config, metadata, [&](std::int64_t i) { return i % 2 == 0 && i < count; });
}

}  // namespace

Family qwen2moe_family() {
  return {.architecture = "qwen2moe",
          .model_types = kQwen2MoeTypes,
          .adjust_folder = add_even_windows,
          .repeats_output = true};
}

}  // namespace hearth::models
