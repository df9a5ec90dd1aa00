// select takes whole positions of an axis, select_add and select_assign update them.
//
// select copies runs of the inner positions: memory speed for embeddings. The others sort the
// index list by target, or walk it once for each row of a last axis, so that every target's updates
// happen in index order on one thread, whatever the number of threads; halves are combined in f32
// and rounded once per target. An index outside the axis reads as zero and is not written.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/ops/updates/rows_across.h"
#include "devices/cpu/ops/updates/update_loops.h"
#include "devices/cpu/ops/updates/update_rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Elements of one task of select_elements(), and the offset of those that do not exist.
constexpr std::int64_t kSelectedPiece = 16384, kAbsent = INT64_MIN;

template <class E>
void select(const Operand& input, const std::vector<std::int64_t>& indices, const Operand& output,
            int axis) {
  const int rank = input.shape().rank();
  const OffsetMap outer(input.shape(), input.strides(), 0, axis);
  const OffsetMap inner(input.shape(), input.strides(), axis + 1, rank);
  const std::int64_t extent = input.shape()[axis], step = input.stride(axis);
  const std::int64_t width = inner.count(), n = static_cast<std::int64_t>(indices.size());
  for_chunks(outer.count() * n, width, [&](std::int64_t first, std::int64_t last) {
    std::int64_t row = first / n, base = outer.at(row);
    for (std::int64_t task = first; task < last; ++task) {
      if (task / n != row) base = outer.at(row = task / n);
      E* const y = reinterpret_cast<E*>(output.data) + task * width;
      const std::int64_t index = indices[static_cast<std::size_t>(task - row * n)];
      if (!inside(index, extent)) {
        std::fill_n(y, width, E(0));
        continue;
      }
      const auto* x = reinterpret_cast<const E*>(input.data) + base + index * step;
      if (!inner.linear()) {
        for (std::int64_t i = 0; i < width; ++i) y[i] = x[inner.at(i)];
      } else if (inner.stride() != 1 || width < 8) {
        for (std::int64_t i = 0; i < width; ++i) y[i] = x[i * inner.stride()];
      } else {
        std::memcpy(y, x, static_cast<std::size_t>(width) * sizeof(E));
      }
    }
  });
}

// Elements of each row, along its last axis.
template <class E>
void select_elements(const Operand& input, const std::vector<std::int64_t>& indices,
                     const Operand& output) {
  const int axis = input.shape().rank() - 1;
  const OffsetMap rows(input.shape(), input.strides(), 0, axis);
  const std::int64_t extent = input.shape()[axis], step = input.stride(axis);
  const auto n = static_cast<std::int64_t>(indices.size());
  std::vector<std::int64_t> offsets(indices.size());
  bool exist = true;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    exist = exist && inside(indices[i], extent);
    offsets[i] = inside(indices[i], extent) ? indices[i] * step : kAbsent;
  }
  const std::int64_t pieces = ceil_div(n, kSelectedPiece);
  const auto copy = [&](std::int64_t task, auto element) {
    const std::int64_t row = task / pieces, begin = task % pieces * kSelectedPiece;
    const std::int64_t count = std::min(kSelectedPiece, n - begin);
    const auto* const x = reinterpret_cast<const E*>(input.data) + rows.at(row);
    E* const y = reinterpret_cast<E*>(output.data) + row * n + begin;
    const std::int64_t* const at = offsets.data() + begin;
    fill_elements(y, count, [=](std::int64_t i) { return element(x, at[i]); });
  };
  for_chunks(rows.count() * pieces, std::min(n, kSelectedPiece),
             [&](std::int64_t first, std::int64_t last) {
               for (std::int64_t task = first; task < last; ++task) {
                 if (exist) {
                   copy(task, [](const E* x, std::int64_t offset) { return x[offset]; });
                 } else {
                   copy(task, [](const E* x, std::int64_t offset) {
                     return offset == kAbsent ? E(0) : x[offset];
                   });
                 }
               }
             });
}

std::vector<std::int64_t> index_list(const Operand& indices) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(indices.shape()[0]));
  load_indices(indices, 0, indices.stride(0), indices.shape()[0], list.data());
  return list;
}

void launch_select(const Launch& launch) {
  const Operand input = input_of(launch, 0), output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  if (element_count(output.shape()) == 0) return;
  const std::vector<std::int64_t> indices = index_list(input_of(launch, 1));
  with_storage_type(input.dtype(), [&]<class E>() {
    if (axis == input.shape().rank() - 1) return select_elements<E>(input, indices, output);
    select<E>(input, indices, output, axis);
  });
}

// Positions of the index list that name the same target, in order.
struct Group {
  std::int64_t target;
  std::int64_t begin, end;  // in Groups::positions
};
struct Groups {
  std::vector<std::int64_t> positions;
  std::vector<Group> groups;
  std::int64_t largest = 0;  // positions of one target
};

