// bincount: parts of the elements are counted apart, and their counts added. nonzero_static:
// parts count theirs, then write their places behind those of the parts before.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

constexpr std::int64_t kCountedPart = 65536, kMaxCountedParts = 64;
constexpr std::int64_t kPlacesPart = 65536;

std::int64_t result_length(const Signature& signature) {
  return ParamReader(signature.statics).i64();
}

// Elements in parts; each has enough of them to be worth counters of its own.
struct CountedParts {
  explicit CountedParts(const Signature& signature)
      : count(element_count(signature.inputs[0].shape)), length(result_length(signature)) {
    parts =
        std::clamp<std::int64_t>(count / std::max(kCountedPart, 2 * length), 1, kMaxCountedParts);
    part = ceil_div(count, parts);
  }
  std::int64_t count, length, parts, part;
};

Prepared prepare_counting(const Signature& signature) {
  const CountedParts cut(signature);
  Prepared prepared;
  if (cut.parts > 1) {
    prepared.workspace_bytes =
        cut.parts * cut.length * static_cast<std::int64_t>(sizeof(std::int64_t));
  }
  return prepared;
}

void launch_counting(const Launch& launch) {
  const CountedParts cut(*launch.signature);
  const Operand input = input_of(launch, 0);
  auto* const out = reinterpret_cast<std::int64_t*>(output_of(launch).data);
  auto* const all = cut.parts == 1 ? out : reinterpret_cast<std::int64_t*>(launch.workspace);
  const OffsetMap elements(input.shape(), input.strides(), 0, input.shape().rank());
  const auto length = static_cast<std::uint64_t>(cut.length);
  const auto count_as = [&]<class E>(const E* x) {
    WorkerPool::global().parallel_for(cut.parts, [&](std::int64_t part) {
      std::int64_t* const counts = all + part * cut.length;
      std::fill_n(counts, cut.length, std::int64_t{0});
      const auto add = [=](E element) {
        // What is negative is beyond any length then.
        const auto number = static_cast<std::uint64_t>(element);
        if (number < length) ++counts[number];
      };
      const std::int64_t last = std::min(cut.count, (part + 1) * cut.part);
      if (elements.linear()) {
        const std::int64_t step = elements.stride();
        for (std::int64_t i = part * cut.part; i < last; ++i) add(x[i * step]);
      } else {
        for (std::int64_t i = part * cut.part; i < last; ++i) add(x[elements.at(i)]);
      }
    });
  };
  with_element_type(input.dtype(), [&]<class E>() {
    if constexpr (std::is_integral_v<E>) count_as(reinterpret_cast<const E*>(input.data));
  });
  if (cut.parts == 1) return;
  for_chunks(cut.length, cut.parts, [&](std::int64_t first, std::int64_t last) {
    std::copy(all + first, all + last, out + first);
    for (std::int64_t part = 1; part < cut.parts; ++part) {
      const std::int64_t* const counts = all + part * cut.length;
      for (std::int64_t i = first; i < last; ++i) out[i] += counts[i];
    }
  });
}

std::int64_t parts_of_row(const Signature& signature) {
  return ceil_div(signature.inputs[0].shape[0], kPlacesPart);
}

Prepared prepare_places(const Signature& signature) {
  Prepared prepared;
  prepared.workspace_bytes =
      parts_of_row(signature) * static_cast<std::int64_t>(sizeof(std::int64_t));
  return prepared;
}

void launch_places(const Launch& launch) {
  const std::int64_t count = result_length(*launch.signature);
  if (count == 0) return;
  const Operand input = input_of(launch, 0);
  const auto* const chosen = reinterpret_cast<const std::uint8_t*>(input.data);
  const std::int64_t size = input.shape()[0], step = input.stride(0);
  const std::int64_t parts = parts_of_row(*launch.signature);
  auto* const before = reinterpret_cast<std::int64_t*>(launch.workspace);
  auto* const out = reinterpret_cast<std::int64_t*>(output_of(launch).data);
  WorkerPool& pool = WorkerPool::global();
  pool.parallel_for(parts, [&](std::int64_t part) {
    const std::int64_t last = std::min(size, (part + 1) * kPlacesPart);
    std::int64_t own = 0;
    for (std::int64_t i = part * kPlacesPart; i < last; ++i) own += chosen[i * step] != 0 ? 1 : 0;
    before[part] = own;
  });
  std::int64_t all = 0;
  for (std::int64_t part = 0; part < parts; ++part) all += std::exchange(before[part], all);
  pool.parallel_for(parts, [&](std::int64_t part) {
    const std::int64_t end = std::min(count, part + 1 < parts ? before[part + 1] : all);
    std::int64_t at = before[part];
    for (std::int64_t i = part * kPlacesPart; at < end; ++i) {
      // Stored in any case, which spares a branch that would be guessed wrong: the next one that is
      // true takes its place.
      out[at] = i;
      at += chosen[i * step] != 0 ? 1 : 0;
    }
  });
  std::fill(out + std::min(all, count), out + count, size);
}

constexpr Implementation kImplementations[] = {
    {.name = "parts",
     .op = &defs::bincount_op,
     .prepare = prepare_counting,
     .launch = launch_counting},
    {.name = "parts",
     .op = &defs::nonzero_static_op,
     .prepare = prepare_places,
     .launch = launch_places},
};

}  // namespace

Family counting_family() { return kImplementations; }

}  // namespace hearth::cpu
