// cat, slice_assign, gather, scatter_add, select and select_add: kernels/indexing.h.
#include <memory>

#include "devices/gpu/dialect_types.h"
#include "devices/gpu/op_kernels.h"
#include "devices/gpu/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr char kText[] = "#include \"kernels/indexing.h\"\n";

runtime::KernelSource source(const std::string& function, const std::vector<std::string>& arguments,
                             std::vector<KernelParameter> parameters) {
  return {entry_name(function, arguments), kText, instance(function, arguments),
          std::move(parameters), static_cast<int>(kThreads)};
}

std::string params_type(const char* name, int rank) {
  return std::string(name) + "<" + std::to_string(rank) + ">";
}

// Part of a dense output: where a copy goes.
struct Target {
  int operand;
  DType dtype;
  std::int64_t offset = 0;  // elements
};

// y[target + i through `strides`] = x[i].
void add_copy(StepPlan& plan, const TensorSpec& from, int operand, const Target& target,
              Strides strides) {
  Shape shape = from.shape;
  const std::int64_t count = element_count(shape);
  if (count == 0) return;
  const StridedOperand x = strided_operand(from, operand);
  const StridedOperand y = strided_operand({target.dtype, shape, strides}, target.operand);
  Strides x_strides = from.strides;
  merge_axes(&shape, {&x_strides, &strides});
  const std::vector<std::string> arguments = {storage_type(from.dtype), index_type(count),
                                              std::to_string(shape.rank())};
  Step step;
  step.kernel =
      &plan.add_kernel(source("strided_copy", arguments,
                              {{Kind::read, storage_type(from.dtype), "x"},
                               {Kind::write, storage_type(from.dtype), "y"},
                               {Kind::constant, params_type("CopyParams", shape.rank()), "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants.push_back(count);
  append_axes(shape, x_strides, x.base, &step.constants);
  append_axes(shape, strides, y.base, &step.constants);
  StepArgument to = y.argument;
  to.offset += target.offset * size_of(target.dtype);
  step.arguments = {x.argument, to, kConstants};
  plan.add_step(std::move(step));
}

int output_operand(const Signature& signature) { return static_cast<int>(signature.inputs.size()); }

Prepared prepare_cat(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const Strides& strides = signature.output.strides;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& input = signature.inputs[i];
    add_copy(*plan, input, static_cast<int>(i), {output_operand(signature), input.dtype, offset},
             strides);
    offset += input.shape[axis] * strides[axis];
  }
  return prepared_steps(std::move(plan));
}

Prepared prepare_slice_assign(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& value = signature.inputs[1];
  const TensorSpec& output = signature.output;
  const Dims steps = ParamReader(signature.statics).list();
  const std::int64_t count = element_count(value.shape);
  const int rank = value.shape.rank();
  if (count == 0 || rank == 0) {
    if (count == 1) add_copy(*plan, value, 1, {2, value.dtype}, Strides());
    return prepared_steps(std::move(plan));
  }
  const StridedOperand x = strided_operand(value, 1);
  Step step;
  step.kernel = &plan->add_kernel(
      source("slice_assign", {storage_type(value.dtype), index_type(count), std::to_string(rank)},
             {{Kind::read, storage_type(value.dtype), "x"},
              {Kind::read_write, storage_type(value.dtype), "y"},
              {Kind::read, "ulong", "dynamics"},
              {Kind::constant, params_type("AssignParams", rank), "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count, signature.dynamic};
  step.constants.insert(step.constants.end(), output.shape.begin(), output.shape.end());
  step.constants.insert(step.constants.end(), steps.begin(), steps.end());
  append_axes(value.shape, value.strides, x.base, &step.constants);
  Strides stepped = output.strides;
  for (int axis = 0; axis < rank; ++axis) stepped[axis] *= steps[axis];
  append_axes(value.shape, stepped, 0, &step.constants);
  step.arguments = {x.argument, strided_operand(output, 2).argument, kDynamics, kConstants};
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
  step.groups = groups_for(count);
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

Prepared prepare_select(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& input = signature.inputs[0];
  const TensorSpec& indices = signature.inputs[1];
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
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

// One conversion of the whole output, to or from the type that sums are kept in.
void add_convert(StepPlan& plan, std::int64_t count, const char* from_type, StepArgument from,
                 const char* to_type, StepArgument to) {
  Step step;
  step.kernel = &plan.add_kernel(source("convert", {from_type, to_type},
                                        {{Kind::read, from_type, "x"},
                                         {Kind::write, to_type, "y"},
                                         {Kind::constant, "ConvertParams", "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {count};
  step.arguments = {from, to, kConstants};
  plan.add_step(std::move(step));
}

// scatter_add, and select_add with its list of indices seen as an array of the values' shape.
Prepared prepare_sums(const Signature& signature, const TensorSpec& indices) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& values = signature.inputs[2];
  const TensorSpec& output = signature.output;
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  if (element_count(indices.shape) == 0) return prepared_steps(std::move(plan));
  const std::int64_t elements = element_count(output.shape);
  const char* const type =
      is_float(output.dtype) ? dialect_type(output.dtype) : storage_type(output.dtype);
  const char* const sum = sum_type(output.dtype);
  const bool widens = std::string(type) != sum;
  const StepArgument whole = strided_operand(output, 3).argument;
  StepArgument target = whole;
  if (widens) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(float));
    target = {StepArgument::From::workspace, 0, plan->add_workspace(bytes), bytes};
    add_convert(*plan, elements, type, whole, sum, target);
  }

  const StridedOperand index = strided_operand(indices, 1);
  const StridedOperand value = strided_operand(values, 2);
  Shape lines = indices.shape;
  lines[axis] = 1;
  const std::int64_t count = element_count(lines);
  Strides index_strides = indices.strides, value_strides = values.strides,
          output_strides = output.strides;
  const std::int64_t index_step = index_strides[axis], value_step = value_strides[axis],
                     output_step = output_strides[axis];
  merge_axes(&lines, {&index_strides, &value_strides, &output_strides});
  Step step;
  step.kernel = &plan->add_kernel(source(
      "scatter_add",
      {type, sum, dialect_type(indices.dtype), index_type(count), std::to_string(lines.rank())},
      {{Kind::read, dialect_type(indices.dtype), "indices"},
       {Kind::read, type, "values"},
       {Kind::read_write, sum, "output"},
       {Kind::constant, params_type("ScatterParams", lines.rank()), "p"}}));
  step.groups = groups_for(count);
  step.threads = {kThreads};
  step.constants = {
      count,      indices.shape[axis], output.shape[axis], is_bool(output.dtype) ? 1 : 0,
      index_step, value_step,          output_step};
  append_axes(lines, index_strides, index.base, &step.constants);
  append_axes(lines, value_strides, value.base, &step.constants);
  append_axes(lines, output_strides, 0, &step.constants);
  step.arguments = {index.argument, value.argument, target, kConstants};
  plan->add_step(std::move(step));
  if (widens) add_convert(*plan, elements, sum, target, type, whole);
  return prepared_steps(std::move(plan));
}

Prepared prepare_scatter_add(const Signature& signature) {
  return prepare_sums(signature, signature.inputs[1]);
}

Prepared prepare_select_add(const Signature& signature) {
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const TensorSpec& list = signature.inputs[1];
  TensorSpec indices = signature.inputs[2];
  indices.dtype = list.dtype;
  indices.strides = Strides::filled(indices.shape.rank(), 0);
  indices.strides[axis] = list.strides[0];
  return prepare_sums(signature, indices);
}

}  // namespace

void add_indexing_kernels(KernelTable& table) {
  table.add({.op = &defs::cat_op, .prepare = prepare_cat, .launch = launch_steps});
  table.add(
      {.op = &defs::slice_assign_op, .prepare = prepare_slice_assign, .launch = launch_steps});
  table.add({.op = &defs::gather_op, .prepare = prepare_gather, .launch = launch_steps});
  table.add({.op = &defs::scatter_add_op, .prepare = prepare_scatter_add, .launch = launch_steps});
  table.add({.op = &defs::select_op, .prepare = prepare_select, .launch = launch_steps});
  table.add({.op = &defs::select_add_op, .prepare = prepare_select_add, .launch = launch_steps});
}

}  // namespace hearth::gpu
