#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "hearth/ops.h"
#include "hearth/optim.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

// Throws Error{invalid_argument} for what cannot be a count of steps.
std::int64_t count_of(const Array& steps) {
  const bool is_count = is_int(steps.dtype()) && steps.size() == 1;
  const std::int64_t count = is_count ? steps.item<std::int64_t>() : -1;
  if (count < 0 || count == std::numeric_limits<std::int64_t>::max()) {
    throw Error(ErrorCode::invalid_argument,
                "optimizer: steps are no count; got " +
                    (is_count ? std::to_string(count)
                              : std::string(name(steps.dtype())) + " " + to_string(steps.shape())) +
                    ", expected one integer of 0 or more");
  }
  return count;
}

}  // namespace

Optimizer::~Optimizer() = default;

// The state of each parameter that has a gradient, null for the others.
std::vector<Optimizer::State*> Optimizer::check(const std::vector<Parameter>& parameters,
                                                const Gradients& gradients) {
  std::vector<State*> states(parameters.size());
  ++checks_;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    const Array* const array = parameters[i].array;
    const Array found = gradients.get(*array);
    if (!found.defined()) continue;
    State& state = states_[name];
    const auto require_fit = [&](const char* what, const Array& is) {
      if (!is.defined() || is.shape() == array->shape()) return;
      throw Error(ErrorCode::shape, std::string("optimizer: ") + what + " of " + name +
                                        " does not fit; got " + to_string(is.shape()) +
                                        ", expected " + to_string(array->shape()));
    };
    require_fit("gradient", found);
    for (const Array& slot : state.slots) require_fit("state", slot);
    if (state.checked == checks_) {
      throw Error(ErrorCode::invalid_argument, "optimizer: two parameters of one name; got " +
                                                   name + " twice, expected names that differ");
    }
    state.checked = checks_;
    states[i] = &state;
  }
  return states;
}

void Optimizer::step(const std::vector<Parameter>& parameters, Gradients gradients,
                     double learning_rate, const StepOptions& options) {
  const NoGrad no_grad;
  const std::vector<State*> states = check(parameters, gradients);
  const bool any = std::any_of(states.begin(), states.end(),
                               [](const State* state) { return state != nullptr; });
  if (!any && options.allow_none) return;
  if (!any) {
    throw Error(ErrorCode::invalid_argument,
                "optimizer: no parameter has a gradient; got " + std::to_string(parameters.size()) +
                    " parameters and " + std::to_string(gradients.size()) +
                    " gradients, expected one of these parameters in the loss, or allow_none");
  }
  ++steps_;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (states[i] == nullptr) continue;
    Array& parameter = *parameters[i].array;
    Array gradient = gradients.take(parameter);
    if (!gradient.defined()) {  // taken by the first place of a tied parameter
      const auto first =
          std::find_if(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const Parameter& other) {
                         return gradient_id(*other.array) == gradient_id(parameter);
                       });
      parameter.assign(*first->array);
      continue;
    }
    const DType dtype = parameter.dtype();
    const DType compute = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
    if (gradient.is_require_grad()) gradient = gradient.detach();
    if (gradient.dtype() != compute) gradient = cast(gradient, compute);
    std::vector<Array>& slots = states[i]->slots;
    slots.resize(slot_names_.size());
    // The old value's last handle must be gone when the plan is submitted: nothing here outlives
    // the loop's body.
    Array value = parameter.detach();
    if (dtype != compute) value = cast(value, compute);
    Array updated = update({value, gradient, slots, learning_rate, steps_});
    if (dtype != compute) updated = cast(updated, dtype);
    parameter.assign(std::move(updated));
  }
  gradients = Gradients();
  submit();
}

NamedArrays Optimizer::state_dict() const {
  NamedArrays out;
  for (const auto& [parameter, state] : states_) {
    for (std::size_t i = 0; i < state.slots.size(); ++i) {
      if (!state.slots[i].defined()) continue;
      out.push_back({parameter + "." + slot_names_[i], state.slots[i]});
    }
  }
  out.push_back({"steps", Array::from_data(std::vector<std::int64_t>{steps_}, {1})});
  return out;
}

void Optimizer::load_state_dict(const NamedArrays& state) {
  std::map<std::string, State> states;
  std::int64_t steps = -1;
  for (const NamedArray& named : state) {
    if (named.name == "steps") {
      steps = count_of(named.array);
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
    std::vector<Array>& arrays = states[named.name.substr(0, dot)].slots;
    arrays.resize(slot_names_.size());
    arrays[static_cast<std::size_t>(known - slot_names_.begin())] = named.array.detach();
  }
  if (steps < 0) {
    throw Error(ErrorCode::invalid_argument,
                "optimizer: incomplete state; got no steps, expected an i64 array of that name");
  }
  for (const auto& [parameter, kept] : states) {
    for (std::size_t i = 0; i < kept.slots.size(); ++i) {
      if (kept.slots[i].defined()) continue;
      throw Error(ErrorCode::invalid_argument, "optimizer: incomplete state; got no " + parameter +
                                                   "." + slot_names_[i] +
                                                   ", expected all arrays of a parameter");
    }
  }
  states_ = std::move(states);
  steps_ = steps;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
