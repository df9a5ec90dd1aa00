// slice_assign, gather and select: kernels/indexing.h.
#include <algorithm>
#include <bit>
#include <memory>

#include "devices/gpu/ops/op_kernels.h"
#include "devices/gpu/step_plan.h"
#include "devices/gpu/text/dialect_types.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr char kText[] = "#include \"kernels/indexing.h\"\n";
constexpr std::int64_t kPacketBytes = 16;
constexpr int kRowsAtOnce = 4;
constexpr std::int64_t kGatheredAtOnce = 4;  // of kernels/indexing.h
constexpr std::int64_t kAssignedAtOnce = 4;
// Threadgroups that fill a large GPU, and 32-bit positions of rows.
constexpr std::int64_t kManyGroups = 1024;
constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

runtime::KernelSource source(const std::string& function, const std::vector<std::string>& arguments,
                             std::vector<KernelParameter> parameters) {
  return {entry_name(function, arguments), kText, instance(function, arguments),
          std::move(parameters), static_cast<int>(kThreads)};
}

std::string vector_type(std::int64_t bytes) {
  return bytes == kPacketBytes ? "uint4" : unsigned_type(bytes);
}

std::string params_type(const char* name, int rank) {
  return std::string(name) + "<" + std::to_string(rank) + ">";
}

// How slice_assign walks its values, and where the region may start.
struct Assignment {
  explicit Assignment(const Signature& signature) : x(strided_operand(signature.inputs[1], 1)) {
    const TensorSpec& value = signature.inputs[1];
    const TensorSpec& output = signature.output;
    const Dims steps = ParamReader(signature.statics).list();
    shape = value.shape;
    x_strides = value.strides;
    y_strides = output.strides;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t span = (shape[axis] - 1) * steps[axis];
      const std::int64_t lowest = std::max<std::int64_t>(0, -span);
      const std::int64_t highest = output.shape[axis] - 1 - std::max<std::int64_t>(0, span);
      y_strides[axis] *= steps[axis];
      if (lowest == highest) {
        y_base += lowest * output.strides[axis];
      } else {
        starts.push_back({signature.dynamic + axis, lowest, highest, output.strides[axis]});
      }
    }
    if (starts.empty()) starts.push_back({signature.dynamic, 0, 0, 0});
    merge_axes(&shape, {&x_strides, &y_strides});
    width = widest(kPacketBytes / size_of(output.dtype));
  }

  // The widest vectors of up to `most` elements that every step is a multiple of.
  std::int64_t widest(std::int64_t most) const {
    const int last = shape.rank() - 1;
    if (x_strides[last] != 1 || y_strides[last] != 1) return 1;
    for (; most > 1; most /= 2) {
      const auto whole = [most](std::int64_t elements) { return elements % most == 0; };
      const auto steps = [&](const Strides& strides) {
        return std::all_of(strides.begin(), strides.end() - 1, whole);
      };
      if (whole(shape[last]) && steps(x_strides) && steps(y_strides) && whole(x.base) &&
          whole(y_base) && std::all_of(starts.begin(), starts.end(), [&](const Start& s) {
            return whole(s.stride);
          })) {
        break;
      }
    }
    return most;
  }

  struct Start {
    std::int64_t word, lowest, highest, stride;
  };
  StridedOperand x;
  Shape shape;
  Strides x_strides, y_strides;
  std::int64_t y_base = 0;
  std::vector<Start> starts;
  std::int64_t width = 1;  // of a vector, in elements
};

