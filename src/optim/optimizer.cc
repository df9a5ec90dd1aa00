#include <algorithm>
#include <utility>

#include "hearth/ops.h"
#include "hearth/optim.h"

namespace hearth {
inline namespace v0 {
namespace optim {

Optimizer::~Optimizer() = default;

void Optimizer::step(const std::vector<Parameter>& parameters, Gradients gradients,
                     double learning_rate) {
  const NoGrad no_grad;
  for (const Parameter& parameter : parameters) {
    const Array found = gradients.get(*parameter.array);
    if (found.defined() && !(found.shape() == parameter.array->shape())) {
      throw Error(ErrorCode::shape, "optimizer: gradient of " + parameter.name +
                                        " does not fit; got " + to_string(found.shape()) +
                                        ", expected " + to_string(parameter.array->shape()));
    }
  }
  ++steps_;
  for (const Parameter& parameter : parameters) {
    Array gradient = gradients.take(*parameter.array);
    if (!gradient.defined()) continue;
    const DType dtype = parameter.array->dtype();
    const DType compute = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
    if (gradient.is_require_grad()) gradient = gradient.detach();
    if (gradient.dtype() != compute) gradient = cast(gradient, compute);
    std::vector<Array>& slots = slots_[parameter.name];
    slots.resize(slot_names_.size());
    // The old value's last handle must be gone when the plan is submitted: nothing here outlives
    // the loop's body.
    Array value = parameter.array->detach();
    if (dtype != compute) value = cast(value, compute);
    Array updated = update({value, gradient, slots, learning_rate, steps_});
    if (dtype != compute) updated = cast(updated, dtype);
    parameter.array->assign(std::move(updated));
  }
  gradients = Gradients();
  submit();
}

NamedArrays Optimizer::state_dict() const {
  NamedArrays out;
  for (const auto& [parameter, arrays] : slots_) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].defined()) out.push_back({parameter + "." + slot_names_[i], arrays[i]});
    }
  }
  out.push_back({"steps", Array::from_data(std::vector<std::int64_t>{steps_}, {1})});
  return out;
}

void Optimizer::load_state_dict(const NamedArrays& state) {
  std::map<std::string, std::vector<Array>> slots;
  std::int64_t steps = -1;
  for (const NamedArray& named : state) {
    if (named.name == "steps") {
      steps = static_cast<std::int64_t>(named.array.item());
      continue;
    }
    const std::size_t dot = named.name.rfind('.');
    const std::string slot = dot == std::string::npos ? "" : named.name.substr(dot + 1);
    const auto known = std::find(slot_names_.begin(), slot_names_.end(), slot);
    if (known == slot_names_.end()) {
      throw Error(ErrorCode::invalid_argument,
                  "optimizer: state of another optimizer; got " + named.name +
                      ", expected names that end in one of this optimizer's arrays");
    }
    std::vector<Array>& arrays = slots[named.name.substr(0, dot)];
    arrays.resize(slot_names_.size());
    arrays[static_cast<std::size_t>(known - slot_names_.begin())] = named.array.detach();
  }
  if (steps < 0) {
    throw Error(ErrorCode::invalid_argument,
                "optimizer: incomplete state; got no steps, expected an i64 array of that name");
  }
  slots_ = std::move(slots);
  steps_ = steps;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
