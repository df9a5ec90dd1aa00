// sort_with_indices: lines along an axis become unsigned keys in whose order their elements are,
// with indices beside them where these are wanted, and are sorted by radix sort. Lines are spread
// over threads; a long line is shared by all of them.
//
// Values are made of the keys again, but zeros of both signs have one key, and all NaN: these are
// taken from the line, in order, so that a sort is a permutation of bits.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/element_order.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/ops/radix_sort.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Lines from here on are shared by all threads.
constexpr std::int64_t kLongLine = 131072;
// Lines that do not lie one after the other are sorted in blocks: what is read of memory together
// is used together.
constexpr std::int64_t kBlockLines = 16, kBlockEntries = 65536;
// Entries below have 32 bits for an index, and counters as many.
constexpr std::int64_t kGiantLine = std::int64_t{1} << 32;

// What is sorted: keys alone, keys with indices in one word, and in two.
template <class U>
struct Alone {
  using Entry = U;
  using Count = std::uint32_t;
  static constexpr bool kIndexed = false;
  static constexpr int kLow = 0;
  static Entry make(U key, std::int64_t) { return key; }
  static U key(Entry entry) { return entry; }
  static std::int64_t index(Entry) { return 0; }
};
template <class U>
struct Packed {
  using Entry = std::uint64_t;
  using Count = std::uint32_t;
  static constexpr bool kIndexed = true;
  static constexpr int kLow = 32;
  static Entry make(U key, std::int64_t index) {
    return std::uint64_t{key} << kLow | static_cast<std::uint64_t>(index);
  }
  static U key(Entry entry) { return static_cast<U>(entry >> kLow); }
  static std::int64_t index(Entry entry) {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(entry));
  }
};
template <class U>
struct Wide {
  using Entry = IndexedKey;
  using Count = std::uint64_t;
  static constexpr bool kIndexed = true;
  static constexpr int kLow = 0;
  static Entry make(U key, std::int64_t index) { return {key, static_cast<std::uint64_t>(index)}; }
  static U key(Entry entry) { return static_cast<U>(entry.key); }
  static std::int64_t index(Entry entry) { return static_cast<std::int64_t>(entry.index); }
};

template <class U, Form kForm, class Kind>
class Lines {
 public:
  using Entry = typename Kind::Entry;
  using Count = typename Kind::Count;

  Lines(const Launch& launch, int axis, bool descending)
      : input_(input_of(launch, 0)),
        values_(output_of(launch, 0)),
        indices_(output_of(launch, 1)),
        order_(input_.dtype(), descending),
        outer_(input_.shape(), input_.strides(), 0, axis),
        inner_(input_.shape(), input_.strides(), axis + 1, input_.shape().rank()),
        n_(input_.shape()[axis]),
        step_(input_.stride(axis)) {}

  void sort(Address workspace) const {
    const std::int64_t count = outer_.count() * inner_.count();
    if (n_ < kLongLine) {
      constexpr std::int64_t kCost = 8;  // of an element, in those of a cheap loop
      const bool in_place = step_ == 1 && inner_.count() == 1;
      const std::int64_t most =
          in_place ? 1 : std::clamp<std::int64_t>(kBlockEntries / n_, 1, kBlockLines);
      const std::int64_t blocks = ceil_div(count, most);
      for_chunks(blocks, n_ * most * kCost, [&](std::int64_t first, std::int64_t last) {
        Entry* const memory = scratch<Entry>(0, (most + 1) * n_);
        for (std::int64_t block = first; block < last; ++block) {
          sort_block(block * most, std::min(count, (block + 1) * most), memory);
        }
      });
      return;
    }
    WorkerPool& pool = WorkerPool::global();
    auto* const entries = reinterpret_cast<Entry*>(workspace);
    for (std::int64_t line = 0; line < count; ++line) {
      const Line at = line_at(line);
      pool.parallel_for_range(n_, kChunkElements, [&](std::int64_t first, std::int64_t last) {
        load(at, entries, first, last);
      });
      const Entry* const sorted = shared_radix_sort<Count>(entries, entries + n_, n_, kKeys);
      pool.parallel_for_range(n_, kChunkElements, [&](std::int64_t first, std::int64_t last) {
        store(at, sorted, first, last);
      });
      repair(at, sorted);
    }
  }

 private:
  static constexpr KeyBits kKeys = {Kind::kLow, std::numeric_limits<U>::digits};

  struct Line {
    const U* x;
    std::int64_t place;  // of the first element, in results
  };
  Line line_at(std::int64_t line) const {
    const std::int64_t inner = inner_.count();
    const std::int64_t outer = inner == 1 ? line : line / inner, rest = line - outer * inner;
    return {reinterpret_cast<const U*>(input_.at(outer_.at(outer) + inner_.at(rest))),
            outer * n_ * inner + rest};
  }

