// record(): the one way into the graph. Checks, infers, appends to the tape, keeps what a gradient
// needs.
#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "core/thread_owned.h"
#include "core/throw_as.h"
#include "graph/op_def.h"
#include "graph/outputs.h"
#include "graph/record/grad_record.h"
#include "graph/record/node.h"
#include "graph/record/packed.h"
#include "graph/record/tape.h"
#include "graph/selector.h"
#include "graph/switches.h"

namespace hearth {
namespace {

bool is_given(const Array* input) { return input != nullptr && input->defined(); }

// What every op passes through is a part of record(), however many callers it has.
[[gnu::always_inline]] inline DeviceImpl& device_of(const OpDef& op,
                                                    std::span<const Array* const> inputs,
                                                    const Device* asked) {
  DeviceImpl* device = asked != nullptr ? &asked->impl() : nullptr;
  for (const Array* input : inputs) {
    if (!is_given(input)) continue;
    DeviceImpl* own = node_of(*input)->device;
    if (is_packed(node_of(*input)->dtype)) check_packed_inputs(op, inputs);
    if (own == nullptr || own == device) continue;
    if (device != nullptr) {
      throw Error(ErrorCode::device, std::string(op.name.text) + kDifferentDevices + "; got " +
                                         Device(device).name() + " and " + Device(own).name() +
                                         ", expected one: use to_device");
    }
    device = own;
  }
  return device != nullptr ? *device : Device().impl();
}

[[gnu::always_inline]] inline void check_count(const OpDef& op,
                                               std::span<const Array* const> inputs) {
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

[[noreturn, gnu::noinline, gnu::cold]] void fail_too_large(const Inference& inference) {
  std::string shapes;
  for (const Array* input : inference.inputs) {
    if (is_given(input)) shapes += to_string(input->shape()) + " ";
  }
  inference.fail(ErrorCode::shape, "result too large; got " +
                                       (shapes.empty() ? shapes : shapes + "for a result of ") +
                                       to_string(inference.shape) +
                                       ", expected a product of extents below 2^60");
}

[[gnu::noinline]] void check_product(const Inference& inference) {
  std::int64_t product = 8;
  for (const std::int64_t extent : inference.shape) {
    if (extent < 0 || (extent != 0 && __builtin_mul_overflow(product, extent, &product))) {
      fail_too_large(inference);
    }
  }
}

// Elements of what is recorded can be counted, whatever infer() made of its inputs.
[[gnu::always_inline]] inline void check_extents(const Inference& inference) {
  std::uint64_t bits = 0;
  for (const std::int64_t extent : inference.shape) bits |= static_cast<std::uint64_t>(extent);
  if (std::bit_width(bits) * inference.shape.rank() > 60) check_product(inference);
}

bool has_implementation(const DeviceImpl& device, const Inference& inference) {
  const Selector& selector = device.selector();
  if (switches().composites || !selector.has(&inference.op)) return false;
  // Keeps its capacity: this runs for every composite op.
  Signature& signature = ThreadOwned<Signature>::get();
  signature.op = &inference.op;
  signature.device = &selector.traits();
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
  signature.more_outputs.clear();
  for (const OutputType& type : inference.more_outputs) {
    signature.more_outputs.push_back({type.dtype, type.shape, contiguous_strides(type.shape)});
  }
  return selector.find(signature) != nullptr;
}

// What the op's rule will read, where it is called for the inputs that are tracked.
Saves wanted_saves(const Inference& inference) {
  const OpDef& op = inference.op;
  std::uint32_t needs = 0;
  for (std::size_t i = 0; i < inference.inputs.size() && i < 32; ++i) {
    const Array* input = inference.inputs[i];
    if (is_given(input) && grad_of(*input) != nullptr) needs |= 1u << i;
  }
  if (op.saves_for == nullptr) return op.saves;
  return op.saves_for(needs, ParamReader(inference.params.statics().span()));
}

GradRecord* track(const Inference& inference, DeviceImpl& device, Node* output) {
  const OpDef& op = inference.op;
  GradRecord* const record = new_grad_record();
  record->op = &op;
  record->params = inference.params;
  const std::size_t count = inference.inputs.size();
  record->inputs.resize(count);
  const Saves wanted = wanted_saves(inference);
  for (std::size_t i = 0; i < count; ++i) {
    if (!inference.has(static_cast<int>(i))) continue;
    const Array& input = *inference.inputs[i];
    GradInput& kept = record->inputs[i];
    kept.is_given = true;
    kept.shape = input.shape();
    kept.dtype = is_scalar(*node_of(input)) ? inference.scalar_dtype : input.dtype();
    if (grad_of(input) != nullptr) {
      retain(grad_of(input));
      kept.parent = grad_of(input);
    }
    const auto bit = static_cast<Saves>(1u << (i < 15 ? i : 15));
    const bool saves = op.vjp == nullptr || has(wanted, bit);
    if (saves) {
      retain_handle(node_of(input));
      kept.saved = array_of(node_of(input), nullptr);
    }
  }
  if (has(wanted, Saves::output)) {
    retain_handle(output);
    record->output = array_of(output, nullptr);
  }
  record->device = &device;
  return record;
}

// Storage for the types of the results after the first.
struct MoreTypes {
  OutputType types[kMaxOutputs - 1];
};
struct NoTypes {};

std::span<OutputType> more_types(const OpDef& op, MoreTypes& room) {
  return std::span(room.types).first(static_cast<std::size_t>(op.outputs - 1));
}

bool any_is_float(const Inference& inference) {
  return is_float(inference.dtype) ||
         std::any_of(inference.more_outputs.begin(), inference.more_outputs.end(),
                     [](const OutputType& type) { return is_float(type.dtype); });
}

// All results as results of one record: returns the first, and puts the others back into `more`.
Array track_outputs(const Inference& inference, DeviceImpl& device, const Array& first,
                    std::span<Array> more) {
  GradRecord* const record = track(inference, device, node_of(first));
  const Saves saves = wanted_saves(inference);
  for (std::size_t i = 0; i < more.size(); ++i) {
    const auto bit = static_cast<Saves>(static_cast<std::uint32_t>(Saves::output1) << i);
    Node* const kept = has(saves, bit) ? node_of(more[i]) : nullptr;
    if (kept != nullptr) retain_handle(kept);
    record->more_outputs.push_back(array_of(kept, nullptr));
  }
  for (std::size_t i = 0; i < more.size(); ++i) {
    more[i] = tracked_output(more[i], record, static_cast<int>(i) + 1);
  }
  const Array result = tracked_output(first, record, 0);
  release(record);
  return result;
}

// What the composite of an op of several results makes: as record_op() gives it.
Array expand_outputs(const OpDef& op, const Composite& arguments, std::span<Array> more) {
  std::vector<Array> results = op.composite_outputs(arguments);
  if (results.size() != more.size() + 1) {
    throw Error(ErrorCode::internal, std::string(op.name.text) + ": the composite gives " +
                                         std::to_string(results.size()) + " results, expected " +
                                         std::to_string(more.size() + 1));
  }
  std::move(results.begin() + 1, results.end(), more.begin());
  return std::move(results.front());
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

bool has_implementation(const OpDef& op, const Composite& arguments) {
  Inference inference{op, arguments.inputs, arguments.params, Shape(), DType::f32, DType::f32};
  MoreTypes room;
  inference.more_outputs = more_types(op, room);
  op.infer(inference);
  check_extents(inference);
  return has_implementation(arguments.device.impl(), inference);
}

namespace {

// The first result. With kSeveral the others go into `more`, one array each.
template <bool kSeveral>
[[gnu::always_inline]] inline Array record_op(const OpDef& op, std::span<const Array* const> inputs,
                                              const Params& params, const Device* asked,
                                              [[maybe_unused]] std::span<Array> more) {
  check_count(op, inputs);
  DeviceImpl& device = device_of(op, inputs, asked);
  Inference inference{op, inputs, params, Shape(), DType::f32, DType::f32};
  [[maybe_unused]] std::conditional_t<kSeveral, MoreTypes, NoTypes> room;
  if constexpr (kSeveral) inference.more_outputs = more_types(op, room);
  op.infer(inference);
  check_extents(inference);
  if (is_packed(inference.dtype)) check_packed_result(inference);

  bool tracked = false;
  Tape& tape = Tape::of(device);
  for (const Array* input : inputs) {
    if (!is_given(input)) continue;
    tracked |= grad_of(*input) != nullptr;
    const Node& node = *node_of(*input);
    NodeState state = node.state.load(std::memory_order_acquire);
    if (state == NodeState::pending && node.tape != &tape) {  // of another thread
      node.tape->submit(node);
      state = node.state.load(std::memory_order_acquire);
    }
    if (state == NodeState::failed) {
      if constexpr (kSeveral) {
        for (std::size_t i = 0; i < more.size(); ++i) {
          const OutputType& type = inference.more_outputs[i];
          more[i] = make_failed(device, type.dtype, type.shape, node.failure);
        }
      }
      return make_failed(device, inference.dtype, inference.shape, node.failure);
    }
  }
  tracked = tracked && grad_enabled() && op.differentiable &&
            (kSeveral ? any_is_float(inference) : is_float(inference.dtype));

  if (!kSeveral && tracked && op.tracked_as != nullptr &&
      has_implementation(*op.tracked_as, Composite{inputs, params, Device(&device)})) {
    return record(*op.tracked_as, inputs, params, asked);
  }

  const bool expands = kSeveral ? op.composite_outputs != nullptr : op.composite != nullptr;
  if (expands && !has_implementation(device, inference)) {
    const Array result = [&] {
      const Untracked untracked;
      const Composite arguments{inputs, params, Device(&device)};
      if constexpr (kSeveral) return expand_outputs(op, arguments, more);
      return op.composite(arguments);
    }();
    if (!tracked) return result;
    if constexpr (kSeveral) return track_outputs(inference, device, result, more);
    GradRecord* record = track(inference, device, node_of(result));
    retain_handle(node_of(result));
    return array_of(node_of(result), record);
  }

  // Kernels read memory only: scalars become arrays of rank 0.
  const bool takes_scalars = op.kind == OpKind::elementwise || op.kind == OpKind::view;
  if (!takes_scalars) {
    bool any = false;
    for (const Array* input : inputs) any |= is_given(input) && is_scalar(*node_of(*input));
    if (any) {
      std::vector<Array> arrays(inputs.size());
      std::vector<const Array*> pointers(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        pointers[i] = inputs[i];
        if (!is_given(inputs[i]) || !is_scalar(*node_of(*inputs[i]))) continue;
        const DType dtype = node_of(*inputs[i])->weak ? inference.scalar_dtype : inputs[i]->dtype();
        const Device on(&device);
        arrays[i] = record(as_array_op, {&inputs[i], 1}, Params().dtype(dtype), &on);
        pointers[i] = &arrays[i];
      }
      if constexpr (!kSeveral) return record(op, pointers, params, asked);
      std::vector<Array> all = record_outputs(op, pointers, params, asked);
      std::move(all.begin() + 1, all.end(), more.begin());
      return std::move(all.front());
    }
  }

  if constexpr (kSeveral) {
    Node* nodes[kMaxOutputs - 1];
    const Array first =
        array_of(tape.append_outputs(inference, std::span(nodes).first(more.size())), nullptr);
    for (std::size_t i = 0; i < more.size(); ++i) more[i] = array_of(nodes[i], nullptr);
    return tracked ? track_outputs(inference, device, first, more) : first;
  }
  Node* node =
      tape.append(op, inputs, params, inference.shape, inference.dtype, inference.scalar_dtype);
  Array result = array_of(node, nullptr);
  if (!tracked) return result;
  GradRecord* record = track(inference, device, node);
  retain_handle(node);
  return array_of(node, record);
}

}  // namespace

Array record(const OpDef& op, std::span<const Array* const> inputs, const Params& params,
             const Device* device) {
  if (op.outputs == 1) return record_op<false>(op, inputs, params, device, {});
  return std::move(record_outputs(op, inputs, params, device).front());
}

std::vector<Array> record_outputs(const OpDef& op, std::span<const Array* const> inputs,
                                  const Params& params, const Device* device) {
  std::vector<Array> results(static_cast<std::size_t>(op.outputs));
  const std::span<Array> more = std::span(results).subspan(1);
  results[0] = more.empty() ? record(op, inputs, params, device)
                            : record_op<true>(op, inputs, params, device, more);
  return results;
}

Array track_made(const OpDef& op, const Array& input, const Params& params, Array made) {
  if (grad_of(input) == nullptr || !grad_enabled() || !is_float(made.dtype())) return made;
  const Array* const inputs[] = {&input};
  const Inference inference{op, inputs, params, made.shape(), made.dtype(), made.dtype()};
  Node* const node = node_of(made);
  retain_handle(node);
  return array_of(node, track(inference, *node->device, node));
}

}  // namespace hearth
