// record(): the one way into the graph. Checks, infers, appends to the tape, keeps what a gradient
// needs.
#include <array>

#include "graph/kernel.h"
#include "graph/op_def.h"
#include "graph/record/grad_record.h"
#include "graph/record/node.h"
#include "graph/record/tape.h"
#include "graph/switches.h"

namespace hearth {
namespace {

bool is_given(const Array* input) { return input != nullptr && input->defined(); }

DeviceImpl& device_of(const OpDef& op, std::span<const Array* const> inputs, const Device* asked) {
  DeviceImpl* device = asked != nullptr ? &asked->impl() : nullptr;
  for (const Array* input : inputs) {
    if (!is_given(input)) continue;
    DeviceImpl* own = input->node()->device;
    if (own == nullptr || own == device) continue;
    if (device != nullptr) {
      throw Error(ErrorCode::device, std::string(op.name.text) +
                                         ": inputs on different devices; got " +
                                         Device(device).name() + " and " + Device(own).name() +
                                         ", expected one: use to_device");
    }
    device = own;
  }
  return device != nullptr ? *device : Device().impl();
}

void check_count(const OpDef& op, std::span<const Array* const> inputs) {
  const auto count = static_cast<int>(inputs.size());
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs)) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op.name.text) + ": wrong number of inputs; got " +
                    std::to_string(count) + ", expected " + std::to_string(op.min_inputs) +
                    (op.max_inputs < 0 ? " or more" : " to " + std::to_string(op.max_inputs)));
  }
  for (int i = 0; i < op.min_inputs; ++i) {
    if (!is_given(inputs[static_cast<std::size_t>(i)])) {
      throw Error(ErrorCode::invalid_argument, std::string(op.name.text) + ": input " +
                                                   std::to_string(i) +
                                                   " has no value; got an undefined Array");
    }
  }
}

bool has_kernel(const DeviceImpl& device, const Inference& inference) {
  if (switches().composites || !device.kernels().has(&inference.op)) return false;
  thread_local Signature signature;  // keeps its room: this runs for every composite op
  signature.op = &inference.op;
  signature.statics = inference.params.statics().span();
  signature.inputs.clear();
  signature.output.dtype = inference.dtype;
  signature.output.shape = inference.shape;
  signature.output.strides = contiguous_strides(inference.shape);
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    TensorSpec spec;
    spec.absent = !inference.has(static_cast<int>(i));
    if (!spec.absent) {
      spec.dtype = inference.inputs[i]->dtype();
      spec.shape = inference.inputs[i]->shape();
      spec.strides = contiguous_strides(spec.shape);
    }
    signature.inputs.push_back(std::move(spec));
  }
  return device.kernels().find(signature) != nullptr;
}

GradRecord* track(const Inference& inference, DeviceImpl& device, Node* output) {
  const OpDef& op = inference.op;
  GradRecord* const record = new_grad_record();
  record->op = &op;
  record->params = inference.params;
  const std::size_t count = inference.inputs.size();
  record->inputs.resize(count);
  std::uint32_t needs = 0;
  for (std::size_t i = 0; i < count && i < 32; ++i) {
    const Array* input = inference.inputs[i];
    if (is_given(input) && input->grad() != nullptr) needs |= 1u << i;
  }
  const Saves wanted = op.saves_for != nullptr ? op.saves_for(needs) : op.saves;
  for (std::size_t i = 0; i < count; ++i) {
    if (!inference.has(static_cast<int>(i))) continue;
    const Array& input = *inference.inputs[i];
    GradInput& kept = record->inputs[i];
    kept.is_given = true;
    kept.shape = input.shape();
    kept.dtype = is_scalar(*input.node()) ? inference.scalar_dtype : input.dtype();
    if (input.grad() != nullptr) {
      retain(input.grad());
      kept.parent = input.grad();
    }
    const auto bit = static_cast<Saves>(1u << (i < 15 ? i : 15));
    const bool saves = op.vjp == nullptr || has(wanted, bit);
    if (saves) {
      retain_handle(input.node());
      kept.saved = Array(input.node(), nullptr);
    }
  }
  if (has(wanted, Saves::output)) {
    retain_handle(output);
    record->output = Array(output, nullptr);
  }
  record->output_shape = inference.shape;
  record->output_dtype = inference.dtype;
  record->device = &device;
  return record;
}

