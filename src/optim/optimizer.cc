#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/compute_class.h"
#include "core/number_text.h"
#include "hearth/ops.h"
#include "hearth/optim/optimizer.h"
#include "optim/require.h"

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

std::string shown(const Parameter& parameter) {
  return parameter.name.empty() ? "a tensor" : parameter.name;
}

[[noreturn]] void refuse(ErrorCode code, const char* what, const Parameter& parameter,
                         const std::string& got, const std::string& expected) {
  throw Error(code, std::string("optimizer: ") + what + " of " + shown(parameter) +
                        " does not fit; got " + got + ", expected " + expected);
}

void require_shape(const char* what, const Parameter& parameter, const Array& is) {
  const Shape& expected = parameter.array->shape();
  if (is.shape() == expected) return;
  refuse(ErrorCode::shape, what, parameter, to_string(is.shape()), to_string(expected));
}

void require_dtype(const Parameter& parameter, const Array& slot) {
  const DType expected = compute_dtype(parameter.array->dtype());
  if (slot.dtype() == expected) return;
  refuse(ErrorCode::dtype, "state", parameter, std::string(name(slot.dtype())),
         std::string(name(expected)));
}

// The names that parameters without one are saved by: the numbers that are no parameter's name.
class LooseNumbers {
 public:
  explicit LooseNumbers(const std::set<std::string>& names) : names_(names) {}
  std::string next() {
    while (names_.count(std::to_string(number_)) != 0) ++number_;
    return std::to_string(number_++);
  }

 private:
  const std::set<std::string>& names_;
  std::int64_t number_ = 0;
};

}  // namespace

Optimizer::~Optimizer() = default;

bool Optimizer::is_gone(const State& state) { return !is_shared_leaf(*state.leaf); }

// What step() will change, in the order of the parameters; nothing is changed yet.
std::vector<Optimizer::Change> Optimizer::changes_of(const std::vector<Parameter>& parameters,
                                                     const Gradients& gradients) const {
  std::vector<Change> changes;
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (const Parameter& parameter : parameters) {
    if (parameter.array == nullptr) {
      throw Error(ErrorCode::invalid_argument, "optimizer: no array; got null for " +
                                                   shown(parameter) +
                                                   ", expected where the parameter is");
    }
    const Array found = gradients.get(*parameter.array);
    if (!found.defined()) continue;
    require_shape("gradient", parameter, found);
    optim_detail::require_float("optimizer", "gradient of " + shown(parameter), found.dtype());
    optim_detail::require_float("optimizer", shown(parameter), parameter.array->dtype());
    const std::uint64_t id = gradient_id(*parameter.array);
    const auto [place, is_new] = places.try_emplace(id, changes.size());
    if (!is_new) {
      changes[place->second].tied.push_back(parameter.array);
      continue;
    }
    const auto kept = states_.find(id);
    Change change{id, &parameter, kept == states_.end(), {}, {}, {}, {}};
    if (!change.is_new) change.slots = kept->second.slots;
    changes.push_back(std::move(change));
  }
  give_loaded(changes);
  for (const Change& change : changes) {
    for (const Array& slot : change.slots.arrays) {
      if (!slot.defined()) continue;
      require_shape("state", *change.parameter, slot);
      require_dtype(*change.parameter, slot);
    }
  }
  return changes;
}

// New parameters begin with what was loaded for them.
void Optimizer::give_loaded(std::vector<Change>& changes) const {
  if (loaded_.empty()) return;
  std::set<std::string> names;
  std::int64_t loose = 0;
  for (const auto& [id, state] : states_) {
    if (is_gone(state)) continue;
    names.insert(state.name);
    if (state.name.empty()) ++loose;
  }
  for (const Change& change : changes) {
    if (change.is_new) names.insert(change.parameter->name);
  }
  LooseNumbers numbers(names);
  for (; loose > 0; --loose) numbers.next();
  for (Change& change : changes) {
    if (!change.is_new) continue;
    const std::string& name = change.parameter->name;
    change.loaded = name.empty() ? numbers.next() : name;
    const auto found = loaded_.find(change.loaded);
    if (found != loaded_.end()) change.slots = found->second;
  }
}

