// gather and select: kernels/indexing/indexing.metal.
#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

#include "kernels/indexing/params.h"

namespace {

constexpr int kRowsAtOnce = 4;
constexpr std::int64_t kGatheredAtOnce = 4;  // of kernels/indexing/indexing.metal
// Rows have 32-bit positions.
constexpr std::int64_t kMaxIndexedRows = std::int64_t{1} << 31;

// What gather and select read: elements of `input` along an axis, at `indices`.
struct Lookup {
  explicit Lookup(const Signature& signature)
      : device(signature.device),
        input(signature.inputs[0]),
        indices(signature.inputs[1]),
        axis(axis_of(signature)),
        extent(input.shape[axis]),
        step(input.strides[axis]),
        type_of_index(dialect_type(indices.dtype)),
        x(strided_operand(input, 0)),
        index(strided_operand(indices, 1)),
        y(strided_operand(signature.output, 2).argument) {}

  // A kernel that moves elements as `memory`, at addresses of a multiple of `bytes`.
  KernelCall call(const char* function, const std::vector<std::string>& arguments,
                  const std::string& memory, std::int64_t bytes = 1) const {
    return KernelCall("indexing/indexing.metal", function, arguments)
        .read(memory, "x", aligned(x.argument, bytes))
        .read(type_of_index, "indices", index.argument)
        .write(memory, "y", aligned(y, bytes));
  }

  const runtime::DeviceTraits* device;
  const TensorSpec& input;
  const TensorSpec& indices;
  int axis;
  std::int64_t extent, step;  // of the axis
  std::string type_of_index;
  StridedOperand x, index;
  StepArgument y;
};

}  // namespace

std::string vector_type(std::int64_t bytes) {
  return bytes == kPacketBytes ? "uint4" : unsigned_type(bytes);
}

Prepared prepare_gather(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const Lookup from(signature);
  Shape shape = signature.output.shape;
  Strides x_strides = from.input.strides, index_strides = from.indices.strides;
  x_strides[from.axis] = 0;
  merge_kernel_axes(&shape, {&x_strides, &index_strides});
  const std::string rank = std::to_string(shape.rank());
  const std::string memory = storage_type(from.input.dtype);
  plan->add_step(
      from.call("gather", {memory, from.type_of_index, index_type(count), rank}, memory)
          .constants(
              GatherParams<kRuntimeRank>{.count = count,
                                         .axis_extent = from.extent,
                                         .axis_stride = from.step,
                                         .x = {from.x.base, &shape, &x_strides},
                                         .indices = {from.index.base, &shape, &index_strides}})
          .step(*plan, groups_for(ceil_div(count, kGatheredAtOnce)), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

namespace {

// An input's axes around the indexed one: `row` contiguous elements, and what lies outside.
struct SelectedRows {
  explicit SelectedRows(const Lookup& from) : outer(from.input) {
    const TensorSpec& input = from.input;
    for (int i = from.axis + 1; i < input.shape.rank(); ++i) row *= input.shape[i];
    for (int i = from.axis; i < input.shape.rank(); ++i) outer.shape[i] = 1;
    rows = element_count(outer.shape) * from.indices.shape[0];
    merge_kernel_axes(&outer.shape, {&outer.strides});
    for (width = kPacketBytes / size_of(input.dtype); width > 1; width /= 2) {
      const auto whole = [this](std::int64_t stride) { return stride % width == 0; };
      if (whole(row) && whole(from.step) &&
          std::all_of(outer.strides.begin(), outer.strides.end(), whole)) {
        break;
      }
    }
  }
  TensorSpec outer;
  std::int64_t row = 1, rows = 0;
  std::int64_t width = 1;  // of a vector, in elements
};

// In vectors of `width` elements.
Step rows_step(StepPlan& plan, const Lookup& from, SelectedRows rows, std::int64_t width,
               bool rare) {
  const std::int64_t bytes = width * size_of(from.input.dtype);
  const std::string vector = vector_type(bytes);
  const std::int64_t vectors = rows.row / width;
  const auto lanes = ceil_power_of_two(std::min<std::int64_t>(vectors, kThreads));
  const std::string rank = std::to_string(rows.outer.shape.rank());
  const std::int64_t groups = ceil_div(rows.rows, kThreads / lanes * kRowsAtOnce);
  const std::int64_t across = std::clamp<std::int64_t>(
      resident_groups(*from.device, kThreads) / groups, 1, ceil_div(vectors, lanes));
  for (std::int64_t& stride : rows.outer.strides) stride /= width;
  return from
      .call("select_rows", {vector, from.type_of_index, rank, std::to_string(kRowsAtOnce)}, vector,
            bytes)
      .constants(RowParams<kRuntimeRank>{
          .rows = rows.rows,
          .positions = from.indices.shape[0],
          .vectors = vectors,
          .lanes = lanes,
          .lane_bits = std::countr_zero(static_cast<std::uint64_t>(lanes)),
          .index_base = from.index.base,
          .index_stride = from.indices.strides[0],
          .axis_extent = from.extent,
          .axis_stride = from.step / width,
          .outer = {from.x.base / width, &rows.outer.shape, &rows.outer.strides}})
      .step(plan, {static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(across)},
            {kThreads}, kThreads, rare);
}

}  // namespace

bool accepts_select_rows(const Signature& signature) {
  const Shape& shape = signature.output.shape;
  std::int64_t rows = 1;
  for (int i = 0; i <= axis_of(signature); ++i) rows *= shape[i];
  return rows < kMaxIndexedRows;
}

// Whether the axes after the indexed one are contiguous.
bool fits_select_rows(const Signature& signature) {
  const TensorSpec& input = signature.inputs[0];
  std::int64_t row = 1;
  for (int i = input.shape.rank(); --i > axis_of(signature);) {
    if (input.shape[i] != 1 && input.strides[i] != row) return false;
    row *= input.shape[i];
  }
  return true;
}

Prepared prepare_select_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const Lookup from(signature);
  const SelectedRows rows(from);
  plan->add_step(rows.width > 1, [&](bool wide, bool rare) {
    return rows_step(*plan, from, rows, wide ? rows.width : 1, rare);
  });
  return prepared_steps(std::move(plan));
}

Prepared prepare_select_elements(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const Lookup from(signature);
  TensorSpec rest = from.input;
  rest.shape[from.axis] = 1;
  std::int64_t inner = 1;
  for (int i = from.axis + 1; i < rest.shape.rank(); ++i) inner *= rest.shape[i];
  merge_kernel_axes(&rest.shape, {&rest.strides});
  const std::string rank = std::to_string(rest.shape.rank());
  const std::string memory = storage_type(from.input.dtype);
  plan->add_step(
      from.call("select", {memory, from.type_of_index, index_type(count), rank}, memory)
          .constants(SelectParams<kRuntimeRank>{.count = count,
                                                .positions = from.indices.shape[0],
                                                .inner = inner,
                                                .index_base = from.index.base,
                                                .index_stride = from.indices.strides[0],
                                                .axis_extent = from.extent,
                                                .axis_stride = from.step,
                                                .x = {from.x.base, &rest.shape, &rest.strides}})
          .step(*plan, groups_for(count), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
