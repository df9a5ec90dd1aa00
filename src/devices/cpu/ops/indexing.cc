// cat, slice_assign and gather, for every dtype by element size; bound by memory.
//
// An index outside its axis reads as zero.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/regions/tile_copy.h"
#include "devices/cpu/regions/tile_table.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Elements that one task of a long row takes.
constexpr std::int64_t kPiece = 16384;

void copy_strided(const Operand& from, const Operand& to, std::int64_t to_offset,
                  const Strides& to_strides) {
  launch_copy(plan_copy(from.shape(), from.strides(), to_strides, size_of(to.dtype())), from.data,
              to.at(to_offset));
}

// Joins along an axis that has others before it: what the inputs give to a few of these at a time,
// so that each line of the output is written while it is in a cache. False where a copy does not go
// by them.
bool cat_by_rows(const Launch& launch, const Operand& output, int axis) {
  constexpr std::int64_t kBytes = 16384;
  const auto inputs = static_cast<int>(launch.signature->inputs.size());
  std::int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= output.shape()[i];
  const std::int64_t bytes = element_count(output.shape()) * size_of(output.dtype());
  if (inputs > 16 || outer < 2 || bytes / outer > kBytes) return false;
  struct Part {
    CopyPlan plan;
    std::int64_t rows;  // of one position of the axes before
    const std::byte* from;
    std::byte* to;
  };
  std::vector<Part> parts;
  std::int64_t offset = 0;
  for (int i = 0; i < inputs; ++i) {
    const Operand input = input_of(launch, i);
    Part part{plan_copy(input.shape(), input.strides(), output.strides(), size_of(output.dtype())),
              0, input.data, output.at(offset * output.stride(axis))};
    offset += input.shape()[axis];
    if (part.plan.bytes == 0) continue;
    part.plan.streams = false;
    part.rows = rows_of(part.plan) / outer;
    if (part.rows == 0 || rows_of(part.plan) % outer != 0) return false;
    parts.push_back(std::move(part));
  }
  const std::int64_t at_once = std::max<std::int64_t>(1, kBytes / (bytes / outer));
  for_chunks(ceil_div(outer, at_once), kBytes / 4, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t begin = i * at_once, stop = std::min(outer, begin + at_once);
      for (const Part& part : parts) {
        copy_some_rows(part.plan, begin * part.rows, stop * part.rows, part.from, part.to);
      }
    }
  });
  return true;
}

bool is_dense(const Operand& operand) {
  std::int64_t inner = 1;
  for (int axis = operand.shape().rank() - 1; axis >= 0; --axis) {
    if (operand.shape()[axis] != 1 && operand.stride(axis) != inner) return false;
    inner *= operand.shape()[axis];
  }
  return true;
}

// Dense a and b, with one element each along the last axis: real and imaginary parts, say.
void interleave_pairs(const Operand& a, const Operand& b, const Operand& output) {
  const std::int64_t count = element_count(a.shape());
  with_storage_type(output.dtype(), [&]<class E>() {
    const auto* const x = reinterpret_cast<const E*>(a.data);
    const auto* const y = reinterpret_cast<const E*>(b.data);
    auto* const to = reinterpret_cast<E*>(output.data);
    for_chunks(count, 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        to[2 * i] = x[i];
        to[2 * i + 1] = y[i];
      }
    });
  });
}

void launch_cat(const Launch& launch) {
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  if (launch.signature->inputs.size() == 2 && output.shape()[axis] == 2) {
    const Operand a = input_of(launch, 0), b = input_of(launch, 1);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < output.shape().rank(); ++i) inner *= output.shape()[i];
    if (inner == 1 && a.shape()[axis] == 1 && is_dense(a) && is_dense(b)) {
      return interleave_pairs(a, b, output);
    }
  }
  if (cat_by_rows(launch, output, axis)) return;
  std::int64_t offset = 0;
  for (int i = 0; i < static_cast<int>(launch.signature->inputs.size()); ++i) {
    const Operand input = input_of(launch, i);
    copy_strided(input, output, offset, output.strides());
    offset += input.shape()[axis] * output.stride(axis);
  }
}

