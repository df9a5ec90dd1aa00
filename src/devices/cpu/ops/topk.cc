// topk: elements become keys whose least are wanted, in order.
//
// Groups of elements that are far from each other have a least key each; at least k keys are not
// above the k-th least of these, and few more are where the order of elements says nothing of their
// keys. These are found in one more reading of the keys, and sorted with their places. Rows are
// spread over threads; a long row is cut, and the results of its parts are chosen from again.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/element_order.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/row_keys.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Elements of a part, and how many of them there are to a result at least: below, sorting whole
// rows takes less.
constexpr std::int64_t kPart = 32768, kElementsOfResult = 8;
constexpr std::int64_t kMinRow = 32;
// Places have 32 bits.
constexpr std::int64_t kLongestRow = std::int64_t{1} << 32;

std::int64_t k_of(const Signature& signature) { return ParamReader(signature.statics).i64(); }

bool accepts_topk(const Signature& signature) {
  const std::int64_t length = signature.inputs[0].shape.back();
  return length >= kMinRow && length < kLongestRow && k_of(signature) <= length / kElementsOfResult;
}

// A key of any size with its place, in order as it is.
template <class U>
struct Placed {
  using Entry = std::uint64_t;
  static Entry make(U key, std::int64_t place) {
    return std::uint64_t{key} << 32 | static_cast<std::uint64_t>(place);
  }
  static std::int64_t place(Entry entry) {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(entry));
  }
};
template <>
struct Placed<std::uint64_t> {
  struct Entry {
    std::uint64_t key;
    std::int64_t at;
    bool operator<(const Entry& other) const {
      return key < other.key || (key == other.key && at < other.at);
    }
  };
  static Entry make(std::uint64_t key, std::int64_t place) { return {key, place}; }
  static std::int64_t place(Entry entry) { return entry.at; }
};

// The first k in order come to the front.
template <class Entry>
void sort_first(Entry* entries, std::int64_t count, std::int64_t k) {
  if (count > 2 * k) std::nth_element(entries, entries + k - 1, entries + count);
  std::sort(entries, entries + (count > 2 * k ? k : count));
}

struct Cut {
  explicit Cut(std::int64_t length, std::int64_t k)
      : part(std::max(kPart, kElementsOfResult * k)), parts(ceil_div(length, part)) {}
  std::int64_t part, parts;
};

template <class U>
class TopRows {
 public:
  using Entry = typename Placed<U>::Entry;

  TopRows(const Launch& launch, RowKeyRule rule, std::int64_t k)
      : input_(input_of(launch, 0)),
        values_(output_of(launch, 0)),
        indices_(output_of(launch, 1)),
        rule_(rule),
        rows_(input_.shape(), input_.strides(), 0, input_.shape().rank() - 1),
        length_(input_.shape().back()),
        step_(input_.stride(input_.shape().rank() - 1)),
        k_(k) {}

  void choose(Address workspace) const {
    const Cut cut(length_, k_);
    constexpr std::int64_t kCost = 2;  // of an element, in those of a cheap loop
    if (cut.parts == 1) {
      for_chunks(rows_.count(), length_ * kCost, [&](std::int64_t first, std::int64_t last) {
        Entry* const entries = scratch<Entry>(0, length_);
        for (std::int64_t row = first; row < last; ++row) {
          sort_first(entries, candidates(row, 0, length_, entries), k_);
          store(row, entries);
        }
      });
      return;
    }
    auto* const chosen = reinterpret_cast<Entry*>(workspace);
    for_chunks(
        rows_.count() * cut.parts, cut.part * kCost, [&](std::int64_t first, std::int64_t last) {
          Entry* const entries = scratch<Entry>(0, cut.part);
          for (std::int64_t task = first; task < last; ++task) {
            const std::int64_t row = task / cut.parts, begin = (task - row * cut.parts) * cut.part;
            const std::int64_t end = std::min(length_, begin + cut.part);
            const std::int64_t count = candidates(row, begin, end, entries);
            sort_first(entries, count, std::min(k_, count));
            const Entry none =
                Placed<U>::make(static_cast<U>(~U{0}), std::numeric_limits<std::uint32_t>::max());
            Entry* const to = chosen + task * k_;
            std::fill(std::copy_n(entries, std::min(k_, count), to), to + k_, none);
          }
        });
    for (std::int64_t row = 0; row < rows_.count(); ++row) {
      Entry* const all = chosen + row * cut.parts * k_;
      sort_first(all, cut.parts * k_, k_);
      store(row, all);
    }
  }

