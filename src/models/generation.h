// Text from a model, one token at a time, with keys and values kept between tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/sampler.h"
#include "models/transformer.h"

namespace hearth::models {

// One sequence that grows. A sequence longer than the model's context goes on from its last half:
// the caches are filled again from there. The model must outlive this. Not for two threads at once.
class Generation {
 public:
  // Throws Error{invalid_argument} for an empty prompt or a token outside the vocabulary.
  Generation(const Transformer& model, std::span<const std::int32_t> prompt,
             const SamplerOptions& options);

  // Draws the next token and appends it.
  std::int32_t next();

  const std::vector<std::int32_t>& tokens() const noexcept { return tokens_; }

 private:
  const Transformer& model_;
  Sampler sampler_;
  KvCaches caches_;
  std::vector<std::int32_t> tokens_;
  std::size_t fed_ = 0;  // tokens that the model has seen
};

}  // namespace hearth::models