void launch_slice_assign(const Launch& launch) {
  const Operand value = input_of(launch, 1), output = output_of(launch);
  const Dims steps = statics_of(launch).list();
  Strides strides = output.strides();
  std::int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis) {
    const std::int64_t extent = output.shape()[axis], size = value.shape()[axis];
    if (size == 0) return;
    // Where the region would reach outside, it is moved inside.
    const std::int64_t span = (size - 1) * steps[axis];
    std::int64_t start = dynamic_i64(dynamic_of(launch, axis));
    start = span >= 0 ? std::max<std::int64_t>(0, std::min(start, extent - 1 - span))
                      : std::min(extent - 1, std::max(start, -span));
    offset += start * strides[axis];
    strides[axis] *= steps[axis];
  }
  copy_strided(value, output, offset, strides);
}

// y[i] = x[i * along + index[i] * step], or 0 where the index is outside.
template <class E>
void gather_elements(const E* x, std::int64_t along, const std::int64_t* index, std::int64_t step,
                     std::int64_t extent, std::int64_t n, E* y) {
  constexpr std::int64_t kBlock = 1024;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, n - begin);
    const E* const from = x + begin * along;
    const std::int64_t* const at = index + begin;
    if (!tile_table().all_inside(at, count, extent)) {
      for (std::int64_t i = 0; i < count; ++i) {
        y[begin + i] = inside(at[i], extent) ? from[i * along + at[i] * step] : E(0);
      }
    } else if (along == 0 && step == 1) {
      fill_elements(y + begin, count, [=](std::int64_t i) { return from[at[i]]; });
    } else {
      fill_elements(y + begin, count,
                    [=](std::int64_t i) { return from[i * along + at[i] * step]; });
    }
  }
}

void launch_gather(const Launch& launch) {
  const Operand input = input_of(launch, 0), indices = input_of(launch, 1);
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const Shape& shape = output.shape();
  const int last = shape.rank() - 1;
  if (element_count(shape) == 0) return;
  Strides rest = input.strides();
  rest[axis] = 0;
  const OffsetMap input_rows(shape, rest, 0, last), index_rows(shape, indices.strides(), 0, last);
  const std::int64_t extent = input.shape()[axis], step = input.stride(axis), n = shape[last];
  const std::int64_t pieces = ceil_div(n, kPiece);
  with_storage_type(input.dtype(), [&]<class E>() {
    for_chunks(input_rows.count() * pieces, 4 * std::min(n, kPiece),
               [&](std::int64_t first, std::int64_t end) {
                 std::int64_t* const index = scratch<std::int64_t>(0, std::min(n, kPiece));
                 for (std::int64_t task = first; task < end; ++task) {
                   const std::int64_t row = task / pieces, begin = task % pieces * kPiece;
                   const std::int64_t count = std::min(kPiece, n - begin);
                   const std::int64_t* const at =
                       read_indices(indices, index_rows.at(row) + begin * indices.stride(last),
                                    indices.stride(last), count, index);
                   const auto* x = reinterpret_cast<const E*>(input.data) + input_rows.at(row) +
                                   begin * rest[last];
                   E* const y = reinterpret_cast<E*>(output.data) + row * n + begin;
                   gather_elements(x, rest[last], at, step, extent, count, y);
                 }
               });
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "elements", .op = &defs::cat_op, .launch = launch_cat},
    {.name = "elements", .op = &defs::slice_assign_op, .launch = launch_slice_assign},
    {.name = "elements", .op = &defs::gather_op, .launch = launch_gather},
};

}  // namespace

Family indexing_family() { return kImplementations; }

}  // namespace hearth::cpu