// Records the new value and the new state of a parameter.
void Optimizer::record(Change& change, Array gradient, double learning_rate,
                       const std::vector<double>& group_rates) const {
  const Array& parameter = *change.parameter->array;
  const DType dtype = parameter.dtype();
  const DType compute = compute_dtype(dtype);
  if (gradient.is_require_grad()) gradient = gradient.detach();
  if (gradient.dtype() != compute) gradient = cast(gradient, compute);
  change.slots.arrays.resize(slot_names_.size());
  Array value = parameter.detach();
  if (dtype != compute) value = cast(value, compute);
  std::optional<double> weight_decay;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (!group.holds(*change.parameter)) continue;
    learning_rate = (group.schedule ? group_rates[i] : learning_rate) * group.rate;
    weight_decay = group.weight_decay;
    break;
  }
  for (Array& slot : change.slots.arrays) {
    if (slot.defined()) slot = to_device(slot, parameter.device());
  }
  const double most = compute == DType::f32 ? std::numeric_limits<float>::max()
                                            : std::numeric_limits<double>::max();
  if (learning_rate > most) {
    throw Error(ErrorCode::invalid_argument,
                "step: learning rate out of range; got " + number_text(learning_rate) + " for " +
                    shown(*change.parameter) + ", expected a number of " +
                    std::string(name(compute)));
  }
  change.updated = update(
      {value, gradient, change.slots.arrays, learning_rate, ++change.slots.steps, weight_decay});
  if (dtype != compute) change.updated = cast(change.updated, dtype);
}

void Optimizer::commit(std::vector<Change> changes) {
  std::erase_if(states_, [](const auto& each) { return is_gone(each.second); });
  for (Change& change : changes) {
    State& state = states_[change.id];
    if (change.is_new) {
      auto leaf = std::make_shared<Array>(*change.parameter->array);
      leaf->assign(Array());
      state = {change.parameter->name, ++created_, std::move(leaf), {}};
      loaded_.erase(change.loaded);
    }
    state.slots = std::move(change.slots);
    for (Array* const place : change.tied) place->assign(change.updated);
    change.parameter->array->assign(std::move(change.updated));
  }
  ++steps_;
}

void Optimizer::step(const std::vector<Parameter>& parameters, Gradients gradients,
                     double learning_rate, const StepOptions& options, CallSite site) {
  located(site, [&] {
    require_non_negative("step", "learning rate", learning_rate);
    const NoGrad no_grad;
    std::vector<Change> changes = changes_of(parameters, gradients);
    if (changes.empty() && options.allow_none) return;
    if (changes.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "optimizer: no parameter has a gradient; got " +
                      std::to_string(parameters.size()) + " parameters and " +
                      std::to_string(gradients.size()) +
                      " gradients, expected one of these parameters in the loss, or allow_none");
    }
    if (options.require_all && changes.size() < gradients.size()) {
      throw Error(ErrorCode::invalid_argument,
                  "optimizer: gradients of none of the parameters; got " +
                      std::to_string(gradients.size() - changes.size()) + " of " +
                      std::to_string(gradients.size()) +
                      ", expected all leaves of the loss among them: members() names each member");
    }
    std::vector<double> group_rates;
    for (const Group& group : groups_) {
      group_rates.push_back(group.schedule ? group.schedule(steps_) : learning_rate);
      require_non_negative("step", "learning rate", group_rates.back());
    }
    for (Change& change : changes) {
      record(change, gradients.take(*change.parameter->array), learning_rate, group_rates);
    }
    // The last handles of old values, old state and gradients are gone when the plan is submitted.
    commit(std::move(changes));
    gradients = Gradients();
    submit();
  });
}

void Optimizer::set_groups(std::vector<Group> groups, CallSite site) {
  located(site, [&] {
    for (const Group& group : groups) {
      if (!group.holds) {
        throw Error(ErrorCode::invalid_argument,
                    "set_groups: a group of no parameters; got an empty function, expected holds");
      }
      require_non_negative("set_groups", "rate", group.rate);
      require_non_negative("set_groups", "weight decay", group.weight_decay.value_or(0));
    }
    groups_ = std::move(groups);
  });
}

