#include "hearth/custom_op.h"

#include "graph/implementation.h"
#include "graph/record/grad_record.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

// A user's op is an OpDef that carries its spec; the functions of OpDef find it there.
struct UserOp : OpDef {
  CustomOpSpec spec;
};

const UserOp& user(const OpDef& op) { return static_cast<const UserOp&>(op); }

void infer_user_op(Inference& inference) {
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    inputs.push_back(inference.has(static_cast<int>(i)) ? *inference.inputs[i] : Array());
  }
  const TensorType type = user(inference.op).spec.infer(inputs);
  check_shape(inference.op.name.text, type.shape);
  inference.shape = type.shape;
  inference.dtype = type.dtype;
  inference.scalar_dtype = type.dtype;
}

void launch_user_op(const Launch& launch) {
  const Signature& signature = *launch.signature;
  std::vector<HostTensor> inputs;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    inputs.push_back({launch.input(static_cast<int>(i)), spec.dtype, spec.shape, spec.strides});
  }
  const TensorSpec& out = signature.output;
  user(*signature.op).spec.compute(inputs, {launch.output(), out.dtype, out.shape, out.strides});
}

Grads no_vjp(const Vjp& v) {
  throw Error(ErrorCode::unsupported,
              "backward: " + std::string(v.record.op->name.text) +
                  " has no gradient; got an op of a CustomOpSpec without vjp between the loss and "
                  "an array of require_grad(), expected a vjp, is_constant, or detach() of the "
                  "op's result or inputs");
}

Grads user_vjp(const Vjp& v) {
  std::vector<Array> inputs;
  for (int i = 0; i < v.input_count(); ++i) inputs.push_back(v.has(i) ? v.input(i) : Array());
  const std::string name = v.record.op->name.text;
  Grads gradients = user(*v.record.op).spec.vjp(inputs, v.out, v.grad);
  if (gradients.size() != inputs.size()) {
    throw Error(ErrorCode::invalid_argument,
                name + ": wrong number of gradients; got " + std::to_string(gradients.size()) +
                    ", expected " + std::to_string(inputs.size()) + ", one for each input");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!gradients[i].defined() || !inputs[i].defined()) continue;
    if (gradients[i].shape() == inputs[i].shape() && gradients[i].dtype() == inputs[i].dtype()) {
      continue;
    }
    const auto text = [](const Array& array) {
      return std::string(hearth::name(array.dtype())) + " " + to_string(array.shape());
    };
    throw Error(ErrorCode::invalid_argument,
                name + ": gradient " + std::to_string(i) + " does not fit its input; got " +
                    text(gradients[i]) + ", expected " + text(inputs[i]));
  }
  return gradients;
}

}  // namespace

inline namespace v0 {

CustomOp::CustomOp(const CustomOpSpec& spec) : op_(nullptr) {
  if (spec.name == nullptr || spec.infer == nullptr || spec.compute == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "custom_op: incomplete; expected a name, infer and compute");
  }
  if (spec.is_constant && spec.vjp != nullptr) {
    throw Error(
        ErrorCode::invalid_argument,
        std::string("custom_op: ") + spec.name +
            ": a constant has no gradient; got is_constant and a vjp, expected one of them");
  }
  if (spec.max_inputs < spec.min_inputs) {
    throw Error(ErrorCode::invalid_argument,
                std::string("custom_op: ") + spec.name + ": max_inputs; got " +
                    std::to_string(spec.max_inputs) + ", expected min_inputs, " +
                    std::to_string(spec.min_inputs) + ", at least");
  }
  const OpName op_name(spec.name, OpName::Runtime{});
  auto* op =
      new UserOp{{.name = op_name,
                  .summary = spec.summary,
                  .min_inputs = spec.min_inputs,
                  .max_inputs = spec.max_inputs,
                  .infer = infer_user_op,
                  .vjp = spec.vjp != nullptr ? user_vjp : no_vjp,
                  .saves = spec.vjp != nullptr ? Saves::all_inputs | Saves::output : Saves::none,
                  .differentiable = !spec.is_constant},
                 spec};
  op->host_implementation = new Implementation{.name = "host", .op = op, .launch = launch_user_op};
  try {
    register_op(op);
  } catch (...) {
    delete op->host_implementation;
    delete op;
    throw;
  }
  op_ = op;
}

Array CustomOp::operator()(std::span<const Array> inputs) const {
  std::vector<const Array*> pointers;
  for (const Array& input : inputs) pointers.push_back(&input);
  return record(*static_cast<const UserOp*>(op_), pointers, Params());
}

}  // namespace v0
}  // namespace hearth
