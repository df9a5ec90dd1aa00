#include "hearth/custom_op.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "graph/outputs.h"
#include "graph/record/grad_record.h"
#include "graph/record/node.h"
#include "hearth/ops.h"
#include "kernels/launch/step_plan.h"
#include "kernels/user/user_op.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

using gpu::user;
using gpu::UserOp;

std::vector<Array> given_inputs(const Inference& inference) {
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    inputs.push_back(inference.has(static_cast<int>(i)) ? *inference.inputs[i] : Array());
  }
  return inputs;
}

std::vector<TensorType> result_types(const UserOp& op, std::span<const Array> inputs) {
  const CustomOpSpec& spec = op.spec;
  if (spec.infer != nullptr) return {spec.infer(inputs)};
  if (spec.infer_outputs == nullptr) {
    // Numbers become arrays of rank 0 before a kernel reads them.
    const auto first_of = [&](auto is_wanted) {
      const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const Array& input) {
        return input.defined() && is_wanted(input);
      });
      return at == inputs.end() ? nullptr : &*at;
    };
    const Array* like = first_of([](const Array& input) { return input.rank() > 0; });
    if (like == nullptr) like = first_of([](const Array& input) { return !input.is_scalar(); });
    if (like == nullptr) like = &inputs[0];
    return std::vector<TensorType>(static_cast<std::size_t>(spec.outputs),
                                   TensorType{like->dtype(), like->shape()});
  }
  std::vector<TensorType> types = spec.infer_outputs(inputs);
  if (types.size() != static_cast<std::size_t>(spec.outputs)) {
    throw Error(ErrorCode::invalid_argument,
                spec.name + ": infer_outputs gives the type of each result; got " +
                    std::to_string(types.size()) + ", expected " + std::to_string(spec.outputs));
  }
  return types;
}

DeviceImpl& device_of(std::span<const Array> inputs) {
  for (const Array& input : inputs) {
    if (input.defined() && node_of(input)->device != nullptr) return *node_of(input)->device;
  }
  return Device().impl();
}

// Where nothing could run the op, and where its kernel is wrong, the caller's line says so. A part
// of infer(): record() asks an op nothing more before its node is on the tape, and what is there
// has to run.
void check_runs(const UserOp& op, std::span<const Array> inputs,
                const std::vector<TensorType>& results) {
  DeviceImpl& device = device_of(inputs);
  const bool runs_kernels = device.driver() != nullptr;
  if (runs_kernels ? !op.kernels.is_defined() : op.host_implementation == nullptr) {
    throw Error(ErrorCode::unsupported,
                op.spec.name + (runs_kernels ? ": no kernel" : ": no host function") +
                    "; got a call on " + Device(&device).name() + ", expected CustomOpSpec::" +
                    (runs_kernels ? "kernel, or inputs on the CPU"
                                  : "compute, or inputs on a GPU, which runs the kernel"));
  }
  if (!runs_kernels) return;
  gpu::OperandTypes types{{}, {}, results};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const Node& node = *node_of(inputs[i]);
    const bool is_weak = is_scalar(node) && node.weak;
    types.inputs.push_back(
        {is_weak ? results.front().dtype : inputs[i].dtype(), inputs[i].shape()});
    types.numbers.push_back(static_cast<int>(i));
  }
  op.kernels.compile(types, device);
}

void infer_user_op(Inference& inference) {
  const UserOp& op = user(inference.op);
  const std::vector<Array> inputs = given_inputs(inference);
  const std::vector<TensorType> types = result_types(op, inputs);
  for (const TensorType& type : types) {
    check_shape(op.spec.name.c_str(), type.shape);
    if (static_cast<int>(type.dtype) < kDTypeCount) continue;
    throw Error(ErrorCode::dtype, op.spec.name + ": infer gives no dtype; got number " +
                                      std::to_string(static_cast<int>(type.dtype)) +
                                      ", expected one of DType");
  }
  inference.shape = types.front().shape;
  inference.dtype = types.front().dtype;
  inference.scalar_dtype = types.front().dtype;
  for (std::size_t i = 1; i < types.size(); ++i) {
    inference.more_outputs[i - 1] = {types[i].shape, types[i].dtype};
  }
  check_runs(op, inputs, types);
}

