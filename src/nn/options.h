// What is asked of the options that layers are made with.
#pragma once

#include <cstdint>
#include <string>

#include "core/require.h"
#include "hearth/nn/activation.h"
#include "hearth/shape.h"

namespace hearth::nn_detail {

inline void require_dropout(const char* layer, double probability) {
  require_in_range(probability >= 0 && probability <= 1, layer, "dropout", probability, "[0, 1]");
}

inline void require_activation(const char* layer, nn::Activation activation) {
  require_in_range(!nn::name(activation).empty(), layer, "activation",
                   std::to_string(static_cast<int>(activation)), "one of Activation");
}

// A number for each of `axes`, one for all of them, or none.
inline void require_per_axis(const char* layer, const char* what, const Dims& list, int axes,
                             std::int64_t least) {
  bool holds = list.empty() || list.rank() == 1 || list.rank() == axes;
  for (const std::int64_t each : list) holds = holds && each >= least && each <= INT32_MAX;
  require_in_range(holds, layer, what, to_string(list),
                   "1 or " + std::to_string(axes) + " numbers from " + std::to_string(least) +
                       " to " + std::to_string(INT32_MAX));
}

}  // namespace hearth::nn_detail
