// Choosing the next token from scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hearth/error.h"

namespace hearth::models {

struct SamplerOptions {
  double temperature = 1;  // 0: always the highest score
  std::int64_t top_k = 0;  // of the k highest scores only; 0: of all
  double top_p = 1;        // of the fewest tokens whose probabilities add up to at least this
  std::uint64_t seed = 0;
};

// Draws are counted: the n-th draw depends on the seed, n and the scores only.
class Sampler {
 public:
  // Throws Error{invalid_argument} for numbers out of range.
  explicit Sampler(const SamplerOptions& options);

  // The index of the token drawn from `logits`. NaN is never drawn; equal scores keep their order.
  // Throws Error{invalid_argument} where no score is a number.
  std::int64_t sample(std::span<const float> logits);

 private:
  SamplerOptions options_;
  std::uint64_t draws_ = 0;
  struct Candidate {
    std::int64_t token;
    double weight;  // first the score, then the unnormalised probability
  };
  std::vector<Candidate> candidates_;
};

}  // namespace hearth::models
