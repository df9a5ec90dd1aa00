// Guesses by a smaller model of the same tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hearth/array.h"
#include "models/drafting/drafter.h"
#include "models/language/cache.h"
#include "models/language/model/sequences.h"
#include "models/loading/load_model.h"

namespace hearth::models {

// Draws as the text itself draws, with the same options and random bits, so that what both models
// find likely is the same token.
class ModelDrafter : public Drafter {
 public:
  // Of `target`'s texts, which both must outlive this. The caches of `model` have so many sequences
  // as `options` have states. Throws Error{invalid_argument} where the two have other tokens.
  ModelDrafter(const LoadedModel& model, const LoadedModel& target, const CacheOptions& options,
               std::int64_t prefill);

  // A fault of the device, or of its memory, takes its caches; the next call makes them again.
  void draft(std::span<Draft> drafts) override;
  void forget(std::int64_t text) noexcept override;

 private:
  struct NoGuess {};  // thrown where its caches have no room or a token is not its own

  struct Guessing {
    Draft* draft;
    Sequence* sequence;
    SamplingState sampling;
  };

  void guess(std::span<Draft> drafts);
  // The scores behind these rows. Throws NoGuess before anything ran; behind Error and
  // std::bad_alloc, here or where the scores are read, nobody knows what the caches hold.
  Array step(std::span<const SequenceRows> rows);
  void lose_caches() noexcept;
  // The model sees the tokens of all texts; the scores behind them [texts, vocabulary].
  Array run(std::span<const Guessing> texts);
  Array fitted(const Array& scores) const;

  const LoadedModel& model_;
  std::int64_t vocabulary_;  // of the target
  CacheOptions cache_;
  std::optional<Sequences> sequences_;  // none behind a fault
  std::int64_t prefill_;
  std::unordered_map<std::int64_t, Sequence> texts_;
};

}  // namespace hearth::models