// Calls the user's function; what it throws becomes an Error that names the op.
template <class Compute>
void call_as(const std::string& op, Compute&& compute) try {
  compute();
} catch (const Error& error) {
  if (std::string_view(error.what()).starts_with(op + ":")) throw;
  throw Error(error.code(), op + ": " + error.what());
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::out_of_memory,
              op + ": compute failed; got an allocation that the host has no memory for");
} catch (const std::exception& error) {
  throw Error(ErrorCode::internal, op + ": compute failed; got " + error.what());
} catch (...) {
  throw Error(ErrorCode::internal,
              op + ": compute failed; got what is no std::exception, expected an Error");
}

void launch_user_op(const Launch& launch) {
  const Signature& signature = *launch.signature;
  const CustomOpSpec& spec = user(*signature.op).spec;
  std::vector<HostTensor> inputs, outputs;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& type = signature.inputs[i];
    inputs.push_back(type.absent ? HostTensor()
                                 : HostTensor{launch.input(static_cast<int>(i)), type.dtype,
                                              type.shape, type.strides});
  }
  for (int i = 0; i < signature.output_count(); ++i) {
    const TensorSpec& type = signature.output_at(i);
    outputs.push_back({launch.output(i), type.dtype, type.shape, type.strides});
  }
  call_as(spec.name, [&] {
    if (spec.compute != nullptr) return spec.compute(inputs, outputs.front());
    spec.compute_outputs(inputs, outputs);
  });
}

Grads no_vjp(const Vjp& v) {
  throw Error(ErrorCode::unsupported,
              "backward: " + std::string(v.record.op->name.text) +
                  " has no gradient; got an op of a CustomOpSpec without vjp between the loss and "
                  "an array of require_grad(), expected a vjp, is_constant, or detach() of the "
                  "op's result or inputs");
}

// Calls the rule of an op of several results.
Grads all_gradients(const UserOp& op, const Vjp& v, std::span<const Array> inputs) {
  std::vector<Array> outputs, grads;
  for (int i = 0; i < op.outputs; ++i) {
    outputs.push_back(v.output(i));
    const Array& grad = v.output_grad(i);
    grads.push_back(grad.defined() || !is_float(outputs.back().dtype())
                        ? grad
                        : zeros_like(outputs.back().detach()));
  }
  return op.spec.vjp_outputs(inputs, outputs, grads);
}

Grads user_vjp(const Vjp& v) {
  const UserOp& op = user(*v.record.op);
  std::vector<Array> inputs;
  for (int i = 0; i < v.input_count(); ++i) inputs.push_back(v.has(i) ? v.input(i) : Array());
  const std::string& name = op.spec.name;
  Grads gradients =
      op.spec.vjp != nullptr ? op.spec.vjp(inputs, v.out, v.grad) : all_gradients(op, v, inputs);
  if (gradients.size() != inputs.size()) {
    throw Error(ErrorCode::invalid_argument,
                name + ": wrong number of gradients; got " + std::to_string(gradients.size()) +
                    ", expected " + std::to_string(inputs.size()) + ", one for each input");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!gradients[i].defined() || !inputs[i].defined()) continue;
    const bool is_there = gradients[i].is_scalar() || inputs[i].is_scalar() ||
                          gradients[i].device() == inputs[i].device();
    if (is_there && gradients[i].shape() == inputs[i].shape() &&
        gradients[i].dtype() == inputs[i].dtype()) {
      continue;
    }
    const auto text = [&](const Array& array) {
      return std::string(hearth::name(array.dtype())) + " " + to_string(array.shape()) +
             (is_there ? "" : " on " + array.device().name());
    };
    throw Error(ErrorCode::invalid_argument,
                name + ": gradient " + std::to_string(i) + " does not fit its input; got " +
                    text(gradients[i]) + ", expected " + text(inputs[i]));
  }
  return gradients;
}

// All inputs, and as many results as the op has.
Saves saves_of(const CustomOpSpec& spec) {
  if (spec.vjp == nullptr && spec.vjp_outputs == nullptr) return Saves::none;
  const std::uint32_t outputs = (1u << spec.outputs) - 1;
  return Saves::all_inputs |
         static_cast<Saves>(outputs * static_cast<std::uint32_t>(Saves::output));
}

