// softmax, log_softmax, logsumexp and their gradients: kernels/softmax/softmax.metal along the last
// axis, kernels/softmax/columns.metal along another one.
#include <algorithm>
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/row_split.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

enum class Form { softmax, log_softmax, logsumexp };

// Threads of a row: more have too few registers for what they hold.
constexpr std::int64_t kMostLanes = 512;
constexpr std::int64_t kColumns = 32;
constexpr std::int64_t kColumnThreads = 1024;

// Threads of each of so many threadgroups: more where few of them would leave a large GPU idle, if
// each has some elements.
std::uint32_t column_threads(std::int64_t groups, std::int64_t length) {
  constexpr std::int64_t kManyThreads = 1 << 17, kFewestElements = 4;
  const std::int64_t threads = std::min(kManyThreads / groups, length / kFewestElements * kColumns);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(threads))), kThreads,
      kColumnThreads));
}

bool along_rows(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  return axis_of(signature) == shape.rank() - 1 && fits_rows(shape);
}

KernelParameter shared_array(DType dtype, const char* name, std::int64_t count) {
  return {Kind::threadgroup, sum_type(dtype), name, count};
}

template <Form form>
Prepared prepare_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(x.shape, {&x});
  const RowSplit split =
      split_kept_rows(element_count(axes.shape), x.shape.back(), x.dtype, kMostLanes);
  const char* const type = dialect_type(x.dtype);
  const std::string held = std::to_string(split.held);
  const bool sums = form == Form::logsumexp;
  std::vector<std::string> arguments = {dtype_struct(x.dtype), held, axes.rank()};
  if (!sums) arguments.insert(arguments.begin() + 1, truth(form == Form::log_softmax));
  Step step;
  step.kernel =
      &plan->add_kernel(library_kernel("softmax/softmax.metal",
                                       sums          ? "logsumexp_rows"
                                       : split.whole ? "softmax_rows"
                                                     : "softmax_long_rows",
                                       arguments,
                                       {{Kind::read, type, "x"},
                                        {Kind::write, type, "y"},
                                        {Kind::constant, "SoftmaxParams<" + axes.rank() + ">", "p"},
                                        shared_array(x.dtype, "shared", 64)},
                                       kMostLanes));
  step.groups = split.groups;
  step.threads = split.threads;
  const StridedOperand from = strided_operand(x, 0);
  split.append_words(&step.constants);
  append_axes(axes.shape, axes.strides[0], from.base, &step.constants);
  step.arguments = {from.argument, strided_operand(signature.output, 1).argument, kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

template <bool kLog>
Prepared prepare_backward_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& g = signature.inputs[0];
  const TensorSpec& y = signature.inputs[1];
  if (element_count(y.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(y.shape, {&g, &y});
  const RowSplit split =
      split_kept_rows(element_count(axes.shape), y.shape.back(), y.dtype, kMostLanes);
  const char* const type = dialect_type(y.dtype);
  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("softmax/softmax.metal", "softmax_backward_rows",
                     {dtype_struct(y.dtype), truth(kLog), truth(split.whole),
                      std::to_string(split.held), axes.rank()},
                     {{Kind::read, type, "g"},
                      {Kind::read, type, "y"},
                      {Kind::write, type, "dx"},
                      {Kind::constant, "SoftmaxBackwardParams<" + axes.rank() + ">", "p"},
                      shared_array(y.dtype, "shared", 32)},
                     kMostLanes));
  step.groups = split.groups;
  step.threads = split.threads;
  const StridedOperand grads = strided_operand(g, 0), results = strided_operand(y, 1);
  split.append_words(&step.constants);
  append_axes(axes.shape, axes.strides[0], grads.base, &step.constants);
  append_axes(axes.shape, axes.strides[1], results.base, &step.constants);
  step.arguments = {grads.argument, results.argument, strided_operand(signature.output, 2).argument,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// A step over columns: x and g of the signature's inputs, g where there is one before x.
Prepared prepare_columns(const Signature& signature, const std::string& function,
                         const std::string& form) {
  auto plan = std::make_shared<StepPlan>();
  const int inputs = static_cast<int>(signature.inputs.size());
  const TensorSpec& x = signature.inputs.back();
  const TensorSpec& g = signature.inputs.front();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const int axis = axis_of(signature);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
  Shape shape = x.shape;
  shape[axis] = 1;
  Strides x_strides = x.strides, g_strides = g.strides;
  merge_kernel_axes(&shape, {&x_strides, &g_strides});
  const std::string rank = std::to_string(shape.rank());
  const char* const type = dialect_type(x.dtype);

  std::vector<KernelParameter> parameters = {{Kind::read, type, "x"}};
  if (inputs == 2) parameters.insert(parameters.begin(), {Kind::read, type, "g"});
  parameters.push_back({Kind::write, type, "y"});
  parameters.back().name = inputs == 2 ? "dx" : "y";
  parameters.push_back({Kind::constant, "ColumnParams<" + rank + ">", "p"});
  if (inputs == 1) parameters.push_back(shared_array(x.dtype, "tops", kColumnThreads));
  parameters.push_back(shared_array(x.dtype, "sums", kColumnThreads));
  Step step;
  step.kernel = &plan->add_kernel(library_kernel("softmax/columns.metal", function,
                                                 {dtype_struct(x.dtype), form, rank},
                                                 std::move(parameters), kColumnThreads));
  const std::int64_t columns = element_count(shape);
  const std::int64_t groups = parts(columns, kColumns);
  step.groups = {static_cast<std::uint32_t>(groups)};
  step.threads = {column_threads(groups, x.shape[axis])};
  const StridedOperand from = strided_operand(x, inputs - 1), grads = strided_operand(g, 0);
  step.constants = {columns, x.shape[axis], inner, x.strides[axis], g.strides[axis]};
  append_axes(shape, x_strides, from.base, &step.constants);
  append_axes(shape, g_strides, grads.base, &step.constants);
  step.arguments = {from.argument, strided_operand(signature.output, inputs).argument, kConstants};
  if (inputs == 2) step.arguments.insert(step.arguments.begin(), grads.argument);
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

template <Form form>
Prepared prepare_forward_columns(const Signature& signature) {
  return prepare_columns(signature, "softmax_columns", std::to_string(static_cast<int>(form)));
}
template <bool kLog>
Prepared prepare_backward_columns(const Signature& signature) {
  return prepare_columns(signature, "softmax_backward_columns", truth(kLog));
}

}  // namespace

void add_softmax_kernels(KernelTable& table) {
  const auto add = [&table](const OpDef& op, Prepared (*rows)(const Signature&),
                            Prepared (*columns)(const Signature&)) {
    table.add({.op = &op,
               .accepts = along_rows,
               .layout = LayoutNeed::last_axis_dense,
               .priority = 1,
               .prepare = rows,
               .launch = launch_steps});
    table.add({.op = &op, .prepare = columns, .launch = launch_steps});
  };
  add(defs::softmax_op, prepare_rows<Form::softmax>, prepare_forward_columns<Form::softmax>);
  add(defs::log_softmax_op, prepare_rows<Form::log_softmax>,
      prepare_forward_columns<Form::log_softmax>);
  add(defs::logsumexp_op, prepare_rows<Form::logsumexp>, prepare_forward_columns<Form::logsumexp>);
  add(defs::softmax_backward_op, prepare_backward_rows<false>, prepare_backward_columns<false>);
  add(defs::log_softmax_backward_op, prepare_backward_rows<true>, prepare_backward_columns<true>);
}

}  // namespace hearth::gpu
