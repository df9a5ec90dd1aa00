// Tokens drawn from scores.
#pragma once

#include <cstdint>

namespace hearth::models {

struct TokenLogprob {
  std::int32_t token;
  float logprob;
};

}  // namespace hearth::models