void check(const CustomOpSpec& spec) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument,
                "custom_op: " + (spec.name.empty() ? "" : spec.name + ": ") + what);
  };
  const bool has_compute = spec.compute != nullptr || spec.compute_outputs != nullptr;
  const bool has_vjp = spec.vjp != nullptr || spec.vjp_outputs != nullptr;
  if (spec.name.empty()) fail("incomplete; expected a name");
  if (!has_compute && spec.kernel.empty() && spec.kernels.empty()) {
    fail("incomplete; expected compute, kernel or both");
  }
  if (spec.outputs < 1 || spec.outputs > kMaxOutputs) {
    fail("outputs; got " + std::to_string(spec.outputs) + ", expected 1 to " +
         std::to_string(kMaxOutputs));
  }
  const auto check_forms = [&](const char* one, bool has_one, const char* all, bool has_all) {
    if (has_one && has_all) {
      fail("two forms of a function; got " + std::string(one) + " and " + all +
           ", expected one of them");
    }
    if (has_one && spec.outputs > 1) {
      fail("a function of one result; got " + std::string(one) + " for " +
           std::to_string(spec.outputs) + " results, expected " + all);
    }
  };
  check_forms("infer", spec.infer != nullptr, "infer_outputs", spec.infer_outputs != nullptr);
  check_forms("compute", spec.compute != nullptr, "compute_outputs",
              spec.compute_outputs != nullptr);
  check_forms("vjp", spec.vjp != nullptr, "vjp_outputs", spec.vjp_outputs != nullptr);
  if (spec.is_constant && has_vjp) {
    fail("a constant has no gradient; got is_constant and a vjp, expected one of them");
  }
  if (spec.min_inputs < 0) {
    fail("min_inputs; got " + std::to_string(spec.min_inputs) + ", expected 0 or more");
  }
  if (spec.min_inputs < 1 && spec.infer == nullptr && spec.infer_outputs == nullptr) {
    fail("no type of the results; got min_inputs " + std::to_string(spec.min_inputs) +
         ", expected infer, or an input that the results are like");
  }
  if (spec.max_inputs < spec.min_inputs) {
    fail("max_inputs; got " + std::to_string(spec.max_inputs) + ", expected min_inputs, " +
         std::to_string(spec.min_inputs) + ", at least");
  }
}

}  // namespace

inline namespace v0 {

void HostTensor::refuse_type(DType asked) const {
  throw Error(ErrorCode::dtype, "at: T does not store the tensor's dtype; got a tensor of " +
                                    std::string(hearth::name(dtype)) + ", expected " +
                                    std::string(hearth::name(asked)) + ", as T");
}

void HostTensor::refuse_element(std::span<const std::int64_t> indices) const {
  throw Error(
      ErrorCode::invalid_argument,
      "at: no such element; got " +
          (indices.size() == 1 ? std::to_string(indices[0]) : to_string(Dims(indices))) +
          (data == nullptr ? " of an input that the call leaves out, expected one that is given"
                           : ", expected one of shape " + to_string(shape)));
}

CustomOp::CustomOp(const CustomOpSpec& spec) : op_(nullptr) {
  check(spec);
  const bool has_vjp = spec.vjp != nullptr || spec.vjp_outputs != nullptr;
  auto op = std::make_unique<UserOp>(OpDef{.name = OpName("", OpName::Runtime{}),
                                           .min_inputs = spec.min_inputs,
                                           .max_inputs = spec.max_inputs,
                                           .outputs = spec.outputs,
                                           .infer = infer_user_op,
                                           .vjp = has_vjp ? user_vjp : no_vjp,
                                           .saves = saves_of(spec),
                                           .differentiable = !spec.is_constant},
                                     spec);
  if (spec.compute != nullptr || spec.compute_outputs != nullptr) {
    op->host = {.name = "host", .op = op.get(), .launch = launch_user_op};
    op->host_implementation = &op->host;
  }
  if (op->kernels.is_defined()) {
    op->device = {.name = "kernel",
                  .op = op.get(),
                  .layout = LayoutNeed::dense,
                  .prepare = gpu::prepare_user_kernel,
                  .launch = gpu::launch_steps};
    op->device_implementation = &op->device;
  }
  register_op(op.get());
  op_ = op.release();
}

Array CustomOp::operator()(std::span<const Array> inputs) const {
  std::vector<const Array*> pointers;
  for (const Array& input : inputs) pointers.push_back(&input);
  return record(*static_cast<const UserOp*>(op_), pointers, Params());
}

std::vector<Array> CustomOp::outputs(std::span<const Array> inputs) const {
  std::vector<const Array*> pointers;
  for (const Array& input : inputs) pointers.push_back(&input);
  return record_outputs(*static_cast<const UserOp*>(op_), pointers, Params());
}

}  // namespace v0
}  // namespace hearth
