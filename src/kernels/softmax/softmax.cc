// softmax, log_softmax, logsumexp and their gradients: kernels/softmax/softmax.metal along the last
// axis, kernels/softmax/columns.metal along another one.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/row_split.h"
#include "kernels/softmax/softmax.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/softmax/params.h"

namespace {

enum class SoftmaxForm { softmax, log_softmax, logsumexp };

// Threads of a row: more have too few registers for what they hold.
constexpr std::int64_t kMaxSoftmaxLanes = 512;
constexpr std::int64_t kSoftmaxColumns = kSimdWidth;

// Threads of each of `groups` threadgroups: more where these would leave the device half idle, if
// each has some elements.
std::uint32_t column_threads(const runtime::DeviceTraits& device, std::int64_t groups,
                             std::int64_t length) {
  constexpr std::int64_t kMinElements = 4;
  const std::int64_t threads =
      std::min(resident_threads(device) / 2 / groups, length / kMinElements * kSoftmaxColumns);
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(floor_power_of_two(threads), kThreads, device.max_threads));
}

bool along_rows(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  return axis_of(signature) == shape.rank() - 1 && fits_rows(shape);
}

RowSplit softmax_split(const TensorSpec& x) {
  return split_kept_rows(row_count(x.shape), x.shape.back(), x.dtype, kMaxSoftmaxLanes);
}

bool along_whole_rows(const Signature& signature) {
  return along_rows(signature) && softmax_split(signature.inputs[0]).whole;
}

// kWhole: threads hold their row, which is read once. Else it may be of any length.
template <SoftmaxForm form, bool kWhole>
Prepared prepare_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(x.shape, {&x});
  const RowSplit split = softmax_split(x);
  const char* const type = dialect_type(x.dtype);
  const std::string held = std::to_string(split.held);
  const bool sums = form == SoftmaxForm::logsumexp;
  std::vector<std::string> arguments = {dtype_struct(x.dtype), held, axes.rank()};
  if (!sums) arguments.insert(arguments.begin() + 1, truth(form == SoftmaxForm::log_softmax));
  const StridedOperand from = strided_operand(x, 0);
  plan->add_step(KernelCall("softmax/softmax.metal",
                            sums     ? "logsumexp_rows"
                            : kWhole ? "softmax_rows"
                                     : "softmax_long_rows",
                            arguments)
                     .read(type, "x", from.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(SoftmaxParams<kRuntimeRank>{
                         .split = split.params(), .x = {from.base, &axes.shape, &axes.strides[0]}})
                     .threadgroup(sum_type(x.dtype), "shared", 64)
                     .step(*plan, split.groups, split.threads, kMaxSoftmaxLanes));
  return prepared_steps(std::move(plan));
}

template <bool kLog, bool kWhole>
Prepared prepare_backward_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& g = signature.inputs[0];
  const TensorSpec& y = signature.inputs[1];
  if (element_count(y.shape) == 0) return prepared_steps(std::move(plan));
  const RowAxes axes(y.shape, {&g, &y});
  const RowSplit split = softmax_split(y);
  const char* const type = dialect_type(y.dtype);
  const StridedOperand grads = strided_operand(g, 0), results = strided_operand(y, 1);
  plan->add_step(KernelCall("softmax/softmax.metal", "softmax_backward_rows",
                            {dtype_struct(y.dtype), truth(kLog), truth(kWhole),
                             std::to_string(split.held), axes.rank()})
                     .read(type, "g", grads.argument)
                     .read(type, "y", results.argument)
                     .write(type, "dx", output_argument(signature))
                     .constants(SoftmaxBackwardParams<kRuntimeRank>{
                         .split = split.params(),
                         .g = {grads.base, &axes.shape, &axes.strides[0]},
                         .y = {results.base, &axes.shape, &axes.strides[1]}})
                     .threadgroup(sum_type(y.dtype), "shared", 32)
                     .step(*plan, split.groups, split.threads, kMaxSoftmaxLanes));
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

  const std::int64_t columns = element_count(shape);
  const std::int64_t groups = ceil_div(columns, kSoftmaxColumns);
  const StridedOperand from = strided_operand(x, inputs - 1), grads = strided_operand(g, 0);
  const char* const sum = sum_type(x.dtype);
  KernelCall call("softmax/columns.metal", function, {dtype_struct(x.dtype), form, rank});
  if (inputs == 2) call.read(type, "g", grads.argument);
  call.read(type, "x", from.argument)
      .write(type, inputs == 2 ? "dx" : "y", output_argument(signature))
      .constants(ColumnParams<kRuntimeRank>{.columns = columns,
                                            .length = x.shape[axis],
                                            .inner = inner,
                                            .x_step = x.strides[axis],
                                            .g_step = g.strides[axis],
                                            .x = {from.base, &shape, &x_strides},
                                            .g = {grads.base, &shape, &g_strides}});
  const runtime::DeviceTraits& device = *signature.device;
  if (inputs == 1) call.threadgroup(sum, "tops", device.max_threads);
  call.threadgroup(sum, "sums", device.max_threads);
  plan->add_step(call.step(*plan, {static_cast<std::uint32_t>(groups)},
                           {column_threads(device, groups, x.shape[axis])}, device.max_threads));
  return prepared_steps(std::move(plan));
}

