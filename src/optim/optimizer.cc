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
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Array* const array = parameters[i].array;
    const Array found = gradients.get(*array);
    if (!found.defined()) continue;
    State& state = state_of(parameters[i]);
    const auto require_fit = [&](const char* what, const Array& is) {
      if (!is.defined() || is.shape() == array->shape()) return;
      const std::string& name = parameters[i].name;
      throw Error(ErrorCode::shape, std::string("optimizer: ") + what + " of " +
                                        (name.empty() ? "a tensor" : name) + " does not fit; got " +
                                        to_string(is.shape()) + ", expected " +
                                        to_string(array->shape()));
    };
    require_fit("gradient", found);
    for (const Array& slot : state.slots) require_fit("state", slot);
    states[i] = &state;
  }
  return states;
}

Optimizer::State& Optimizer::state_of(const Parameter& parameter) {
  const std::uint64_t id = gradient_id(*parameter.array);
  const auto found = states_.find(id);
  if (found != states_.end()) return found->second;
  Slots slots = slots_for(parameter.name);
  auto leaf = std::make_shared<Array>(*parameter.array);
  leaf->assign(Array());
  State& state = states_[id];
  state = {parameter.name, ++created_, std::move(leaf), std::move(slots)};
  return state;
}

// What a parameter begins with: what was loaded for it, or what a parameter of its name that is
// gone has left, such as one that was frozen in between.
Optimizer::Slots Optimizer::slots_for(const std::string& name) {
  const auto is_gone = [](const auto& each) { return !is_shared_leaf(*each.second.leaf); };
  std::string key = name;
  if (name.empty()) {
    std::erase_if(states_,
                  [&](const auto& each) { return each.second.name.empty() && is_gone(each); });
    key = std::to_string(std::count_if(states_.begin(), states_.end(),
                                       [](const auto& each) { return each.second.name.empty(); }));
  }
  if (auto loaded = loaded_.extract(key)) return std::move(loaded.mapped());
  const auto left = std::find_if(states_.begin(), states_.end(), [&](const auto& each) {
    return each.second.name == name && is_gone(each);
  });
  if (left == states_.end()) return {};
  Slots slots = std::move(left->second.slots);
  states_.erase(left);
  return slots;
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
    Slots& slots = states[i]->slots;
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

// All state, under the names that it is saved by.
std::map<std::string, const Optimizer::Slots*> Optimizer::by_name() const {
  std::vector<const State*> states;
  for (const auto& [id, state] : states_) states.push_back(&state);
  std::sort(states.begin(), states.end(),
            [](const State* a, const State* b) { return a->order < b->order; });
  std::map<std::string, const State*> named;
  std::int64_t nameless = 0;
  for (const State* state : states) {
    const std::string name = state->name.empty() ? std::to_string(nameless++) : state->name;
    if (std::none_of(state->slots.begin(), state->slots.end(),
                     [](const Array& slot) { return slot.defined(); })) {
      continue;
    }
    const State*& kept = named[name];
    if (kept != nullptr && is_shared_leaf(*kept->leaf) && is_shared_leaf(*state->leaf)) {
      throw Error(ErrorCode::invalid_argument, "optimizer: two parameters of one name; got " +
                                                   name + " twice, expected names that differ");
    }
    if (kept == nullptr || is_shared_leaf(*state->leaf)) kept = state;
  }
  std::map<std::string, const Slots*> out;
  for (const auto& [name, state] : named) out[name] = &state->slots;
  for (const auto& [name, slots] : loaded_) out.try_emplace(name, &slots);
  return out;
}

NamedArrays Optimizer::state_dict() const {
  NamedArrays out;
  for (const auto& [name, slots] : by_name()) {
    for (std::size_t i = 0; i < slots->size(); ++i) {
      if ((*slots)[i].defined()) out.push_back({name + "." + slot_names_[i], (*slots)[i]});
    }
  }
  out.push_back({"steps", Array::from_data(std::vector<std::int64_t>{steps_}, {1})});
  return out;
}

void Optimizer::load_state_dict(const NamedArrays& state) {
  std::map<std::string, Slots> loaded;
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
    Slots& arrays = loaded[named.name.substr(0, dot)];
    arrays.resize(slot_names_.size());
    arrays[static_cast<std::size_t>(known - slot_names_.begin())] = named.array.detach();
  }
  if (steps < 0) {
    throw Error(ErrorCode::invalid_argument,
                "optimizer: incomplete state; got no steps, expected an i64 array of that name");
  }
  for (const auto& [parameter, slots] : loaded) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].defined()) continue;
      throw Error(ErrorCode::invalid_argument, "optimizer: incomplete state; got no " + parameter +
                                                   "." + slot_names_[i] +
                                                   ", expected all arrays of a parameter");
    }
  }
  states_.clear();
  loaded_ = std::move(loaded);
  steps_ = steps;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