// With `rare`, the kernel is compiled when it is launched.
Step assign_step(StepPlan& plan, const Signature& signature, Assignment region, bool rare) {
  const std::int64_t bytes = region.width * size_of(signature.output.dtype);
  const std::string vector = vector_type(bytes);
  const int last = region.shape.rank() - 1;
  region.shape[last] /= region.width;
  for (int axis = 0; axis < last; ++axis) {
    region.x_strides[axis] /= region.width;
    region.y_strides[axis] /= region.width;
  }
  const std::int64_t count = element_count(region.shape);
  const std::string ranks =
      std::to_string(region.starts.size()) + ", " + std::to_string(region.shape.rank());
  runtime::KernelSource kernel =
      source("slice_assign",
             {vector, index_type(count), std::to_string(region.starts.size()),
              std::to_string(region.shape.rank())},
             {{Kind::read, vector, "x"},
              {Kind::read_write, vector, "y"},
              {Kind::read, "ulong", "dynamics"},
              {Kind::constant, "AssignParams<" + ranks + ">", "p"}});
  Step step;
  step.kernel =
      rare ? &plan.add_rare_kernel(std::move(kernel)) : &plan.add_kernel(std::move(kernel));
  step.groups = groups_for(parts(count, kAssignedAtOnce));
  step.threads = {kThreads};
  step.constants = {count};
  for (const auto member : {&Assignment::Start::word, &Assignment::Start::lowest,
                            &Assignment::Start::highest, &Assignment::Start::stride}) {
    const bool strides = member == &Assignment::Start::stride;
    for (const Assignment::Start& start : region.starts) {
      step.constants.push_back(start.*member / (strides ? region.width : 1));
    }
  }
  append_axes(region.shape, region.x_strides, region.x.base / region.width, &step.constants);
  append_axes(region.shape, region.y_strides, region.y_base / region.width, &step.constants);
  step.arguments = {region.x.argument, strided_operand(signature.output, 2).argument, kDynamics,
                    kConstants};
  step.arguments[0].alignment = step.arguments[1].alignment = bytes;
  return step;
}

Prepared prepare_slice_assign(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.inputs[1].shape) == 0) return prepared_steps(std::move(plan));
  Assignment region(signature);
  Step step = assign_step(*plan, signature, region, false);
  if (region.width > 1) {
    region.width = 1;
    step.otherwise = std::make_shared<Step>(assign_step(*plan, signature, region, true));
  }
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

Prepared prepare_gather(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& input = signature.inputs[0];
  const TensorSpec& indices = signature.inputs[1];
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const StridedOperand x = strided_operand(input, 0);
  const StridedOperand index = strided_operand(indices, 1);
  Shape shape = signature.output.shape;
  Strides x_strides = input.strides, index_strides = indices.strides;
  x_strides[axis] = 0;
  merge_axes(&shape, {&x_strides, &index_strides});
  Step step;
  step.kernel =
      &plan->add_kernel(source("gather",
                               {storage_type(input.dtype), dialect_type(indices.dtype),
                                index_type(count), std::to_string(shape.rank())},
                               {{Kind::read, storage_type(input.dtype), "x"},
                                {Kind::read, dialect_type(indices.dtype), "indices"},
                                {Kind::write, storage_type(input.dtype), "y"},
                                {Kind::constant, params_type("GatherParams", shape.rank()), "p"}}));
  step.groups = groups_for(parts(count, kGatheredAtOnce));
  step.threads = {kThreads};
  step.constants = {count, input.shape[axis], input.strides[axis]};
  append_axes(shape, x_strides, x.base, &step.constants);
  append_axes(shape, index_strides, index.base, &step.constants);
  step.arguments = {x.argument, index.argument, strided_operand(signature.output, 2).argument,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// The operand with its axis set aside.
TensorSpec without_axis(const TensorSpec& spec, int axis) {
  TensorSpec rest = spec;
  rest.shape[axis] = 1;
  return rest;
}

// An input's axes around the indexed one: `row` contiguous elements, and what lies outside.
struct SelectedRows {
  SelectedRows(const Signature& signature, int axis) : outer(signature.inputs[0]) {
    const TensorSpec& input = signature.inputs[0];
    for (int i = input.shape.rank(); --i > axis;) {
      contiguous = contiguous && (input.shape[i] == 1 || input.strides[i] == row);
      row *= input.shape[i];
    }
    for (int i = axis; i < input.shape.rank(); ++i) outer.shape[i] = 1;
    rows = element_count(outer.shape) * signature.inputs[1].shape[0];
    merge_axes(&outer.shape, {&outer.strides});
    for (width = kPacketBytes / size_of(input.dtype); width > 1; width /= 2) {
      const auto whole = [this](std::int64_t stride) { return stride % width == 0; };
      if (whole(row) && whole(input.strides[axis]) &&
          std::all_of(outer.strides.begin(), outer.strides.end(), whole)) {
        break;
      }
    }
  }
  TensorSpec outer;
  std::int64_t row = 1, rows = 0;
  bool contiguous = true;
  std::int64_t width = 1;  // of a vector, in elements
};

// With `rare`, the kernel is compiled when it is launched.
Step rows_step(StepPlan& plan, const Signature& signature, int axis, SelectedRows rows, bool rare) {
  const TensorSpec& input = signature.inputs[0];
  const TensorSpec& indices = signature.inputs[1];
  const StridedOperand x = strided_operand(input, 0);
  const StridedOperand index = strided_operand(indices, 1);
  const std::int64_t bytes = rows.width * size_of(input.dtype);
  const std::string vector = vector_type(bytes);
  const std::int64_t vectors = rows.row / rows.width;
  const auto lanes = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(vectors, kThreads))));
  const std::string rank = std::to_string(rows.outer.shape.rank());
  runtime::KernelSource kernel = source(
      "select_rows", {vector, dialect_type(indices.dtype), rank, std::to_string(kRowsAtOnce)},
      {{Kind::read, vector, "x"},
       {Kind::read, dialect_type(indices.dtype), "indices"},
       {Kind::write, vector, "y"},
       {Kind::constant, params_type("RowParams", rows.outer.shape.rank()), "p"}});
  Step step;
  step.kernel =
      rare ? &plan.add_rare_kernel(std::move(kernel)) : &plan.add_kernel(std::move(kernel));
  const std::int64_t groups = parts(rows.rows, kThreads / lanes * kRowsAtOnce);
  const std::int64_t across =
      std::clamp<std::int64_t>(kManyGroups / groups, 1, parts(vectors, lanes));
  step.groups = {static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(across)};
  step.threads = {kThreads};
  step.constants = {rows.rows,
                    indices.shape[0],
                    vectors,
                    lanes,
                    std::countr_zero(static_cast<std::uint64_t>(lanes)),
                    index.base,
                    indices.strides[0],
                    input.shape[axis],
                    input.strides[axis] / rows.width};
  for (std::int64_t& stride : rows.outer.strides) stride /= rows.width;
  append_axes(rows.outer.shape, rows.outer.strides, x.base / rows.width, &step.constants);
  step.arguments = {x.argument, index.argument, strided_operand(signature.output, 2).argument,
                    kConstants};
  step.arguments[0].alignment = step.arguments[2].alignment = bytes;
  return step;
}

