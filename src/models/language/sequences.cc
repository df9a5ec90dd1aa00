#include "models/language/sequences.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <utility>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/token_range.h"

namespace hearth::models {
namespace {

// The next power of two.
std::int64_t bucket(std::int64_t count) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1))));
}

// Of many rows, which are computed whether wanted or not, the next of 2^k and 3 * 2^k.
std::int64_t row_bucket(std::int64_t count) {
  constexpr std::int64_t kManyRows = 32;
  const std::int64_t most = bucket(count);
  return most > kManyRows && count <= most / 4 * 3 ? most / 4 * 3 : most;
}

bool any_states(const LanguageConfig& config) {
  return std::any_of(config.layers.begin(), config.layers.end(),
                     [](const LayerConfig& layer) { return layer.mixer != Mixer::attention; });
}

// The arrays of a batch on their way to the device.
class BatchBuilder {
 public:
  BatchBuilder(std::int64_t rows, std::int64_t sequences, std::int64_t pages,
               std::int32_t spare_slot, std::int32_t spare_state)
      : tokens_(size(rows)),
        positions_(size(rows)),
        starts_(size(sequences + 1)),
        lengths_(size(sequences)),
        table_(size(sequences * pages), -1),
        slots_(size(rows), spare_slot),
        states_(size(sequences), spare_state),
        pages_(pages) {}

  void add(const SequenceRows& rows, std::int64_t page_size) {
    const Sequence& sequence = *rows.sequence;
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
      const std::int64_t position = sequence.length + static_cast<std::int64_t>(i);
      tokens_[row_] = rows.tokens[i];
      positions_[row_] = static_cast<std::int32_t>(position);
      const auto page = static_cast<std::int64_t>(sequence.pages[size(position / page_size)]);
      slots_[row_++] = static_cast<std::int32_t>(page * page_size + position % page_size);
    }
    for (std::int64_t i = rows.outputs; i > 0; --i) {
      outputs_.push_back(static_cast<std::int32_t>(row_) - static_cast<std::int32_t>(i));
    }
    lengths_[sequence_] =
        static_cast<std::int32_t>(sequence.length) + static_cast<std::int32_t>(rows.tokens.size());
    states_[sequence_] = sequence.state;
    std::copy(sequence.pages.begin(), sequence.pages.end(),
              table_.begin() + static_cast<std::ptrdiff_t>(sequence_ * size(pages_)));
    starts_[++sequence_] = static_cast<std::int32_t>(row_);
  }

  Batch batch(Device device) {
    for (std::size_t i = sequence_ + 1; i < starts_.size(); ++i) starts_[i] = starts_[sequence_];
    outputs_.resize(size(bucket(static_cast<std::int64_t>(outputs_.size()))));
    // One array of all of them: one copy to the device, and one address.
    std::vector<std::int32_t> all;
    const auto at = [&](const std::vector<std::int32_t>& values) {
      const auto first = static_cast<std::int64_t>(all.size());
      all.insert(all.end(), values.begin(), values.end());
      all.resize((all.size() + kAligned - 1) / kAligned * kAligned);
      return std::pair(first, static_cast<std::int64_t>(values.size()));
    };
    const auto tokens = at(tokens_), positions = at(positions_), starts = at(starts_),
               lengths = at(lengths_), table = at(table_), slots = at(slots_), states = at(states_),
               outputs = at(outputs_);
    const Array packed = Array::from_data(all, {static_cast<std::int64_t>(all.size())}, device);
    const auto part = [&](const std::pair<std::int64_t, std::int64_t>& place) {
      return narrow(packed, 0, place.first, place.second);
    };
    Batch made;
    made.tokens = part(tokens);
    made.positions = part(positions);
    made.starts = part(starts);
    made.lengths = part(lengths);
    made.pages = reshape(part(table), {lengths.second, pages_});
    made.slots = part(slots);
    made.states = part(states);
    made.outputs = part(outputs);
    return made;
  }

 private:
  static constexpr std::size_t kAligned = 4;  // elements: parts begin at multiples of 16 bytes

  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

  std::vector<std::int32_t> tokens_, positions_, starts_, lengths_, table_, slots_, states_,
      outputs_;
  std::int64_t pages_;
  std::size_t row_ = 0;
  std::size_t sequence_ = 0;
};

}  // namespace

Sequences::Sequences(const LanguageModel& model, const CacheOptions& options)
    : model_(model),
      cache_(model.config, with_padding(options), model.compute, model.device),
      has_states_(any_states(model.config)),
      tree_(options.pages, options.page_size, options.states + options.saved_states),
      most_pages_(options.pages),
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
  if (has_states_ && sequence.length > 0) {
    const std::int64_t page = (sequence.length - 1) / page_size();
    tree_.save_state(sequence.pages[static_cast<std::size_t>(page)],
                     sequence.length - page * page_size(), sequence.state);
  } else {
    tree_.release_state(sequence.state);
  }
  if (sequence.marked_state != PageTree::kNone) tree_.release_state(sequence.marked_state);
  // The last page first, which is of use to the fewest: it is forgotten before the others.
  while (!sequence.pages.empty()) {
    tree_.release(sequence.pages.back());
    sequence.pages.pop_back();
  }
  sequence = {};
  --sequences_;
}

void Sequences::save(Sequence& sequence) {
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
  if (sequence.marked_state == PageTree::kNone) sequence.marked_state = tree_.take_state();
  if (sequence.marked_state == PageTree::kNone) return false;
  copy_states(cache_, sequence.state, sequence.marked_state, model_.device);
  sequence.marked = sequence.length;
  return true;
}

