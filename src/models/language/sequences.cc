#include "models/language/sequences.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/token_range.h"

namespace hearth::models {
namespace {

std::int64_t pages_of(std::int64_t rows, std::int64_t page_size) {
  return (rows + page_size - 1) / page_size;
}

// The next power of two.
std::int64_t bucket(std::int64_t count) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1))));
}

CacheOptions with_padding(CacheOptions options) {
  ++options.pages;
  ++options.states;
  return options;
}

bool has_states(const LanguageConfig& config) {
  return std::any_of(config.layers.begin(), config.layers.end(),
                     [](const LayerConfig& layer) { return layer.mixer != Mixer::attention; });
}

// Numbers 0 to count - 1, the last first.
std::vector<std::int32_t> all_of(std::int64_t count) {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = count; i-- > 0;) numbers.push_back(static_cast<std::int32_t>(i));
  return numbers;
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
      free_pages_(all_of(options.pages)),
      free_states_(all_of(options.states)),
      most_pages_(options.pages) {}

Sequence Sequences::begin() {
  if (free_states_.empty()) {
    throw Error(ErrorCode::out_of_memory,
                "model: too many sequences at once; got one more, expected at most " +
                    std::to_string(cache_.options.states - 1));
  }
  Sequence sequence;
  sequence.state = free_states_.back();
  free_states_.pop_back();
  // States are sums over all rows: a new one begins with nothing.
  const Array which =
      Array::from_data(std::vector<std::int32_t>{sequence.state}, {1}, model_.device);
  for (LayerCache& layer : cache_.layers) {
    for (Array* states : {&layer.convolution, &layer.state}) {
      if (!states->defined()) continue;
      Shape one = states->shape();
      one[0] = 1;
      const Array nothing = zeros(one, states->dtype(), model_.device);
      *states = select_assign(std::exchange(*states, Array()), which, nothing, 0,
                              IndexingUpdateOp::assign);
    }
  }
  return sequence;
}

void Sequences::end(Sequence& sequence) {
  free_pages_.insert(free_pages_.end(), sequence.pages.rbegin(), sequence.pages.rend());
  free_states_.push_back(sequence.state);
  sequence = {};
}

void Sequences::truncate(Sequence& sequence, std::int64_t length) {
  if (length < 0 || length > sequence.length) {
    throw Error(ErrorCode::invalid_argument, "model: no such row to cut a sequence at; got " +
                                                 std::to_string(length) + ", expected 0 to " +
                                                 std::to_string(sequence.length));
  }
  if (length != sequence.length && has_states(model_.config)) {
    throw Error(ErrorCode::unsupported, "model: its states cannot forget; got a cut at row " +
                                            std::to_string(length) + ", expected " +
                                            std::to_string(sequence.length));
  }
  const auto kept = static_cast<std::size_t>(pages_of(length, page_size()));
  while (sequence.pages.size() > kept) {
    free_pages_.push_back(sequence.pages.back());
    sequence.pages.pop_back();
  }
  sequence.length = length;
}

void Sequences::check(std::span<const SequenceRows> rows) const {
  for (const SequenceRows& each : rows) {
    const auto count = static_cast<std::int64_t>(each.tokens.size());
    if (count == 0 || each.outputs < 0 || each.outputs > count) {
      throw Error(ErrorCode::invalid_argument,
                  "model: no such rows; got " + std::to_string(each.outputs) + " scores of " +
                      std::to_string(count) + " tokens, expected at least one token");
    }
    require_tokens("model", each.tokens, model_.vocabulary());
  }
}

void Sequences::reserve(std::span<const SequenceRows> rows) {
  std::int64_t wanted = 0;
  const auto missing = [&](const SequenceRows& each) {
    const std::int64_t length =
        each.sequence->length + static_cast<std::int64_t>(each.tokens.size());
    return pages_of(length, page_size()) - static_cast<std::int64_t>(each.sequence->pages.size());
  };
  for (const SequenceRows& each : rows) wanted += missing(each);
  if (wanted > free_pages()) {
    throw Error(ErrorCode::out_of_memory, "model: caches are full; got " + std::to_string(wanted) +
                                              " more pages of " + std::to_string(page_size()) +
                                              " rows, expected at most " +
                                              std::to_string(free_pages()));
  }
  for (const SequenceRows& each : rows) {
    for (std::int64_t left = missing(each); left > 0; --left) {
      each.sequence->pages.push_back(free_pages_.back());
      free_pages_.pop_back();
    }
  }
}

Batch Sequences::batch_of(std::span<const SequenceRows> rows) const {
  std::int64_t total = 0;
  for (const SequenceRows& each : rows) total += static_cast<std::int64_t>(each.tokens.size());
  const std::int64_t spare_slot = most_pages_ * page_size();
  BatchBuilder builder(bucket(total), bucket(static_cast<std::int64_t>(rows.size())), most_pages_,
                       static_cast<std::int32_t>(spare_slot),
                       static_cast<std::int32_t>(cache_.options.states - 1));
  for (const SequenceRows& each : rows) builder.add(each, page_size());
  return builder.batch(model_.device);
}

Array Sequences::step(std::span<const SequenceRows> rows) {
  const NoGrad no_grad;
  check(rows);
  reserve(rows);
  const Batch batch = batch_of(rows);
  const Array scores = model_.logits(batch, cache_);
  std::int64_t outputs = 0;
  for (const SequenceRows& each : rows) {
    each.sequence->length += static_cast<std::int64_t>(each.tokens.size());
    outputs += each.outputs;
  }
  return narrow(scores, 0, 0, outputs);
}

}  // namespace hearth::models
