#include "models/language/model/batch_builder.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

std::size_t unsigned_size(std::int64_t value) { return static_cast<std::size_t>(value); }

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

class BatchBuilder {
 public:
  // Shapes, into which what is added must fit, and where padding writes.
  struct Sizes {
    std::int64_t rows = 0;
    std::int64_t sequences = 0;
    std::int64_t pages = 0;  // of a sequence
    std::int64_t page_size = 0;
    std::int32_t spare_page = 0;
    std::int32_t spare_window_page = -1;  // -1: no layer has a window
    std::int32_t spare_state = 0;
  };
  explicit BatchBuilder(const Sizes& sizes);

  void add(const SequenceRows& rows);
  Batch batch(Device device);

 private:
  using Numbers = std::vector<std::int32_t>;

  // Where the rows of all sequences are in caches, and where new ones go.
  struct Places {
    Numbers table, slots;

    Places() = default;
    Places(const Sizes& sizes, std::int32_t spare_page);
    void add(const Numbers& pages, std::size_t sequence, std::size_t row, std::int64_t first,
             std::int64_t count, const Sizes& sizes);
  };

  Sizes sizes_;
  Numbers tokens_, positions_, starts_, lengths_, states_, outputs_;
  Places rows_, windows_;
  std::size_t row_ = 0;
  std::size_t sequence_ = 0;
};

BatchBuilder::Places::Places(const Sizes& sizes, std::int32_t spare_page)
    : table(unsigned_size(sizes.sequences * sizes.pages), WindowPages::kNone),
      slots(unsigned_size(sizes.rows),
            static_cast<std::int32_t>(std::int64_t{spare_page} * sizes.page_size)) {}

void BatchBuilder::Places::add(const Numbers& pages, std::size_t sequence, std::size_t row,
                               std::int64_t first, std::int64_t count, const Sizes& sizes) {
  for (std::int64_t at = first; at < first + count; ++at) {
    const std::int64_t page = pages[unsigned_size(at / sizes.page_size)];
    slots[row++] = static_cast<std::int32_t>(page * sizes.page_size + at % sizes.page_size);
  }
  std::copy(pages.begin(), pages.end(),
            table.begin() + static_cast<std::ptrdiff_t>(sequence * unsigned_size(sizes.pages)));
}

BatchBuilder::BatchBuilder(const Sizes& sizes)
    : sizes_(sizes),
      tokens_(unsigned_size(sizes.rows)),
      positions_(unsigned_size(sizes.rows)),
      starts_(unsigned_size(sizes.sequences + 1)),
      lengths_(unsigned_size(sizes.sequences)),
      states_(unsigned_size(sizes.sequences), sizes.spare_state),
      rows_(sizes, sizes.spare_page) {
  if (sizes.spare_window_page >= 0) windows_ = Places(sizes, sizes.spare_window_page);
}

void BatchBuilder::add(const SequenceRows& rows) {
  const Sequence& sequence = *rows.sequence;
  const auto count = static_cast<std::int64_t>(rows.tokens.size());
  rows_.add(sequence.pages, sequence_, row_, sequence.length, count, sizes_);
  if (sizes_.spare_window_page >= 0) {
    windows_.add(sequence.window_pages, sequence_, row_, sequence.length, count, sizes_);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    tokens_[row_] = rows.tokens[unsigned_size(i)];
    positions_[row_++] = static_cast<std::int32_t>(sequence.length + i);
  }
  for (std::int64_t i = rows.outputs; i > 0; --i) {
    outputs_.push_back(static_cast<std::int32_t>(row_) - static_cast<std::int32_t>(i));
  }
  lengths_[sequence_] = static_cast<std::int32_t>(sequence.length + count);
  states_[sequence_] = sequence.state;
  starts_[++sequence_] = static_cast<std::int32_t>(row_);
}

Batch BatchBuilder::batch(Device device) {
  constexpr std::size_t kAligned = 4;  // elements: parts begin at multiples of 16 bytes
  for (std::size_t i = sequence_ + 1; i < starts_.size(); ++i) starts_[i] = starts_[sequence_];
  outputs_.resize(std::bit_ceil(std::max<std::size_t>(outputs_.size(), 1)));
  // One array of all of them: one copy to the device, and one address.
  Numbers all;
  const auto at = [&](const Numbers& values) {
    const auto first = static_cast<std::int64_t>(all.size());
    all.insert(all.end(), values.begin(), values.end());
    all.resize((all.size() + kAligned - 1) / kAligned * kAligned);
    return std::pair(first, static_cast<std::int64_t>(values.size()));
  };
  const auto tokens = at(tokens_), positions = at(positions_), starts = at(starts_),
             lengths = at(lengths_), table = at(rows_.table), slots = at(rows_.slots),
             window_table = at(windows_.table), window_slots = at(windows_.slots),
             states = at(states_), outputs = at(outputs_);
  const Array packed = Array::from_data(all, {static_cast<std::int64_t>(all.size())}, device);
  const auto part = [&](const std::pair<std::int64_t, std::int64_t>& place) {
    return narrow(packed, 0, place.first, place.second);
  };
  Batch made;
  made.tokens = part(tokens);
  made.positions = part(positions);
  made.starts = part(starts);
  made.lengths = part(lengths);
  made.pages = reshape(part(table), {sizes_.sequences, sizes_.pages});
  made.slots = part(slots);
  if (sizes_.spare_window_page >= 0) {
    made.window_pages = reshape(part(window_table), {sizes_.sequences, sizes_.pages});
    made.window_slots = part(window_slots);
  }
  made.states = part(states);
  made.outputs = part(outputs);
  return made;
}

}  // namespace

Batch batch_of(std::span<const SequenceRows> rows, const CacheOptions& caches, bool has_windows,
               Device device) {
  std::int64_t total = 0;
  std::size_t pages = 1;
  for (const SequenceRows& each : rows) {
    total += static_cast<std::int64_t>(each.tokens.size());
    pages = std::max(pages, each.sequence->pages.size());
  }
  BatchBuilder::Sizes sizes;
  sizes.rows = row_bucket(total);
  sizes.sequences = bucket(static_cast<std::int64_t>(rows.size()));
  sizes.pages = bucket(static_cast<std::int64_t>(pages));
  sizes.page_size = caches.page_size;
  sizes.spare_page = static_cast<std::int32_t>(caches.pages - 1);
  if (has_windows) {
    sizes.spare_window_page = static_cast<std::int32_t>(caches.pages_of_windows() - 1);
  }
  sizes.spare_state = static_cast<std::int32_t>(caches.states + caches.saved_states - 1);
  BatchBuilder builder(sizes);
  for (const SequenceRows& each : rows) builder.add(each);
  return builder.batch(device);
}

}  // namespace hearth::models
