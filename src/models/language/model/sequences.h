// Sequences that share the caches of one model, and the passes over their next rows.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/language/cache.h"
#include "models/language/model/language_model.h"
#include "models/language/model/page_tree.h"

namespace hearth::models {

// One sequence's part of the caches.
struct Sequence {
  std::vector<std::int32_t> tokens;  // of the rows that the model has seen
  std::vector<std::int32_t> pages;
  // Of layers with windows, as many; those before `window_begin`, at least, are none.
  std::vector<std::int32_t> window_pages;
  std::int64_t window_begin = 0;
  // Rows that other texts begin with, too: what they see from there is kept longer than the rest.
  std::int64_t branch = 0;
  std::int64_t length = 0;  // of tokens
  std::int64_t named = 0;   // of its pages, that others find
  std::int32_t state = -1;
  std::int64_t marked = 0;  // rows behind which mark() kept the states
  std::int32_t marked_state = -1;
};

// How many pages, and how many of layers with windows.
struct PageCounts {
  std::int64_t pages = 0;
  std::int64_t window_pages = 0;

  bool fit(const PageCounts& free) const {
    return pages <= free.pages && window_pages <= free.window_pages;
  }
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

  // Without rows. Throws Error{out_of_memory} where all states are taken.
  Sequence begin();
  // With the longest run of rows that `tokens` begin with and that are known from other sequences,
  // of models with states up to a row that save() or end() kept, of models with windows up to one
  // from which all that layers see is there; one token is left at least.
  Sequence begin(std::span<const std::int32_t> tokens);
  // Gives its pages and its state back. Its rows, and the states behind the last of them, stay
  // known until their place is wanted.
  void end(Sequence& sequence);
  // Keeps the states behind the last row, to which begin() and truncate() come back, where a slot
  // is free or has older ones, and longer than the rest what layers with windows see from there.
  // Nothing to do for models without both.
  void save(Sequence& sequence);
  // Keeps the states behind the last row for truncate() alone, in place of those of the last mark.
  // False where no slot is left for them; models without states need none.
  bool mark(Sequence& sequence);
  // Forgets all rows from `length` on and gives `length`; of models with states it goes back to
  // the last row before that whose states are kept, of models with windows to the last from which
  // all that layers see is there, as it is from the first row of the last step on, and gives that
  // one's. Throws Error{invalid_argument} for more rows than there are.
  std::int64_t truncate(Sequence& sequence, std::int64_t length);

  // Runs the model over the next rows of sequences, each of which is there once, and joins them to
  // the caches: scores [outputs of all, vocabulary], in the order of the rows. Shapes are rounded
  // up to few, so that few plans are made. Throws Error{out_of_memory}, with the sequences as they
  // were, where pages do not suffice, and Error{invalid_argument} for tokens outside the
  // vocabulary and for rows beyond learned positions.
  Array step(std::span<const SequenceRows> rows);

  // The pages that step() needs for these rows, and those that `rows` more rows of a sequence need
  // in steps of `piece` of them at most.
  PageCounts pages_wanted(std::span<const SequenceRows> rows) const;
  PageCounts pages_wanted(const Sequence& sequence, std::int64_t rows, std::int64_t piece) const;
  // Those that it can take, of which so many hold rows of sequences that ended.
  PageCounts free() const { return {tree_.free_pages(), tree_.windows().free_pages()}; }
  PageCounts kept() const { return {tree_.kept_pages(), tree_.windows().kept_pages()}; }
  std::int64_t page_size() const { return cache_.options.page_size; }
  bool has_states() const { return has_states_; }
  bool has_windows() const { return window_ > 0; }

 private:
  void check(std::span<const SequenceRows> rows) const;
  // Whether others see the row that comes next, in a page that has earlier rows, and whether
  // sequences do.
  bool is_seen(const Sequence& sequence) const;
  bool is_shared(const Sequence& sequence) const;
  PageCounts pages_wanted(const Sequence& sequence, std::int64_t rows) const;
  void reserve(std::span<const SequenceRows> rows);
  // The page that the next row goes to, and one of the sequence's own in place of that.
  std::size_t next_page(const Sequence& sequence) const;
  void copy_next_page(Sequence& sequence);
  void add_page(Sequence& sequence);
  void drop_last_page(Sequence& sequence);
  // ---- Of layers with windows
  // The first page that the row at `length` sees, and the first that a step from there on holds.
  std::int64_t first_seen_page(std::int64_t length) const;
  std::int64_t first_held_page(std::int64_t length) const;
  // Takes hold of what the next row sees, keeps that longer than the rest, and releases what a step
  // from there on does not hold.
  void hold_window(Sequence& sequence);
  void want_window(const Sequence& sequence);
  void let_go(Sequence& sequence);
  // The last row, `most` at most, from which all that layers see is there.
  std::int64_t last_seeing_row(const Sequence& sequence, std::int64_t most) const;
  void release_mark(Sequence& sequence);
  // The kept states with the most rows, `most` at most: rows, slot; {0, kNone}.
  std::pair<std::int64_t, std::int32_t> last_state(const Sequence& sequence, std::int64_t most);
  // Says which tokens its pages hold; the last one, too, if it is not full and `all`.
  void name_pages(Sequence& sequence, bool all);
  void eval_caches();

  const LanguageModel& model_;
  Cache cache_;
  bool has_states_;
  std::int64_t window_;  // 0: no layer has one
  PageTree tree_;
  std::int64_t most_sequences_;
  std::int64_t sequences_ = 0, marks_ = 0;
};

}  // namespace hearth::models