// A scalar as an array of rank 0, for ops whose kernels read memory.
constinit const OpDef as_array_op = {
    .name = "as_array",
    .summary = "A scalar as an array of rank 0.",
    .kind = OpKind::view,
    .params = {},
    .infer =
        [](Inference& inference) {
          inference.shape = Shape();
          inference.dtype = inference.params.statics().size() > 0
                                ? ParamReader(inference.params.statics().span()).dtype()
                                : inference.input(0).dtype();
          inference.scalar_dtype = inference.dtype;
        },
    .differentiable = false,
};

// While what stands for a tracked op is recorded.
class Untracked {
 public:
  Untracked() : before_(set_grad_enabled(false)) {}
  ~Untracked() { set_grad_enabled(before_); }
  Untracked(const Untracked&) = delete;
  Untracked& operator=(const Untracked&) = delete;

 private:
  bool before_;
};

}  // namespace

bool has_kernel(const OpDef& op, const Composite& arguments) {
  Inference inference{op, arguments.inputs, arguments.params, Shape(), DType::f32, DType::f32};
  op.infer(inference);
  return has_kernel(arguments.device.impl(), inference);
}

Array record(const OpDef& op, std::span<const Array* const> inputs, const Params& params,
             const Device* asked) {
  check_count(op, inputs);
  DeviceImpl& device = device_of(op, inputs, asked);
  Inference inference{op, inputs, params, Shape(), DType::f32, DType::f32};
  op.infer(inference);

  bool tracked = false;
  Tape& tape = Tape::of(device);
  for (const Array* input : inputs) {
    if (!is_given(input)) continue;
    tracked |= input->grad() != nullptr;
    const Node& node = *input->node();
    NodeState state = node.state.load(std::memory_order_acquire);
    if (state == NodeState::pending && node.tape != &tape) {  // of another thread
      node.tape->submit();
      state = node.state.load(std::memory_order_acquire);
    }
    if (state == NodeState::failed) {
      return make_failed(device, inference.dtype, inference.shape, node.failure);
    }
  }
  tracked = tracked && grad_enabled() && op.differentiable && is_float(inference.dtype);

  if (tracked && op.record_tracked != nullptr) {
    Array rest;
    const Array result = [&] {
      const Untracked untracked;
      return op.record_tracked(Composite{inputs, params, Device(&device)}, &rest);
    }();
    if (result.defined()) {
      GradRecord* record = track(inference, device, result.node());
      record->rest = std::move(rest);
      retain_handle(result.node());
      return Array(result.node(), record);
    }
  }

  if (op.composite != nullptr && !has_kernel(device, inference)) {
    const Array result = [&] {
      const Untracked untracked;
      return op.composite(Composite{inputs, params, Device(&device)});
    }();
    if (!tracked) return result;
    GradRecord* record = track(inference, device, result.node());
    retain_handle(result.node());
    return Array(result.node(), record);
  }

  // Kernels read memory only: scalars become arrays of rank 0.
  const bool takes_scalars = op.kind == OpKind::elementwise || op.kind == OpKind::view;
  if (!takes_scalars) {
    bool any = false;
    for (const Array* input : inputs) any |= is_given(input) && is_scalar(*input->node());
    if (any) {
      std::vector<Array> arrays(inputs.size());
      std::vector<const Array*> pointers(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        pointers[i] = inputs[i];
        if (!is_given(inputs[i]) || !is_scalar(*inputs[i]->node())) continue;
        const DType dtype = inputs[i]->node()->weak ? inference.scalar_dtype : inputs[i]->dtype();
        const Device on(&device);
        arrays[i] = record(as_array_op, {&inputs[i], 1}, Params().dtype(dtype), &on);
        pointers[i] = &arrays[i];
      }
      return record(op, pointers, params, asked);
    }
  }

  Node* node =
      tape.append(op, inputs, params, inference.shape, inference.dtype, inference.scalar_dtype);
  Array result(node, nullptr);
  if (!tracked) return result;
  GradRecord* record = track(inference, device, node);
  retain_handle(node);
  return Array(node, record);
}

Array track_made(const OpDef& op, const Array& input, const Params& params, Array made) {
  if (input.grad() == nullptr || !grad_enabled() || !is_float(made.dtype())) return made;
  const Array* const inputs[] = {&input};
  const Inference inference{op, inputs, params, made.shape(), made.dtype(), made.dtype()};
  Node* const node = made.node();
  retain_handle(node);
  return Array(node, track(inference, *node->device, node));
}

}  // namespace hearth
