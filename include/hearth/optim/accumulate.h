// What stands around the steps of an optimizer: sums of gradients, scales of losses, means of
// parameters.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/grad.h"
#include "hearth/parameter.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// Sums the gradients of several small batches, so that one step is that of a large one.
//
//   accumulator.add(backward(model.loss(part) / parts));
//   if (accumulator.count() == parts) optimizer.step(model, accumulator.take(), rate);
class HEARTH_API GradientsAccumulator {
 public:
  // Adds to what is there, in place where nothing else holds it, and submits the thread's work: a
  // batch's activations are gone before the next. Move the gradients in.
  void add(Gradients gradients, CallSite site = CallSite::here());
  // The sums; none are left.
  Gradients take();
  std::int64_t count() const noexcept { return count_; }  // of add() since take()

 private:
  Gradients sums_;
  std::int64_t count_ = 0;
};

// Keeps gradients in f16 within its range: the loss is multiplied by a scale that halves when a
// gradient is not finite and doubles after enough steps where all are (Micikevicius et al. 2018).
//
//   Gradients gradients = scaler.scaled(loss).backward();
//   if (scaler.unscale(gradients)) optimizer.step(model, std::move(gradients), rate);
class HEARTH_API LossScaler {
 public:
  struct Options {
    double scale = 65536;          // the first one; always from 2^-126 to 2^127
    double growth = 2;             // > 1
    double backoff = 0.5;          // in (0, 1)
    std::int64_t interval = 2000;  // steps without an overflow before the scale grows
  };
  // Throws Error{invalid_argument} for numbers out of range.
  explicit LossScaler(const Options& options);
  LossScaler() : LossScaler(Options()) {}

  double scale() const noexcept { return scale_; }
  Array scaled(const Array& loss, CallSite site = CallSite::here()) const;
  template <int R>
  Tensor<R> scaled(const Tensor<R>& loss, CallSite site = CallSite::here()) const {
    return Tensor<R>(scaled(loss.array(), site));
  }
  // Divides the gradients by the scale and sets the next one; false where a gradient is not finite,
  // and the step is to be left out. Gradients of half dtypes become f32, which holds them. Waits
  // for the gradients.
  bool unscale(Gradients& gradients, CallSite site = CallSite::here());

  // The scale and the steps since it changed, for a checkpoint, and the inverse; throws
  // Error{invalid_argument} for other arrays.
  NamedArrays state_dict() const;
  void load_state_dict(const NamedArrays& state, CallSite site = CallSite::here());

 private:
  Options options_;
  double scale_;
  std::int64_t good_steps_ = 0;
};

// Exponential moving averages (EMA) of a module's parameters: mean = decay * mean + (1 - decay) *
// value, beginning with the first values. Means of half dtypes are kept in f32.
//
//   mean.update(model);                             // after each step
//   load_state_dict(shadow, mean.values());         // another model of the same shape
class HEARTH_API ParameterMeans {
 public:
  // Throws Error{invalid_argument} unless 0 <= decay < 1.
  explicit ParameterMeans(double decay = 0.999);

  // Goes on in place and submits the thread's work; numbers that are no floats are copied. Throws
  // Error{invalid_argument} where the parameters' names are others than before, Error{shape} where
  // their shapes are.
  void update(const NamedArrays& parameters, CallSite site = CallSite::here());
  template <class Module>
    requires(!std::is_same_v<Module, NamedArrays>)
  void update(const Module& module, CallSite site = CallSite::here()) {
    update(hearth::state_dict(module), site);
  }
  // The means by name, in the dtypes of the parameters.
  NamedArrays values() const;

 private:
  double decay_;
  NamedArrays means_;
  std::vector<DType> dtypes_;
};

}  // namespace optim
}  // namespace v0
}  // namespace hearth
