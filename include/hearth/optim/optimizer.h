// Optimizer: what all optimizers share. Rules for all of them: hearth/optim.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/grad.h"
#include "hearth/optim/schedule.h"
#include "hearth/parameter.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// What all optimizers share: arrays of state for the parameters, and a count of steps. State
// belongs to the leaf that a parameter is (gradient_id()), whatever its name and wherever it is
// stepped; checkpoints know it by name. It ends with its leaf: the next step drops it, and only
// load_state_dict() hands state to another leaf. freeze() ends leaves too: after unfreeze() state
// begins anew, unless what state_dict() gave before is loaded.
class HEARTH_API Optimizer {
 public:
  virtual ~Optimizer();
  // What other libraries ask for here.
  template <class First, class... Others>
    requires(parameter_detail::kIsSteppedBy<First>)
  explicit Optimizer(First&&, const Others&...) {
    static_assert(tensor_detail::kNever<First>,
                  "an optimizer is made of options alone, as AdamW({.weight_decay = 0.1}); the "
                  "module and the learning rate are given to step(model, gradients, rate)");
  }

  struct StepOptions {
    bool allow_none = false;  // a step without any gradient changes nothing, instead of an error
    // A gradient of none of the parameters is an Error{invalid_argument}: of a layer, say, that
    // members() forgot, and that would never learn.
    bool require_all = false;
  };
  // Parameters without a gradient are left alone; Error{invalid_argument} where none has one. One
  // array in several places (tied weights: equal ids) is updated once, with the state of its first
  // name, and all places get the new value. Gradients that are moved in need no memory of their own
  // past the plan. Throws Error{shape} for a gradient or an array of state that does not fit its
  // parameter, Error{dtype} for what is no float and state that is not of the dtype of computation
  // (f32 for half dtypes, else the parameter's), and Error{invalid_argument} for a parameter
  // without an array. On an error nothing has changed.
  //
  // State follows its parameter to another device. New values are written over old ones, so a step
  // whose evaluation fails, as where memory is short, loses the parameters and the state concerned:
  // reading them, and backward() of what is made of them, throws what it failed with. Gradients
  // that are evaluated before the step fail before anything is lost.
  //
  // A tensor on its own is a module, and several are step({w, b}, gradients, rate).
  void step(const std::vector<Parameter>& parameters, Gradients gradients, double learning_rate,
            const StepOptions& options, CallSite site = CallSite::here());
  void step(const std::vector<Parameter>& parameters, Gradients gradients, double learning_rate,
            CallSite site = CallSite::here()) {
    step(parameters, std::move(gradients), learning_rate, StepOptions(), site);
  }
  template <class Module>
    requires(!std::is_same_v<std::remove_cvref_t<Module>, std::vector<Parameter>>)
  void step(Module&& module, Gradients gradients, double learning_rate, const StepOptions& options,
            CallSite site = CallSite::here()) {
    static_assert(!parameter_detail::kHoldsTensors<Module>,
                  "a range of tensors holds copies, and stepping those changes no other: write "
                  "step({w, b}, ...), or pass a module that has the tensors");
    static_assert(std::is_lvalue_reference_v<Module>,
                  "a temporary module is dropped with its new values: step one that stays");
    step(parameters(module), std::move(gradients), learning_rate, options, site);
  }
  template <class Module>
    requires(!std::is_same_v<std::remove_cvref_t<Module>, std::vector<Parameter>>)
  void step(Module&& module, Gradients gradients, double learning_rate,
            CallSite site = CallSite::here()) {
    step(std::forward<Module>(module), std::move(gradients), learning_rate, StepOptions(), site);
  }

  std::int64_t steps() const noexcept { return steps_; }

  // Parameters that are stepped in another way than the others.
  struct Group {
    std::function<bool(const Parameter&)> holds;        // asked in every step
    double rate = 1;                                    // times the learning rate
    std::optional<double> weight_decay = std::nullopt;  // in place of the optimizer's
    // The learning rate in place of that of step(), asked once in every step: its step is steps(),
    // which goes on where a checkpoint was loaded. Of Burn's ModuleLrScheduler.
    Schedule schedule = nullptr;
  };
  // Of several groups the first that holds a parameter counts (Burn's last); tied ones go by their
  // first name. Groups are no part of the state. Throws Error{invalid_argument} for a group without
  // `holds` and for numbers that are negative or not finite; step() does for such rates of a
  // schedule.
  //
  //   optimizer.set_groups({{.holds = [](const Parameter& each) { return each.array->rank() < 2; },
  //                          .weight_decay = 0}});
  void set_groups(std::vector<Group> groups, CallSite site = CallSite::here());

  // The state for a checkpoint: "<parameter>.<array>", "steps" (i64 [1]) and, of parameters that
  // were not in each step, "<parameter>.steps", in order of names.
  // Parameters without a name are numbered from 0 in the order of their first steps; numbers that
  // are names are skipped. Throws Error{invalid_argument} for two parameters of one
  // name.
  NamedArrays state_dict(CallSite site = CallSite::here()) const;
  // The inverse: a parameter takes the state of its name when it is first stepped after (named by
  // a number: no later than those without a name). Throws Error{invalid_argument} for names that
  // this optimizer does not keep, for a parameter whose arrays are not all there, and for steps
  // that are no count.
  void load_state_dict(const NamedArrays& state, CallSite site = CallSite::here());

 protected:
  // The arrays of state that a parameter has, by name.
  struct SlotNames {
    std::vector<std::string> names;
  };
  explicit Optimizer(SlotNames slots) : slot_names_(std::move(slots.names)) {}
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;

  struct Update {
    const Array& value;         // in the dtype of computation
    const Array& gradient;      // likewise
    std::vector<Array>& slots;  // one for each name; without a value on the first step
    double learning_rate;
    std::int64_t step;                   // of the parameter: 1 on the first
    std::optional<double> weight_decay;  // of the parameter's group
  };
  // The new value; replaces the slots.
  virtual Array update(const Update& at) const = 0;

 private:
  struct Slots {
    std::vector<Array> arrays;  // one for each slot name, once the parameter has been updated
    std::int64_t steps = 0;     // of the parameter
  };
  struct State {
    std::string name;                   // of the first step
    std::int64_t order = 0;             // of the first step, among all states
    std::shared_ptr<const Array> leaf;  // the parameter without its value
    Slots slots;
  };

  // What a step does to one leaf.
  struct Change {
    std::uint64_t id = 0;
    const Parameter* parameter = nullptr;
    bool is_new = false;       // has no state yet
    std::string loaded;        // the name of its state in loaded_, if new
    std::vector<Array*> tied;  // its other places
    Slots slots;
    Array updated;
  };

  static bool is_gone(const State& state);
  std::vector<Change> changes_of(const std::vector<Parameter>& parameters,
                                 const Gradients& gradients) const;
  void give_loaded(std::vector<Change>& changes) const;
  void record(Change& change, Array gradient, double learning_rate,
              const std::vector<double>& group_rates) const;
  void commit(std::vector<Change> changes);
  std::map<std::string, const Slots*> by_name() const;

  std::vector<std::string> slot_names_;
  std::map<std::uint64_t, State> states_;  // by the parameter's gradient_id()
  std::map<std::string, Slots> loaded_;    // by name, until a parameter takes it
  std::vector<Group> groups_;
  std::int64_t created_ = 0;  // states so far
  std::int64_t steps_ = 0;
};

}  // namespace optim
}  // namespace v0
}  // namespace hearth