std::int64_t Sequences::truncate(Sequence& sequence, std::int64_t length) {
  if (length < 0 || length > sequence.length) {
    throw Error(ErrorCode::invalid_argument, "model: no such row to cut a sequence at; got " +
                                                 std::to_string(length) + ", expected 0 to " +
                                                 std::to_string(sequence.length));
  }
  if (length == sequence.length) return length;
  if (has_states_) {
    std::int64_t rows = 0;
    std::int32_t state = PageTree::kNone;
    for (std::int64_t page = pages_of(length, page_size()); page-- > 0 && rows == 0;) {
      const std::int64_t before = page * page_size();
      std::tie(rows, state) = tree_.saved_state(sequence.pages[static_cast<std::size_t>(page)],
                                                std::min(length - before, page_size()));
      if (rows > 0) rows += before;
    }
    const bool has_mark = sequence.marked_state != PageTree::kNone;
    if (has_mark && sequence.marked <= length && sequence.marked >= rows) {
      std::tie(rows, state) = std::pair(sequence.marked, sequence.marked_state);
    }
    length = rows;
    if (state == PageTree::kNone) {
      clear_states(cache_, sequence.state, model_.device);
    } else {
      copy_states(cache_, state, sequence.state, model_.device);
    }
  }
  const auto kept = static_cast<std::size_t>(pages_of(length, page_size()));
  while (sequence.pages.size() > kept) {
    tree_.release(sequence.pages.back());
    sequence.pages.pop_back();
  }
  sequence.length = length;
  sequence.tokens.resize(static_cast<std::size_t>(length));
  sequence.named = std::min(sequence.named, length / page_size());
  if (sequence.marked > length && sequence.marked_state != PageTree::kNone) {
    tree_.release_state(std::exchange(sequence.marked_state, PageTree::kNone));
  }
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

std::int32_t Sequences::seen_page(const Sequence& sequence) const {
  const std::int64_t row = sequence.length % page_size();
  if (row == 0) return PageTree::kNone;
  const std::int32_t page = sequence.pages[static_cast<std::size_t>(sequence.length / page_size())];
  return tree_.is_writable(page, row) ? PageTree::kNone : page;
}

std::int64_t Sequences::pages_wanted(std::span<const SequenceRows> rows) const {
  std::int64_t wanted = 0;
  for (const SequenceRows& each : rows) {
    const std::int64_t length =
        each.sequence->length + static_cast<std::int64_t>(each.tokens.size());
    wanted += std::max<std::int64_t>(
        0, pages_of(length, page_size()) - static_cast<std::int64_t>(each.sequence->pages.size()));
    const std::int32_t seen = seen_page(*each.sequence);
    wanted += seen != PageTree::kNone && tree_.is_shared(seen) ? 1 : 0;
  }
  return wanted;
}

void Sequences::reserve(std::span<const SequenceRows> rows) {
  const std::int64_t wanted = pages_wanted(rows);
  if (wanted > free_pages()) {
    throw Error(ErrorCode::out_of_memory, "model: caches are full; got " + std::to_string(wanted) +
                                              " more pages of " + counted(page_size(), "row") +
                                              ", expected at most " + std::to_string(free_pages()));
  }
  // For copies of pages that only are found, where no sequence has them.
  std::int64_t spare = free_pages() - wanted;
  for (const SequenceRows& each : rows) {
    Sequence& sequence = *each.sequence;
    const std::int32_t seen = seen_page(sequence);
    if (seen != PageTree::kNone) {
      if (tree_.is_shared(seen) || spare-- > 0) {
        const std::int32_t own = tree_.take_page();
        copy_page(cache_, seen, own, model_.device);
        tree_.release(seen);
        sequence.pages[static_cast<std::size_t>(sequence.length / page_size())] = own;
      } else {
        tree_.make_writable(seen, sequence.length % page_size());
      }
    }
    const auto count = static_cast<std::size_t>(
        pages_of(sequence.length + static_cast<std::int64_t>(each.tokens.size()), page_size()));
    while (sequence.pages.size() < count) sequence.pages.push_back(tree_.take_page());
  }
}

void Sequences::name_pages(Sequence& sequence, bool all) {
  const std::int64_t size = page_size();
  const std::int64_t count = all ? pages_of(sequence.length, size) : sequence.length / size;
  for (std::int64_t i = sequence.named; i < count; ++i) {
    const std::int64_t rows = std::min(size, sequence.length - i * size);
    const std::int32_t parent =
        i == 0 ? PageTree::kNone : sequence.pages[static_cast<std::size_t>(i - 1)];
    std::int32_t& page = sequence.pages[static_cast<std::size_t>(i)];
    page = tree_.name(
        page, parent,
        std::span(sequence.tokens)
            .subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(rows)));
  }
  sequence.named = sequence.length / size;
}

Batch Sequences::batch_of(std::span<const SequenceRows> rows) const {
  std::int64_t total = 0;
  for (const SequenceRows& each : rows) total += static_cast<std::int64_t>(each.tokens.size());
  const std::int64_t spare_slot = most_pages_ * page_size();
  const auto spare_state =
      static_cast<std::int32_t>(cache_.options.states + cache_.options.saved_states - 1);
  std::size_t pages = 1;
  for (const SequenceRows& each : rows) pages = std::max(pages, each.sequence->pages.size());
  BatchBuilder builder(row_bucket(total), bucket(static_cast<std::int64_t>(rows.size())),
                       bucket(static_cast<std::int64_t>(pages)),
                       static_cast<std::int32_t>(spare_slot), spare_state);
  for (const SequenceRows& each : rows) builder.add(each, page_size());
  return builder.batch(model_.device);
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
  const Batch batch = batch_of(rows);
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
