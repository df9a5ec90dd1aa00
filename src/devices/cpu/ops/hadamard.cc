// hadamard: butterflies over a row in the cache. Bound by arithmetic: log2 of a block's length
// additions an element.
#include <bit>
#include <cmath>
#include <cstdint>

#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Butterflies of elements that lie `half` apart: loops of whole vectors where it is large.
template <class T>
void butterflies(const T* __restrict from, std::int64_t n, std::int64_t half, T* __restrict to) {
  for (std::int64_t i = 0; i < n; i += 2 * half) {
    for (std::int64_t j = i; j < i + half; ++j) {
      to[j] = from[j] + from[j + half];
      to[j + half] = from[j] - from[j + half];
    }
  }
}

// The same for elements side by side, of which the sums go to the lower half and the differences to
// the upper one: as many steps as a block has bits bring every element back to its place, so that
// no step has a short loop.
template <class T>
void split_butterflies(const T* __restrict from, std::int64_t n, T* __restrict to) {
  for (std::int64_t i = 0; i < n / 2; ++i) {
    to[i] = from[2 * i] + from[2 * i + 1];
    to[i + n / 2] = from[2 * i] - from[2 * i + 1];
  }
}

template <class T>
void launch_rows(const Operand& x, const Operand& output) {
  const int last = x.shape().rank() - 1;
  const std::int64_t n = x.shape()[last], step = x.stride(last);
  const int bits = std::countr_zero(static_cast<std::uint64_t>(n));
  const std::int64_t block = std::int64_t{1} << bits;
  const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(block)));
  const OffsetMap lines(x.shape(), x.strides(), 0, last);
  for_chunks(lines.count(), n * (bits + 1), [&](std::int64_t begin, std::int64_t end) {
    T* from = scratch<T>(0, n);
    T* to = scratch<T>(1, n);
    for (std::int64_t line = begin; line < end; ++line) {
      load_row(x.dtype(), x.at(lines.at(line)), step, n, from);
      row_math<T>().scale(from, factor, from, n, false);
      for (std::int64_t first = 0; first < n; first += block) {
        T *a = from + first, *b = to + first;
        for (int bit = 0; bit < bits; ++bit) {
          block >= 32 ? split_butterflies(a, block, b)
                      : butterflies(a, block, std::int64_t{1} << bit, b);
          std::swap(a, b);
        }
      }
      store_row(output.dtype(), bits % 2 == 0 ? from : to, n, output.at(line * n));
    }
  });
}

void launch_hadamard(const Launch& launch) {
  const Operand x = input_of(launch, 0), output = output_of(launch);
  if (element_count(output.shape()) == 0) return;
  with_compute_type(output.dtype(), [&]<class T>() { launch_rows<T>(x, output); });
}

constexpr Implementation kHadamardFamily[] = {
    {.name = "rows", .op = &defs::hadamard_op, .launch = launch_hadamard},
};

}  // namespace

Family hadamard_family() { return kHadamardFamily; }

}  // namespace hearth::cpu