Groups group_by_target(const std::vector<std::int64_t>& indices, std::int64_t extent) {
  Groups result;
  const auto n = static_cast<std::int64_t>(indices.size());
  result.positions.reserve(indices.size());
  for (std::int64_t i = 0; i < n; ++i) {
    if (inside(indices[static_cast<std::size_t>(i)], extent)) result.positions.push_back(i);
  }
  const auto target = [&](std::int64_t position) {
    return indices[static_cast<std::size_t>(position)];
  };
  if (extent <= 4 * n + 4096) {
    std::vector<std::int64_t> place(static_cast<std::size_t>(extent) + 1);
    for (const std::int64_t position : result.positions)
      ++place[static_cast<std::size_t>(target(position)) + 1];
    for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
    std::vector<std::int64_t> sorted(result.positions.size());
    for (const std::int64_t position : result.positions) {
      sorted[static_cast<std::size_t>(place[static_cast<std::size_t>(target(position))]++)] =
          position;
    }
    result.positions = std::move(sorted);
  } else {
    std::sort(result.positions.begin(), result.positions.end(),
              [&](std::int64_t a, std::int64_t b) {
                return target(a) != target(b) ? target(a) < target(b) : a < b;
              });
  }
  const auto count = static_cast<std::int64_t>(result.positions.size());
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t at = target(result.positions[static_cast<std::size_t>(begin)]);
    std::int64_t end = begin + 1;
    while (end < count && target(result.positions[static_cast<std::size_t>(end)]) == at) ++end;
    result.groups.push_back({at, begin, end});
    result.largest = std::max(result.largest, end - begin);
    begin = end;
  }
  return result;
}

// Calls add(outer, group, first inner position, width) for everything, in parallel.
template <class Add>
void for_groups(const Groups& groups, std::int64_t outer, std::int64_t inner, Add add) {
  const auto count = static_cast<std::int64_t>(groups.groups.size());
  if (count == 0) return;
  const auto total = static_cast<std::int64_t>(groups.positions.size());
  // Narrow columns where one target is named so often that it has to be shared out.
  const std::int64_t columns = 16 * groups.largest > total ? 128 : 4096;
  const std::int64_t blocks = ceil_div(inner, columns);
  const std::int64_t average = total / count + 1;
  for_chunks(outer * blocks * count, 2 * average * std::min(inner, columns),
             [&](std::int64_t first, std::int64_t last) {
               for (std::int64_t task = first; task < last; ++task) {
                 const std::int64_t column = task / count % blocks * columns;
                 add(task / count / blocks, groups.groups[static_cast<std::size_t>(task % count)],
                     column, std::min(columns, inner - column));
               }
             });
}

void update_groups(const UpdateLoops& loops, const Groups& groups, const Operand& values,
                   const Operand& output, int axis) {
  const RowsAcross rows(values, values.shape(), axis);
  const std::int64_t inner = rows.inner.count(), extent = output.shape()[axis];
  const std::int64_t bytes = loops.widens ? sizeof(float) : size_of(output.dtype());
  for_groups(groups, rows.outer.count(), inner,
             [&](std::int64_t outer, const Group& group, std::int64_t column, std::int64_t width) {
               std::byte* const copy = scratch<std::byte>(1, width * bytes);
               const Address target = output.at((outer * extent + group.target) * inner + column);
               float* const sums = loops.widens ? scratch<float>(1, width) : nullptr;
               if (loops.widens) load_row(output.dtype(), target, 1, width, sums);
               std::byte* const sum = loops.widens ? reinterpret_cast<std::byte*>(sums) : target;
               for (std::int64_t i = loops.assigns ? group.end - 1 : group.begin; i < group.end;
                    ++i) {
                 const std::int64_t place = groups.positions[static_cast<std::size_t>(i)];
                 loops.row(sum, rows.read(rows.at(outer, place), column, width, loops.widens, copy),
                           width);
               }
               if (loops.widens) store_row(output.dtype(), sums, width, target);
             });
}

// Whether update_rows() is what serves: not where rows of halves, which it converts as a whole,
// are much longer than the list.
bool walks_list(std::int64_t indices, const Operand& output, int axis) {
  constexpr std::int64_t kLongRow = 4;
  return axis == output.shape().rank() - 1 &&
         (size_of(output.dtype()) > 2 || output.shape()[axis] <= kLongRow * indices);
}

void launch_select_update(const Launch& launch) {
  const Operand values = input_of(launch, 2), output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  if (element_count(values.shape()) == 0) return;
  const Operand indices = input_of(launch, 1);
  const UpdateLoops loops = update_loops(launch.signature->statics, output.dtype());
  if (walks_list(indices.shape()[0], output, axis)) {
    Strides of_all = Strides::filled(values.shape().rank(), 0);
    of_all[axis] = indices.stride(0);
    return update_rows(loops, indices, values.shape(), of_all, values, output);
  }
  const Groups groups = group_by_target(index_list(indices), output.shape()[axis]);
  update_groups(loops, groups, values, output, axis);
}

constexpr Implementation kImplementations[] = {
    {.name = "rows", .op = &defs::select_op, .launch = launch_select},
    {.name = "rows", .op = &defs::select_add_op, .launch = launch_select_update},
    {.name = "rows", .op = &defs::select_assign_op, .launch = launch_select_update},
};

}  // namespace

Family select_family() { return kImplementations; }

}  // namespace hearth::cpu
