// How the next token of a text is drawn from its scores.
#pragma once

#include <cstdint>

namespace hearth::models {

struct SamplingOptions {
  double temperature = 1;  // 0: always the highest score
  std::int64_t top_k = 0;  // of the k highest scores only; 0: of all
  double top_p = 1;        // of the fewest tokens whose probabilities add up to at least this
  std::uint64_t seed = 0;
};

}  // namespace hearth::models