Prepared prepare_select(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& input = signature.inputs[0];
  const TensorSpec& indices = signature.inputs[1];
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  SelectedRows rows(signature, axis);
  if (rows.contiguous && rows.rows < kMostRows) {
    Step step = rows_step(*plan, signature, axis, rows, false);
    if (rows.width > 1) {
      rows.width = 1;
      step.otherwise = std::make_shared<Step>(rows_step(*plan, signature, axis, rows, true));
    }
    plan->add_step(std::move(step));
    return prepared_steps(std::move(plan));
  }
  const StridedOperand x = strided_operand(input, 0);
  const StridedOperand index = strided_operand(indices, 1);
  TensorSpec rest = without_axis(input, axis);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < input.shape.rank(); ++i) inner *= input.shape[i];
  merge_axes(&rest.shape, {&rest.strides});
  Step step;
  step.kernel = &plan->add_kernel(
      source("select",
             {storage_type(input.dtype), dialect_type(indices.dtype), index_type(count),
              std::to_string(rest.shape.rank())},
             {{Kind::read, storage_type(input.dtype), "x"},
              {Kind::read, dialect_type(indices.dtype), "indices"},
              {Kind::write, storage_type(input.dtype), "y"},
              {Kind::constant, params_type("SelectParams", rest.shape.rank()), "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count,
                    indices.shape[0],
                    inner,
                    index.base,
                    indices.strides[0],
                    input.shape[axis],
                    input.strides[axis]};
  append_axes(rest.shape, rest.strides, x.base, &step.constants);
  step.arguments = {x.argument, index.argument, strided_operand(signature.output, 2).argument,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_indexing_kernels(KernelTable& table) {
  table.add(
      {.op = &defs::slice_assign_op, .prepare = prepare_slice_assign, .launch = launch_steps});
  table.add({.op = &defs::gather_op, .prepare = prepare_gather, .launch = launch_steps});
  table.add({.op = &defs::select_op, .prepare = prepare_select, .launch = launch_steps});
}

}  // namespace hearth::gpu
