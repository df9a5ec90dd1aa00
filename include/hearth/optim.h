// Optimizers, gradient clipping and learning-rate schedules, written with public ops only.
//
//   optim::AdamW optimizer({.weight_decay = 0.1});
//   Gradients gradients = backward(model.loss(batch));
//   optim::clip_by_norm(gradients, 1.0);
//   optimizer.step(model, std::move(gradients), schedule(step));
//
// step() gives every parameter that has a gradient a new value, in place where nothing else holds
// the old one; ids and flags stay. It then submits the thread's work, so that a training loop runs
// one plan a step. Learning rates and other numbers that change from step to step never cost a new
// plan. Parameters of half dtypes are updated in f32 and rounded once; keep f32 parameters and
// compute in bf16 for mixed precision. Optimizers are values; not for use by two threads at once.
// `site` is the caller's line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/grad.h"
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
  };
  // Parameters without a gradient are left alone; Error{invalid_argument} where none has one. One
  // array in several places (tied weights: equal ids) is updated once, with the state of its first
  // name, and all places get the new value. Gradients that are moved in need no memory of their own
  // past the plan. Throws Error{shape} for a gradient or an array of state that does not fit its
  // parameter, Error{dtype} for state that is not of the dtype of computation (f32 for half dtypes,
  // else the parameter's) and Error{invalid_argument} for a parameter without an array. On an error
  // nothing has changed.
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

  // The state for a checkpoint: "<parameter>.<array>" and "steps" (i64 [1]), in order of names.
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
    std::int64_t step;  // 1 on the first
  };
  // The new value; replaces the slots.
  virtual Array update(const Update& at) const = 0;

 private:
  using Slots = std::vector<Array>;  // one for each slot name, once the parameter has been updated
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
  void record(Change& change, Array gradient, double learning_rate) const;
  void commit(std::vector<Change> changes);
  std::map<std::string, const Slots*> by_name() const;

  std::vector<std::string> slot_names_;
  std::map<std::uint64_t, State> states_;  // by the parameter's gradient_id()
  std::map<std::string, Slots> loaded_;    // by name, until a parameter takes it
  std::int64_t created_ = 0;               // states so far
  std::int64_t steps_ = 0;
};

// Stochastic gradient descent: g += weight_decay * w; m = momentum * m + (1 - dampening) * g (m = g
// on the first step); nesterov: g += momentum * m, else g = m; w -= learning_rate * g.
class HEARTH_API Sgd : public Optimizer {
 public:
  struct Options {
    double momentum = 0;
    double dampening = 0;  // PyTorch's; Burn's is 0.1
    bool nesterov = false;
    double weight_decay = 0;
  };
  // Throws Error{invalid_argument} for numbers out of range.
  using Optimizer::Optimizer;
  explicit Sgd(const Options& options);
  Sgd() : Sgd(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

// Adam (Kingma and Ba 2015): weight_decay is added to the gradient.
class HEARTH_API Adam : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-5;  // Burn's; PyTorch's is 1e-8
    double weight_decay = 0;
  };
  using Optimizer::Optimizer;
  explicit Adam(const Options& options);
  Adam() : Adam(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019): w *= 1 - learning_rate *
// weight_decay before the step. Parameters of rank 1 or less (biases, norms) are not decayed where
// `decay_vectors` is false.
class HEARTH_API AdamW : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-5;       // Burn's; PyTorch's is 1e-8
    double weight_decay = 1e-4;  // Burn's; PyTorch's is 1e-2
    bool decay_vectors = true;
  };
  using Optimizer::Optimizer;
  explicit AdamW(const Options& options);
  AdamW() : AdamW(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

// A norm, as an Array of rank 0 that may be dropped.
class GradientNorm : public Array {
 public:
  explicit GradientNorm(Array norm) noexcept : Array(std::move(norm)) {}
};

// Scales all gradients by one factor so that their common 2-norm is at most `limit`; nothing is
// read back. Returns the norm before. A norm that is not finite makes all gradients NaN: so does
// one whose square is beyond f32 (f64, where all gradients are).
HEARTH_API GradientNorm clip_by_norm(Gradients& gradients, double limit,
                                     CallSite site = CallSite::here());
// Limits every element to [-limit, limit].
HEARTH_API void clip_by_value(Gradients& gradients, double limit, CallSite site = CallSite::here());

// The learning rate of each step, counted from 0; throws Error{invalid_argument} for one below.
using Schedule = std::function<double(std::int64_t step)>;
HEARTH_API Schedule constant(double rate);
// Half a cosine from `rate` at step 0 to `minimum` at step `steps` and after.
HEARTH_API Schedule cosine(double rate, std::int64_t steps, double minimum = 0);
// Rises linearly over `steps` steps to the rate where `then` begins: its step 0 is step `steps`.
// Throws Error{invalid_argument} for a negative `steps` and for an empty `then`.
HEARTH_API Schedule linear_warm_up(std::int64_t steps, Schedule then);

}  // namespace optim
}  // namespace v0
}  // namespace hearth
