// Text from a model, one token at a time, with keys and values kept between tokens.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/sampling/sampling_state.h"
#include "models/transformer.h"

namespace hearth::models {

// One sequence that grows. A sequence longer than the model's context goes on from its last half:
// the caches are filled again from there. The model must outlive this. Not for two threads at once.
class Generation {
 public:
  // Throws Error{invalid_argument} for an empty prompt or a token outside the vocabulary, and what
  // SamplingState throws for options.
  Generation(const Transformer& model, std::span<const std::int32_t> prompt,
             const SamplingOptions& options);

  void set_grammar(grammar::GrammarMatcher matcher) { sampling_.set_grammar(std::move(matcher)); }

  // Draws the next token and appends it; -1 where none can be drawn, as behind the end of a
  // grammar.
  std::int32_t next();

  const std::vector<std::int32_t>& tokens() const noexcept { return tokens_; }

 private:
  const Transformer& model_;
  SamplingState sampling_;
  KvCaches caches_;
  std::vector<std::int32_t> tokens_;
  std::size_t fed_ = 0;  // tokens that the model has seen
};

}  // namespace hearth::models