// All state, under the names that it is saved by.
std::map<std::string, const Optimizer::Slots*> Optimizer::by_name() const {
  std::vector<const State*> states;
  std::set<std::string> names;
  for (const auto& [id, state] : states_) {
    states.push_back(&state);
    names.insert(state.name);
  }
  std::sort(states.begin(), states.end(),
            [](const State* a, const State* b) { return a->order < b->order; });
  std::map<std::string, const State*> named;
  LooseNumbers numbers(names);
  for (const State* state : states) {
    const std::string name = state->name.empty() ? numbers.next() : state->name;
    if (std::none_of(state->slots.arrays.begin(), state->slots.arrays.end(),
                     [](const Array& slot) { return slot.defined(); })) {
      continue;
    }
    const State*& kept = named[name];
    if (kept != nullptr && !is_gone(*kept) && !is_gone(*state)) {
      throw Error(ErrorCode::invalid_argument, "optimizer: two parameters of one name; got " +
                                                   name + " twice, expected names that differ");
    }
    if (kept == nullptr || !is_gone(*state)) kept = state;
  }
  std::map<std::string, const Slots*> out;
  for (const auto& [name, state] : named) out[name] = &state->slots;
  for (const auto& [name, slots] : loaded_) out.try_emplace(name, &slots);
  return out;
}

NamedArrays Optimizer::state_dict(CallSite site) const {
  return located(site, [&] {
    NamedArrays out;
    for (const auto& [name, slots] : by_name()) {
      for (std::size_t i = 0; i < slots->arrays.size(); ++i) {
        const Array& slot = slots->arrays[i];
        if (slot.defined()) out.push_back({name + "." + slot_names_[i], slot});
      }
      if (slots->steps != steps_) {
        out.push_back(
            {name + ".steps", Array::from_data(std::vector<std::int64_t>{slots->steps}, {1})});
      }
    }
    out.push_back({"steps", Array::from_data(std::vector<std::int64_t>{steps_}, {1})});
    return out;
  });
}

void Optimizer::load_state_dict(const NamedArrays& state, CallSite site) {
  located(site, [&] {
    std::map<std::string, Slots> loaded;
    std::map<std::string, std::int64_t> own_steps;
    std::int64_t steps = -1;
    for (const NamedArray& named : state) {
      if (named.name == "steps") {
        steps = count_of(named.array);
        continue;
      }
      const std::size_t dot = named.name.rfind('.');
      const std::string slot = dot == std::string::npos ? "" : named.name.substr(dot + 1);
      if (slot == "steps" && !slot_names_.empty()) {
        own_steps[named.name.substr(0, dot)] = count_of(named.array);
        continue;
      }
      const auto known = std::find(slot_names_.begin(), slot_names_.end(), slot);
      if (known == slot_names_.end()) {
        throw Error(ErrorCode::invalid_argument,
                    "optimizer: state of another optimizer; got " + named.name +
                        ", expected names that end in one of this optimizer's arrays");
      }
      std::vector<Array>& arrays = loaded[named.name.substr(0, dot)].arrays;
      arrays.resize(slot_names_.size());
      arrays[static_cast<std::size_t>(known - slot_names_.begin())] = named.array.detach();
    }
    if (steps < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "optimizer: incomplete state; got no steps, expected an i64 array of that name");
    }
    for (const auto& [parameter, count] : own_steps) loaded[parameter].steps = count;
    for (auto& [parameter, slots] : loaded) {
      if (own_steps.count(parameter) == 0) slots.steps = steps;
      slots.arrays.resize(slot_names_.size());
      for (std::size_t i = 0; i < slots.arrays.size(); ++i) {
        if (slots.arrays[i].defined()) continue;
        throw Error(ErrorCode::invalid_argument, "optimizer: incomplete state; got no " +
                                                     parameter + "." + slot_names_[i] +
                                                     ", expected all arrays of a parameter");
      }
    }
    states_.clear();
    loaded_ = std::move(loaded);
    steps_ = steps;
  });
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
