// Sequences from their beginning to their end, and the passes over their rows. The pages that these
// take are in sequence_pages.cc.
#include "models/language/model/sequences.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/language/mixer.h"
#include "models/language/model/batch_builder.h"
#include "models/language/windows.h"
#include "models/tokenizer/token_range.h"

namespace hearth::models {

Sequences::Sequences(const LanguageModel& model, const CacheOptions& options)
    : model_(model),
      cache_(model.config, with_padding(options), model.compute, model.device),
      has_states_(models::has_states(model.config)),
      window_(kept_window(model.config)),
      tree_(options.pages, options.page_size, options.states + options.saved_states, window_,
            window_ > 0 ? options.pages_of_windows() : 0),
      most_sequences_(options.states) {}

Sequence Sequences::begin() { return begin({}); }

Sequence Sequences::begin(std::span<const std::int32_t> tokens) {
  if (sequences_ == most_sequences_) {
    throw Error(ErrorCode::out_of_memory,
                "model: too many sequences at once; got one more, expected at most " +
                    std::to_string(most_sequences_));
  }
  ++sequences_;
  PageTree::Found known =
      tree_.find(tokens, static_cast<std::int64_t>(tokens.size()) - 1, has_states_);
  Sequence sequence;
  sequence.length = known.rows;
  sequence.tokens.assign(tokens.begin(), tokens.begin() + known.rows);
  sequence.pages = std::move(known.pages);
  sequence.window_pages.assign(sequence.pages.size(), WindowPages::kNone);
  sequence.branch = known.full_rows;
  hold_window(sequence);
  want_window(sequence);
  sequence.named = known.rows / page_size();
  sequence.state = tree_.take_state(known.state);
  if (sequence.state == PageTree::kNone) {
    // What was found is all that is left: it goes on from there, and nobody else can.
    tree_.claim_state(sequence.pages.back(), known.state);
    sequence.state = known.state;
  } else if (known.state != PageTree::kNone) {
    copy_states(cache_, known.state, sequence.state, model_.device);
  } else {
    clear_states(cache_, sequence.state, model_.device);
  }
  return sequence;
}

void Sequences::end(Sequence& sequence) {
  if (sequence.state == PageTree::kNone) return;
  name_pages(sequence, true);
  want_window(sequence);
  if (has_states_ && sequence.length > 0) {
    const std::int64_t page = (sequence.length - 1) / page_size();
    tree_.save_state(sequence.pages[static_cast<std::size_t>(page)],
                     sequence.length - page * page_size(), sequence.state);
  } else {
    tree_.release_state(sequence.state);
  }
  release_mark(sequence);
  // The last page first, which is of use to the fewest: it is forgotten before the others.
  while (!sequence.pages.empty()) drop_last_page(sequence);
  sequence = {};
  --sequences_;
}

void Sequences::save(Sequence& sequence) {
  want_window(sequence);
  if (!has_states_ || sequence.length == 0) return;
  const std::int32_t slot = tree_.take_state();
  if (slot == PageTree::kNone) return;
  name_pages(sequence, true);
  copy_states(cache_, sequence.state, slot, model_.device);
  const std::int64_t page = (sequence.length - 1) / page_size();
  tree_.save_state(sequence.pages[static_cast<std::size_t>(page)],
                   sequence.length - page * page_size(), slot);
}

bool Sequences::mark(Sequence& sequence) {
  if (!has_states_) return true;
  if (sequence.marked_state == PageTree::kNone) {
    // Each sequence that is still to begin finds a slot.
    if (marks_ == cache_.options.saved_states) return false;
    sequence.marked_state = tree_.take_state();
    if (sequence.marked_state == PageTree::kNone) return false;
    ++marks_;
  }
  copy_states(cache_, sequence.state, sequence.marked_state, model_.device);
  sequence.marked = sequence.length;
  return true;
}

void Sequences::release_mark(Sequence& sequence) {
  if (sequence.marked_state == PageTree::kNone) return;
  tree_.release_state(std::exchange(sequence.marked_state, PageTree::kNone));
  --marks_;
}

std::pair<std::int64_t, std::int32_t> Sequences::last_state(const Sequence& sequence,
                                                            std::int64_t most) {
  std::int64_t rows = 0;
  std::int32_t state = PageTree::kNone;
  for (std::int64_t page = pages_of(most, page_size()); page-- > 0 && rows == 0;) {
    const std::int64_t before = page * page_size();
    std::tie(rows, state) = tree_.saved_state(sequence.pages[static_cast<std::size_t>(page)],
                                              std::min(most - before, page_size()));
    if (rows > 0) rows += before;
  }
  const bool has_mark = sequence.marked_state != PageTree::kNone;
  if (has_mark && sequence.marked <= most && sequence.marked >= rows) {
    return {sequence.marked, sequence.marked_state};
  }
  return {rows, state};
}

std::int64_t Sequences::truncate(Sequence& sequence, std::int64_t length) {
  if (length < 0 || length > sequence.length) {
    throw Error(ErrorCode::invalid_argument, "model: no such row to cut a sequence at; got " +
                                                 std::to_string(length) + ", expected 0 to " +
                                                 std::to_string(sequence.length));
  }
  if (length == sequence.length) return length;
  std::int64_t rows = last_seeing_row(sequence, length);
  if (has_states_) {
    std::int32_t state = PageTree::kNone;
    std::int64_t of_state = -1;
    while (rows != of_state) {
      std::tie(of_state, state) = last_state(sequence, rows);
      rows = last_seeing_row(sequence, of_state);
    }
    if (state == PageTree::kNone) {
      clear_states(cache_, sequence.state, model_.device);
    } else {
      copy_states(cache_, state, sequence.state, model_.device);
    }
  }
  length = rows;
  const auto kept = static_cast<std::size_t>(pages_of(length, page_size()));
  while (sequence.pages.size() > kept) drop_last_page(sequence);
  sequence.length = length;
  sequence.tokens.resize(static_cast<std::size_t>(length));
  sequence.named = std::min(sequence.named, length / page_size());
  hold_window(sequence);
  if (sequence.marked > length) release_mark(sequence);
  return length;
}

void Sequences::check(std::span<const SequenceRows> rows) const {
  for (const SequenceRows& each : rows) {
    const auto count = static_cast<std::int64_t>(each.tokens.size());
    if (count == 0 || each.outputs < 0 || each.outputs > count) {
      throw Error(ErrorCode::invalid_argument,
                  "model: no such rows; got " + counted(each.outputs, "score") + " of " +
                      counted(count, "token") + ", expected at least one token");
    }
    require_tokens("model", each.tokens, model_.vocabulary());
    if (!model_.position_embedding.defined()) continue;
    const std::int64_t length = each.sequence->length + count;
    const std::int64_t most = model_.position_embedding.shape(0);
    if (length > most) {
      throw Error(ErrorCode::invalid_argument,
                  "model: a text longer than its learned positions; got " +
                      counted(length, "token") + ", expected at most " + std::to_string(most));
    }
  }
}

void Sequences::eval_caches() {
  std::vector<Array> all;
  for (const LayerCache& layer : cache_.layers) {
    for (const Array* each : {&layer.keys, &layer.values, &layer.convolution, &layer.state}) {
      if (each->defined()) all.push_back(*each);
    }
  }
  eval(all);
}

Array Sequences::step(std::span<const SequenceRows> rows) {
  const NoGrad no_grad;
  check(rows);
  reserve(rows);
  const Batch batch = batch_of(rows, cache_.options, has_windows(), model_.device);
  std::int64_t outputs = 0;
  for (const SequenceRows& each : rows) outputs += each.outputs;
  Array scores;
  if (outputs > 0) {
    scores = narrow(model_.logits(batch, cache_), 0, 0, outputs);
  } else {
    static_cast<void>(model_.hidden(batch, cache_));
    eval_caches();
    scores = zeros({0, model_.vocabulary()}, DType::f32, model_.device);
  }
  for (const SequenceRows& each : rows) {
    Sequence& sequence = *each.sequence;
    sequence.length += static_cast<std::int64_t>(each.tokens.size());
    sequence.tokens.insert(sequence.tokens.end(), each.tokens.begin(), each.tokens.end());
    name_pages(sequence, false);
  }
  return scores;
}

}  // namespace hearth::models
