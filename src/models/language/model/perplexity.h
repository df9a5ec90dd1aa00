// How well a language model foresees a text, and how far two models are apart.
//
// The text is cut into chunks of `context` tokens, as llama.cpp does: a chunk is read on its own,
// and the second half of its tokens is scored, so that each has at least context / 2 before it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/language/cache_type.h"
#include "models/language/model/language_model.h"

namespace hearth::models {

using TokenChunks = std::vector<std::vector<std::int32_t>>;

// The whole chunks of `tokens`, at most `most` of them (0: all); what is left over is not scored.
// The first token of each is `bos` unless that is -1. Throws Error{invalid_argument} for a context
// of less than 4 tokens and for a text shorter than one chunk.
TokenChunks chunks_of(std::span<const std::int32_t> tokens, std::int64_t context, std::int64_t most,
                      std::int32_t bos);

// Tokens of a chunk of `context` that are scored: its last ones.
std::int64_t scored_tokens(std::int64_t context);

// Calls `take` with log-probabilities [n, vocabulary], in f32, of what may stand at the next n
// scored places, and with the n tokens that do: the chunks' in order, a chunk's in several
// pieces. `keys` and `values` are what caches hold them as. Throws as Sequences does.
void score_chunks(
    const LanguageModel& model, const TokenChunks& chunks, CacheType keys, CacheType values,
    const std::function<void(const Array& scores, std::span<const std::int32_t> tokens)>& take);

// Of the tokens that it was given.
class Perplexity {
 public:
  void add(const Array& scores, std::span<const std::int32_t> tokens);

  std::int64_t tokens() const noexcept { return count_; }
  // e to the mean of -log p; NaN of no tokens.
  double value() const;
  // Its standard error; NaN of less than two tokens.
  double error() const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0, squares_ = 0;  // of -log p
};

// How far the distributions q of a model are from those p of another, the base: sum p log (p / q),
// by place.
class Divergence {
 public:
  // Both [n, vocabulary] in f32, log-probabilities.
  void add(const Array& base, const Array& scores);

  std::int64_t places() const noexcept { return static_cast<std::int64_t>(values_.size()); }
  // NaN where there are no places.
  double mean() const;
  double largest() const;
  double quantile(double share) const;  // the least value that this share of places does not exceed
  // Of places where both find the same token the likeliest.
  double same_best() const;

 private:
  std::vector<double> values_;
  std::int64_t same_ = 0;
};

}  // namespace hearth::models
