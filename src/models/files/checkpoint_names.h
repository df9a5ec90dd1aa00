// The file in which `hearth train` keeps a run: the model's weights, and what only the run needs.
#pragma once

#include <string_view>

namespace hearth::models::folders {

inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";

// What its tensors begin with that are none of the model.
inline constexpr std::string_view kOptimizerPrefix = "optimizer.";
inline constexpr std::string_view kCurvePrefix = "curve.";

inline bool is_of_the_run(std::string_view name) {
  return name.starts_with(kOptimizerPrefix) || name.starts_with(kCurvePrefix);
}

}  // namespace hearth::models::folders
