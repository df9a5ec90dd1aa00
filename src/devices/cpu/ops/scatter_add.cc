// scatter and scatter_add, for every dtype. An index outside its axis is not written.
#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "devices/cpu/ops/updates/rows_across.h"
#include "devices/cpu/ops/updates/update_loops.h"
#include "devices/cpu/ops/updates/update_rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Lines along the axis are independent; a task takes a run of neighbouring ones. What is updated
// lies together meanwhile: rows of the output may be a power of two apart, and share few places of
// a cache. Halves are combined in f32 and rounded once.
void scatter_lines(const Launch& launch, const UpdateLoops& loops) {
  constexpr std::int64_t kAhead = 4;
  const Operand indices = input_of(launch, 1), values = input_of(launch, 2);
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const bool widens = loops.widens;
  const std::int64_t bytes = widens ? sizeof(float) : size_of(output.dtype());
  const Shape& shape = indices.shape();
  const std::int64_t extent = output.shape()[axis], n = shape[axis];
  const RowsAcross index_rows(indices, shape, axis), value_rows(values, shape, axis);
  const RowsAcross out_rows(output, shape, axis);
  const std::int64_t inner = index_rows.inner.count();
  const std::int64_t width =
      std::min(inner, std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(1, extent), 1, 4096));
  const std::int64_t blocks = ceil_div(inner, width);
  // Of few updates the copies would be most of the work.
  const bool together = widens || 2 * n >= extent;
  // Rows that follow each other are copied as one.
  const bool follow = width == inner && out_rows.dense() && output.stride(axis) == inner;
  const std::int64_t copies = !together ? 0 : follow ? 1 : extent;
  for_chunks(
      index_rows.outer.count() * blocks, 8 * n * width, [&](std::int64_t first, std::int64_t end) {
        std::int64_t* const index_copy = scratch<std::int64_t>(0, width);
        std::int64_t* const places = scratch<std::int64_t>(1, width);
        std::byte* const value_copy = scratch<std::byte>(1, width * bytes);
        std::byte* const sums = together ? scratch<std::byte>(2, extent * width * bytes) : nullptr;
        for (std::int64_t task = first; task < end; ++task) {
          const std::int64_t outer = task / blocks, begin = task % blocks * width;
          const std::int64_t count = std::min(width, inner - begin);
          const std::int64_t copied = follow ? extent * count : count;
          for (std::int64_t place = 0; place < copies; ++place) {
            out_rows.load(out_rows.at(outer, place), begin, copied, widens,
                          sums + place * count * bytes);
          }
          const Address out = output.at(out_rows.at(outer, 0));
          for (std::int64_t i = 0; !together && i < count; ++i) {
            places[i] = out_rows.inner.at(begin + i);
          }
          for (std::int64_t place = 0; place < n; ++place) {
            const std::int64_t index_row = index_rows.at(outer, place);
            const std::int64_t value_row = value_rows.at(outer, place);
            if (place + kAhead < n) {
              index_rows.fetch(index_row + kAhead * indices.stride(axis), begin, count);
              value_rows.fetch(value_row + kAhead * values.stride(axis), begin, count);
            }
            const std::int64_t* const at =
                index_rows.read_indices(index_row, begin, count, index_copy);
            const std::byte* const each =
                value_rows.read(value_row, begin, count, widens, value_copy);
            if (together) {
              loops.across(sums, count, extent, at, nullptr, each, count);
            } else {
              loops.across(out, output.stride(axis), extent, at, places, each, count);
            }
          }
          for (std::int64_t place = 0; place < copies; ++place) {
            out_rows.store(out_rows.at(outer, place), begin, copied, widens,
                           sums + place * count * bytes);
          }
        }
      });
}

void launch_scatter(const Launch& launch) {
  if (element_count(launch.signature->inputs[1].shape) == 0) return;
  const TensorSpec& output = launch.signature->output;
  const UpdateLoops loops = update_loops(launch.signature->statics, output.dtype);
  if (statics_of(launch).i64() != output.shape.rank() - 1) return scatter_lines(launch, loops);
  const Operand indices = input_of(launch, 1);
  update_rows(loops, indices, indices.shape(), indices.strides(), input_of(launch, 2),
              output_of(launch));
}

constexpr Implementation kImplementations[] = {
    {.name = "elements", .op = &defs::scatter_add_op, .launch = launch_scatter},
    {.name = "elements", .op = &defs::scatter_op, .launch = launch_scatter},
};

}  // namespace

Family scatter_add_family() { return kImplementations; }

}  // namespace hearth::cpu