 private:
  const U* row_at(std::int64_t row) const {
    return reinterpret_cast<const U*>(input_.at(rows_.at(row)));
  }

  // The least of the elements [begin, end) of a row, in any order: k of them, or more.
  std::int64_t candidates(std::int64_t row, std::int64_t begin, std::int64_t end,
                          Entry* entries) const {
    const std::int64_t n = end - begin;
    U* const keys = scratch<U>(1, 2 * n);
    const U* x = row_at(row) + begin * step_;
    if (step_ != 1) {
      U* const dense = keys + n;
      for (std::int64_t i = 0; i < n; ++i) dense[i] = x[i * step_];
      x = dense;
    }
    const std::int64_t groups = ceil_power_of_two(std::max(kKeyGroups, 2 * k_));
    U* const least = scratch<U>(2, groups);
    const RowKeys<U>& loops = row_keys<U>();
    loops.make(x, n, rule_, groups, keys, least);
    std::nth_element(least, least + k_ - 1, least + groups);
    auto* const places = scratch<std::uint32_t>(3, n);
    const std::int64_t count = loops.find(keys, n, least[k_ - 1], places);
    for (std::int64_t i = 0; i < count; ++i) {
      entries[i] = Placed<U>::make(keys[places[i]], begin + places[i]);
    }
    return count;
  }

  void store(std::int64_t row, const Entry* entries) const {
    if (!values_.absent()) {
      const U* const x = row_at(row);
      U* const to = reinterpret_cast<U*>(values_.at(row * k_));
      for (std::int64_t i = 0; i < k_; ++i) to[i] = x[Placed<U>::place(entries[i]) * step_];
    }
    if (indices_.absent()) return;
    with_storage_type(indices_.dtype(), [&]<class I>() {
      I* const to = reinterpret_cast<I*>(indices_.at(row * k_));
      for (std::int64_t i = 0; i < k_; ++i) to[i] = static_cast<I>(Placed<U>::place(entries[i]));
    });
  }

  Operand input_, values_, indices_;
  RowKeyRule rule_;
  OffsetMap rows_;
  std::int64_t length_, step_, k_;
};

Prepared prepare_topk(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  const std::int64_t k = k_of(signature);
  const Cut cut(shape.back(), k);
  Prepared prepared;
  if (cut.parts == 1 || k == 0) return prepared;
  with_storage_type(signature.inputs[0].dtype, [&]<class U>() {
    prepared.workspace_bytes = element_count(shape) / shape.back() * cut.parts * k *
                               static_cast<std::int64_t>(sizeof(typename Placed<U>::Entry));
  });
  return prepared;
}

void launch_topk(const Launch& launch) {
  const TensorSpec& input = launch.signature->inputs[0];
  const std::int64_t k = k_of(*launch.signature);
  if (k == 0 || element_count(input.shape) == 0) return;
  with_storage_type(input.dtype, [&]<class U>() {
    with_form<U>(input.dtype, [&]<Form kForm>() {
      const Order<U, kForm> order(input.dtype, true);
      TopRows<U>(launch, order.rule(), k).choose(launch.workspace);
    });
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "threshold",
     .op = &defs::topk_op,
     .accepts = accepts_topk,
     .prepare = prepare_topk,
     .launch = launch_topk,
     .may_omit = 0b11},
};

}  // namespace

Family topk_family() { return kImplementations; }

}  // namespace hearth::cpu
