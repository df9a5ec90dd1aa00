// Sequences that share the caches of one model, and the passes over their next rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/language/batch.h"
#include "models/language/cache.h"
#include "models/language/language_model.h"

namespace hearth::models {

// One sequence's part of the caches.
struct Sequence {
  std::vector<std::int32_t> pages;
  std::int64_t length = 0;  // rows that the model has seen
  std::int32_t state = 0;
};

// The next tokens of a sequence.
struct SequenceRows {
  Sequence* sequence = nullptr;
  std::span<const std::int32_t> tokens;
  // Of how many of the last rows scores are wanted.
  std::int64_t outputs = 1;
};

// Not for several threads at once. The model must outlive this.
class Sequences {
 public:
  // `options` counts pages and states that sequences can have; one more of each takes what padding
  // writes.
  Sequences(const LanguageModel& model, const CacheOptions& options);

  // Throws Error{out_of_memory} where all states are taken.
  Sequence begin();
  void end(Sequence& sequence);  // gives its pages and its state back
  // Forgets all rows from `length` on; of models with states only all of them. Throws
  // Error{invalid_argument} for more than there are, Error{unsupported} for part of a state.
  void truncate(Sequence& sequence, std::int64_t length);

  // Runs the model over the next rows of sequences, each of which is there once, and joins them to
  // the caches: scores [outputs of all, vocabulary], in the order of the rows. Shapes are rounded
  // up to few, so that few plans are made. Throws Error{out_of_memory}, with the sequences as they
  // were, where pages do not suffice, and Error{invalid_argument} for tokens outside the
  // vocabulary.
  Array step(std::span<const SequenceRows> rows);

  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_pages_.size()); }
  std::int64_t page_size() const { return cache_.options.page_size; }

 private:
  void check(std::span<const SequenceRows> rows) const;
  void reserve(std::span<const SequenceRows> rows);
  Batch batch_of(std::span<const SequenceRows> rows) const;

  const LanguageModel& model_;
  Cache cache_;
  std::vector<std::int32_t> free_pages_;
  std::vector<std::int32_t> free_states_;
  std::int64_t most_pages_;  // of one sequence
};

}  // namespace hearth::models
