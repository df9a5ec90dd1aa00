// scatter and scatter_add, for every dtype. An index outside its axis is not written.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/ops/update_rows.h"
#include "devices/cpu/ops/updates.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Rows of an operand across `axis`, as positions of `shape` have them.
struct AcrossAxis {
  const Operand& operand;
  int axis;
  OffsetMap outer, inner;

  AcrossAxis(const Operand& of, const Shape& shape, int at)
      : operand(of),
        axis(at),
        outer(shape, of.strides(), 0, at),
        inner(shape, of.strides(), at + 1, shape.rank()) {}

  std::int64_t at(std::int64_t i, std::int64_t place) const {
    return outer.at(i) + place * operand.stride(axis);
  }
  bool dense() const { return inner.linear() && inner.stride() == 1; }
};

// Elements [begin, begin + n) of the row at an offset, into `row`.
template <class E, class T>
void load_across(const AcrossAxis& rows, std::int64_t offset, std::int64_t begin, std::int64_t n,
                 T* row) {
  const auto* const from = reinterpret_cast<const E*>(rows.operand.data) + offset;
  if (!rows.dense()) {
    for (std::int64_t i = 0; i < n; ++i) row[i] = static_cast<T>(from[rows.inner.at(begin + i)]);
  } else if constexpr (std::is_same_v<E, T>) {
    std::memcpy(row, from + begin, static_cast<std::size_t>(n) * sizeof(E));
  } else {
    load_row(rows.operand.dtype(), from + begin, 1, n, row);
  }
}
template <class E, class T>
void store_across(const AcrossAxis& rows, std::int64_t offset, std::int64_t begin, std::int64_t n,
                  const T* row) {
  auto* const to = reinterpret_cast<E*>(rows.operand.data) + offset;
  if (!rows.dense()) {
    for (std::int64_t i = 0; i < n; ++i) to[rows.inner.at(begin + i)] = E(row[i]);
  } else if constexpr (std::is_same_v<E, T>) {
    std::memcpy(to + begin, row, static_cast<std::size_t>(n) * sizeof(E));
  } else {
    store_row(rows.operand.dtype(), row, n, to + begin);
  }
}
// The same in place where it can be read as it is.
template <class E, class T>
const T* read_across(const AcrossAxis& rows, std::int64_t offset, std::int64_t begin,
                     std::int64_t n, T* row) {
  if constexpr (std::is_same_v<E, T>) {
    if (rows.dense()) return reinterpret_cast<const E*>(rows.operand.data) + offset + begin;
  }
  load_across<E>(rows, offset, begin, n, row);
  return row;
}
const std::int64_t* read_indices_across(const AcrossAxis& rows, std::int64_t offset,
                                        std::int64_t begin, std::int64_t n, std::int64_t* row) {
  if (rows.inner.linear()) {
    const std::int64_t stride = rows.inner.stride();
    return read_indices(rows.operand, offset + begin * stride, stride, n, row);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    row[i] = index_at(rows.operand, offset + rows.inner.at(begin + i));
  }
  return row;
}
// Rows far apart are not foreseen by the processor.
void fetch_across(const AcrossAxis& rows, std::int64_t offset, std::int64_t begin, std::int64_t n) {
  if (!rows.dense()) return;
  const std::byte* const from = rows.operand.at(offset + begin);
  const std::int64_t bytes = n * size_of(rows.operand.dtype());
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at);
}

// Lines along the axis are independent; a task takes a run of neighbouring ones. What is updated
// lies together meanwhile: rows of the output may be a power of two apart, and share few places of
// a cache. Halves are combined in f32 and rounded once.
template <class E, class Rule>
void scatter_lines(const Launch& launch) {
  constexpr std::int64_t kAhead = 4;
  const Operand indices = input_of(launch, 1), values = input_of(launch, 2);
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  constexpr bool kHalf = std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>;
  using Sum = std::conditional_t<kHalf, float, E>;
  const Shape& shape = indices.shape();
  const std::int64_t extent = output.shape()[axis], n = shape[axis];
  const AcrossAxis index_rows(indices, shape, axis), value_rows(values, shape, axis);
  const AcrossAxis out_rows(output, shape, axis);
  const std::int64_t inner = index_rows.inner.count();
  const std::int64_t width =
      std::min(inner, std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(1, extent), 1, 4096));
  const std::int64_t blocks = ceil_div(inner, width);
  // Of few updates the copies would be most of the work.
  const bool together = kHalf || 2 * n >= extent;
  for_chunks(
      index_rows.outer.count() * blocks, 8 * n * width, [&](std::int64_t first, std::int64_t end) {
        std::int64_t* const index_copy = scratch<std::int64_t>(0, width);
        Sum* const value_copy = scratch<Sum>(1, width);
        Sum* const sums = together ? scratch<Sum>(2, extent * width) : nullptr;
        for (std::int64_t task = first; task < end; ++task) {
          const std::int64_t outer = task / blocks, begin = task % blocks * width;
          const std::int64_t count = std::min(width, inner - begin);
          for (std::int64_t place = 0; together && place < extent; ++place) {
            load_across<E>(out_rows, out_rows.at(outer, place), begin, count, sums + place * count);
          }
          E* const out = reinterpret_cast<E*>(output.data) + out_rows.at(outer, 0);
          for (std::int64_t place = 0; place < n; ++place) {
            const std::int64_t index_row = index_rows.at(outer, place);
            const std::int64_t value_row = value_rows.at(outer, place);
            if (place + kAhead < n) {
              fetch_across(index_rows, index_row + kAhead * indices.stride(axis), begin, count);
              fetch_across(value_rows, value_row + kAhead * values.stride(axis), begin, count);
            }
            const std::int64_t* const at =
                read_indices_across(index_rows, index_row, begin, count, index_copy);
            const Sum* const each = read_across<E>(value_rows, value_row, begin, count, value_copy);
            if (together) {
              for (std::int64_t i = 0; i < count; ++i) {
                if (inside(at[i], extent)) Rule::apply(sums[at[i] * count + i], each[i]);
              }
            } else if constexpr (!kHalf) {
              for (std::int64_t i = 0; i < count; ++i) {
                if (!inside(at[i], extent)) continue;
                Rule::apply(out[at[i] * output.stride(axis) + out_rows.inner.at(begin + i)],
                            each[i]);
              }
            }
          }
          for (std::int64_t place = 0; together && place < extent; ++place) {
            store_across<E>(out_rows, out_rows.at(outer, place), begin, count,
                            sums + place * count);
          }
        }
      });
}

void launch_scatter(const Launch& launch) {
  if (element_count(launch.signature->inputs[1].shape) == 0) return;
  const int last = launch.signature->output.shape.rank() - 1;
  const bool has_rows = statics_of(launch).i64() == last;
  with_update(launch.signature->statics, launch.signature->output.dtype,
              [&]<class E, class Rule>() {
                if (has_rows) {
                  const Operand indices = input_of(launch, 1);
                  return update_rows<E, Rule>(indices, indices.shape(), indices.strides(),
                                              input_of(launch, 2), output_of(launch));
                }
                scatter_lines<E, Rule>(launch);
              });
}

constexpr Implementation kImplementations[] = {
    {.name = "elements", .op = &defs::scatter_add_op, .launch = launch_scatter},
    {.name = "elements", .op = &defs::scatter_op, .launch = launch_scatter},
};

}  // namespace

Family scatter_add_family() { return kImplementations; }

}  // namespace hearth::cpu