  // Lines that may lie side by side in memory, which is walked in tiles. There is room for one line
  // more.
  void sort_block(std::int64_t first, std::int64_t last, Entry* memory) const {
    Line lines[kBlockLines];
    Entry* entries[kBlockLines];
    const std::int64_t count = last - first, tile = count == 1 ? n_ : kBlockLines;
    for (std::int64_t i = 0; i < count; ++i) {
      lines[i] = line_at(first + i);
      entries[i] = memory + i * n_;
    }
    bool alike = false;
    for (std::int64_t begin = 0; begin < n_; begin += tile) {
      for (std::int64_t i = 0; i < count; ++i) {
        alike |= load(lines[i], entries[i], begin, std::min(n_, begin + tile));
      }
    }
    Entry* spare = memory + count * n_;
    for (std::int64_t i = 0; i < count; ++i) {
      if (radix_sort<Count>(entries[i], spare, n_, kKeys) == spare) std::swap(entries[i], spare);
    }
    for (std::int64_t begin = 0; begin < n_; begin += tile) {
      for (std::int64_t i = 0; i < count; ++i) {
        store(lines[i], entries[i], begin, std::min(n_, begin + tile));
      }
    }
    for (std::int64_t i = 0; alike && i < count; ++i) repair(lines[i], entries[i]);
  }

  // Returns whether there are elements that keys do not tell apart.
  bool load(Line line, Entry* entries, std::int64_t first, std::int64_t last) const {
    const U* const x = line.x;
    const Order<U, kForm> order = order_;
    const U zero = order.zero(), nan = order.nan();
    const std::int64_t step = step_;
    bool alike = false;
    for (std::int64_t i = first; i < last; ++i) {
      const U key = order.key(x[i * step]);
      entries[i] = Kind::make(key, i);
      if constexpr (kForm == Form::floating) alike |= key == zero || key == nan;
    }
    return alike;
  }

  void store(Line line, const Entry* sorted, std::int64_t first, std::int64_t last) const {
    const std::int64_t step = inner_.count();
    if (!values_.absent()) {
      U* const to = reinterpret_cast<U*>(values_.at(line.place));
      const Order<U, kForm> order = order_;
      [[maybe_unused]] const std::int64_t x_step = step_;
      for (std::int64_t i = first; i < last; ++i) {
        const U key = Kind::key(sorted[i]);
        U bits = order.bits(key);
        if constexpr (Kind::kIndexed && kForm == Form::floating) {
          if (key == order.zero() || key == order.nan()) {
            bits = line.x[Kind::index(sorted[i]) * x_step];
          }
        }
        to[i * step] = bits;
      }
    }
    if constexpr (Kind::kIndexed) {
      if (indices_.absent()) return;
      with_storage_type(indices_.dtype(), [&]<class I>() {
        I* const to = reinterpret_cast<I*>(indices_.at(line.place));
        for (std::int64_t i = first; i < last; ++i) {
          to[i * step] = static_cast<I>(Kind::index(sorted[i]));
        }
      });
    }
  }

  // The elements that keys alone do not tell apart.
  void repair(Line line, const Entry* sorted) const {
    if constexpr (!Kind::kIndexed && kForm == Form::floating) {
      if (values_.absent()) return;
      for (const U key : {order_.zero(), order_.nan()}) {
        const auto [first, last] = std::equal_range(sorted, sorted + n_, key);
        U* to = reinterpret_cast<U*>(values_.at(line.place)) + (first - sorted) * inner_.count();
        std::int64_t left = last - first;
        for (std::int64_t i = 0; left > 0; ++i) {
          const U bits = line.x[i * step_];
          if (order_.key(bits) != key) continue;
          *to = bits;
          to += inner_.count();
          --left;
        }
      }
    }
  }

  Operand input_, values_, indices_;
  Order<U, kForm> order_;
  OffsetMap outer_, inner_;
  std::int64_t n_, step_;
};

// Calls run.template operator()<U, kForm, Kind>() for what is sorted.
template <class Run>
void with_kind(const Signature& signature, std::int64_t n, Run run) {
  const DType dtype = signature.inputs[0].dtype;
  const bool indexed = !signature.output_at(1).absent;
  with_storage_type(dtype, [&]<class U>() {
    const auto of_form = [&]<Form kForm>() {
      if (n >= kGiantLine) return run.template operator()<U, kForm, Wide<U>>();
      if (!indexed) return run.template operator()<U, kForm, Alone<U>>();
      if constexpr (sizeof(U) < sizeof(std::uint64_t)) {
        run.template operator()<U, kForm, Packed<U>>();
      } else {
        run.template operator()<U, kForm, Wide<U>>();
      }
    };
    with_form<U>(dtype, of_form);
  });
}

Prepared prepare_sort(const Signature& signature) {
  const std::int64_t n =
      signature.inputs[0].shape[static_cast<int>(ParamReader(signature.statics).i64())];
  Prepared prepared;
  if (n < kLongLine) return prepared;
  with_kind(signature, n, [&]<class U, Form kForm, class Kind>() {
    prepared.workspace_bytes =
        2 * n * static_cast<std::int64_t>(sizeof(typename Lines<U, kForm, Kind>::Entry));
  });
  return prepared;
}

void launch_sort(const Launch& launch) {
  const TensorSpec& input = launch.signature->inputs[0];
  if (element_count(input.shape) == 0) return;
  ParamReader statics = statics_of(launch);
  const auto axis = static_cast<int>(statics.i64());
  const bool descending = statics.boolean();
  with_kind(*launch.signature, input.shape[axis], [&]<class U, Form kForm, class Kind>() {
    Lines<U, kForm, Kind>(launch, axis, descending).sort(launch.workspace);
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "radix",
     .op = &defs::sort_with_indices_op,
     .prepare = prepare_sort,
     .launch = launch_sort,
     .may_omit = 0b11},
};

}  // namespace

Family sort_family() { return kImplementations; }

}  // namespace hearth::cpu
