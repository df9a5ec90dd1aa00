// select_assign of a list that is not long: kernels/indexing/assign_rows.metal.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/indexing/indexing.h"
#include "kernels/indexing/scatter.h"
#include "ops/indexing/update_rule.h"

namespace hearth::gpu {
namespace {

// A row looks through all indices behind its own; beyond so many sorting them costs less.
constexpr std::int64_t kMostAssignedRows = 2048;

// The elements of a row, with the steps of values and output over them.
struct AssignedRow {
  explicit AssignedRow(const Signature& signature)
      : shape(signature.inputs[2].shape),
        value_strides(signature.inputs[2].strides),
        output_strides(signature.output.strides),
        values(strided_operand(signature.inputs[2], 2)),
        value_row(value_strides[0]),
        output_row(output_strides[0]) {
    shape[0] = 1;
    value_strides[0] = output_strides[0] = 0;
    merge_kernel_axes(&shape, {&value_strides, &output_strides});
    const int last = shape.rank() - 1;
    width = kPacketBytes / size_of(signature.output.dtype);
    if (value_strides[last] != 1 || output_strides[last] != 1) width = 1;
    const auto whole = [this](std::int64_t elements) { return elements % width == 0; };
    const auto steps = [&](const Strides& strides) {
      return std::all_of(strides.begin(), strides.end() - 1, whole);
    };
    while (width > 1 && !(whole(shape[last]) && whole(values.base) && whole(value_row) &&
                          whole(output_row) && steps(value_strides) && steps(output_strides))) {
      width /= 2;
    }
  }

  Shape shape;
  Strides value_strides, output_strides;
  StridedOperand values;
  std::int64_t value_row, output_row;
  std::int64_t width = 1;  // of a vector, in elements
};

// In vectors of `width` elements.
Step assigned_step(StepPlan& plan, const Signature& signature, AssignedRow row, std::int64_t width,
                   bool rare) {
  const TensorSpec& list = signature.inputs[1];
  const StridedOperand indices = strided_operand(list, 1);
  const std::int64_t bytes = width * size_of(signature.output.dtype);
  const std::string vector = vector_type(bytes);
  const int last = row.shape.rank() - 1;
  row.shape[last] /= width;
  for (int axis = 0; axis < last; ++axis) {
    row.value_strides[axis] /= width;
    row.output_strides[axis] /= width;
  }
  const std::int64_t rows = list.shape[0], vectors = element_count(row.shape);
  const std::int64_t threads =
      std::min<std::int64_t>(ceil_div(vectors, kSimdWidth) * kSimdWidth, kThreads);
  const std::int64_t across = std::clamp<std::int64_t>(
      resident_groups(*signature.device, threads) / rows, 1, ceil_div(vectors, threads));
  const char* const index = dialect_type(list.dtype);
  return KernelCall("indexing/assign_rows.metal", "assign_rows",
                    {vector, index, std::to_string(row.shape.rank())})
      .read(index, "indices", indices.argument)
      .read(vector, "values", aligned(row.values.argument, bytes))
      .read_write(vector, "output", aligned(strided_operand(signature.output, 3).argument, bytes))
      .constants(AssignRowParams<kRuntimeRank>{
          .rows = rows,
          .extent = signature.output.shape[0],
          .vectors = vectors,
          .index_base = indices.base,
          .index_stride = list.strides[0],
          .value_row = row.value_row / width,
          .output_row = row.output_row / width,
          .values = {row.values.base / width, &row.shape, &row.value_strides},
          .output = {0, &row.shape, &row.output_strides}})
      .step(plan, {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(across)},
            {static_cast<std::uint32_t>(threads)}, kThreads, rare);
}

}  // namespace

bool accepts_assign_rows(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  const Shape& values = signature.inputs[2].shape;
  const std::int64_t rows = signature.inputs[1].shape[0];
  return axis_of(signature) == 0 &&
         update_rule(signature.statics, dtype) == IndexingUpdateOp::assign &&
         rows <= kMostAssignedRows && values[0] == rows && rows > 0 &&
         element_count(values) / rows < std::numeric_limits<std::int32_t>::max();
}

Prepared prepare_assign_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.inputs[2].shape) == 0) return prepared_steps(std::move(plan));
  const AssignedRow row(signature);
  plan->add_step(row.width > 1, [&](bool wide, bool rare) {
    return assigned_step(*plan, signature, row, wide ? row.width : 1, rare);
  });
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
