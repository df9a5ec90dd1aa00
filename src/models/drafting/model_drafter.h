// Guesses by a smaller model of the same tokens.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hearth/array.h"
#include "models/drafting/drafter.h"
#include "models/language/cache.h"
#include "models/language/load_model.h"
#include "models/language/sequences.h"

namespace hearth::models {

// Draws as the text itself draws, with the same options and random bits, so that what both models
// find likely is the same token.
class ModelDrafter : public Drafter {
 public:
  // Of `target`'s texts, which both must outlive this. The caches of `model` have so many sequences
  // as `options` have states. Throws Error{invalid_argument} where the two have other tokens.
  ModelDrafter(const LoadedModel& model, const LoadedModel& target, const CacheOptions& options,
               std::int64_t prefill_rows);

  void draft(std::span<Draft> drafts) override;
  void forget(std::int64_t text) override;

 private:
  struct Guessing {
    Draft* draft;
    Sequence* sequence;
    SamplingState sampling;
  };

  void guess(std::span<Draft> drafts);
  // The model sees the tokens of all texts; the scores behind them [texts, vocabulary].
  Array run(std::span<const Guessing> texts);
  Array fitted(const Array& scores) const;

  const LoadedModel& model_;
  std::int64_t vocabulary_;  // of the target
  Sequences sequences_;
  std::int64_t prefill_rows_;
  std::unordered_map<std::int64_t, Sequence> texts_;
};

}  // namespace hearth::models