template <SoftmaxForm form>
Prepared prepare_forward_columns(const Signature& signature) {
  return prepare_columns(signature, "softmax_columns", std::to_string(static_cast<int>(form)));
}
template <bool kLog>
Prepared prepare_backward_columns(const Signature& signature) {
  return prepare_columns(signature, "softmax_backward_columns", truth(kLog));
}

using Prepare = Prepared (*)(const Signature&);

constexpr Implementation along_last(const char* name, const OpDef& op,
                                    bool (*accepts)(const Signature&), Prepare prepare) {
  return {.name = name,
          .op = &op,
          .accepts = accepts,
          .layout = LayoutNeed::last_axis_dense,
          .prepare = prepare,
          .launch = launch_steps};
}
constexpr Implementation rows(const OpDef& op, Prepare prepare) {
  return along_last("rows", op, along_whole_rows, prepare);
}
constexpr Implementation long_rows(const OpDef& op, Prepare prepare) {
  return along_last("long_rows", op, along_rows, prepare);
}
constexpr Implementation columns(const OpDef& op, Prepare prepare) {
  return {.name = "columns", .op = &op, .prepare = prepare, .launch = launch_steps};
}

constexpr Implementation kSoftmaxFamily[] = {
    rows(defs::softmax_op, prepare_rows<SoftmaxForm::softmax, true>),
    long_rows(defs::softmax_op, prepare_rows<SoftmaxForm::softmax, false>),
    columns(defs::softmax_op, prepare_forward_columns<SoftmaxForm::softmax>),
    rows(defs::log_softmax_op, prepare_rows<SoftmaxForm::log_softmax, true>),
    long_rows(defs::log_softmax_op, prepare_rows<SoftmaxForm::log_softmax, false>),
    columns(defs::log_softmax_op, prepare_forward_columns<SoftmaxForm::log_softmax>),
    // Rows of any length are read once.
    along_last("rows", defs::logsumexp_op, along_rows, prepare_rows<SoftmaxForm::logsumexp, false>),
    columns(defs::logsumexp_op, prepare_forward_columns<SoftmaxForm::logsumexp>),
    rows(defs::softmax_backward_op, prepare_backward_rows<false, true>),
    long_rows(defs::softmax_backward_op, prepare_backward_rows<false, false>),
    columns(defs::softmax_backward_op, prepare_backward_columns<false>),
    rows(defs::log_softmax_backward_op, prepare_backward_rows<true, true>),
    long_rows(defs::log_softmax_backward_op, prepare_backward_rows<true, false>),
    columns(defs::log_softmax_backward_op, prepare_backward_columns<true>),
    {.name = "rows",
     .op = &defs::causal_softmax_op,
     .accepts = accepts_causal_rows,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_causal_rows,
     .launch = launch_steps},
    {.name = "rows",
     .op = &defs::cross_entropy_op,
     .accepts = accepts_cross_entropy,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_cross_entropy,
     .launch = launch_steps},
    {.name = "rows",
     .op = &defs::cross_entropy_backward_op,
     .accepts = accepts_cross_entropy_backward,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_cross_entropy_backward,
     .launch = launch_steps,
     .writes_padded = true},
};

}  // namespace

Family softmax_family() { return kSoftmaxFamily; }

}  // namespace hearth::gpu
