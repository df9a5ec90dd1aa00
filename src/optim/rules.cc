#include <cmath>
#include <string>

#include "core/number_text.h"
#include "hearth/ops.h"
#include "hearth/optim.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

void require(bool holds, const char* optimizer, const char* what, double value,
             const char* expected) {
  if (!holds) {
    throw Error(ErrorCode::invalid_argument, std::string(optimizer) + ": " + what +
                                                 " out of range; got " + number_text(value) +
                                                 ", expected " + expected);
  }
}

template <class Options>
void require_adam(const char* optimizer, const Options& options) {
  require(options.beta1 >= 0 && options.beta1 < 1, optimizer, "beta1", options.beta1, "[0, 1)");
  require(options.beta2 >= 0 && options.beta2 < 1, optimizer, "beta2", options.beta2, "[0, 1)");
  require(options.epsilon >= 0, optimizer, "epsilon", options.epsilon, ">= 0");
  require(options.weight_decay >= 0, optimizer, "weight_decay", options.weight_decay, ">= 0");
}

// before * beta + now * (1 - beta). The smaller factor multiplies the difference: where it is 0,
// the result is exactly the other value.
Array moving(const Array& before, const Array& now, double beta) {
  return beta < 0.5 ? lerp(now, before, beta) : lerp(before, now, 1 - beta);
}

// The step that Adam takes away from a value: learning_rate * m^ / (sqrt(v^) + epsilon), where
// m^ = m / (1 - beta1^step) and v^ = v / (1 - beta2^step). Above and below the line stand
// c = sqrt(1 - beta2^step) times that, which leaves one product less. slots: m and v.
Array adam_step(const Array& gradient, std::vector<Array>& slots, double beta1, double beta2,
                double epsilon, double learning_rate, std::int64_t step) {
  Array& mean = slots[0];
  Array& square_mean = slots[1];
  if (!mean.defined()) mean = zeros_like(gradient);
  if (!square_mean.defined()) square_mean = zeros_like(gradient);
  mean = moving(mean, gradient, beta1);
  square_mean = moving(square_mean, square(gradient), beta2);
  const double c = std::sqrt(1 - std::pow(beta2, static_cast<double>(step)));
  const double rate = c * learning_rate / (1 - std::pow(beta1, static_cast<double>(step)));
  return mean * rate / (sqrt(square_mean) + c * epsilon);
}

}  // namespace

Sgd::Sgd(const Options& options)
    : Optimizer(options.momentum != 0 ? SlotNames{{"momentum"}} : SlotNames{}), options_(options) {
  require(options.momentum >= 0, "sgd", "momentum", options.momentum, ">= 0");
  require(options.weight_decay >= 0, "sgd", "weight_decay", options.weight_decay, ">= 0");
  require(!options.nesterov || (options.momentum > 0 && options.dampening == 0), "sgd",
          "nesterov's momentum", options.momentum, "> 0, without dampening");
}

Array Sgd::update(const Update& at) const {
  Array gradient = at.gradient;
  if (options_.weight_decay != 0) gradient = gradient + at.value * options_.weight_decay;
  if (options_.momentum != 0) {
    Array& momentum = at.slots[0];
    momentum = momentum.defined()
                   ? momentum * options_.momentum + gradient * (1 - options_.dampening)
                   : gradient;
    gradient = options_.nesterov ? gradient + momentum * options_.momentum : momentum;
  }
  return at.value - gradient * at.learning_rate;
}

Adam::Adam(const Options& options)
    : Optimizer(SlotNames{{"exp_avg", "exp_avg_sq"}}), options_(options) {
  require_adam("adam", options);
}

Array Adam::update(const Update& at) const {
  Array gradient = at.gradient;
  if (options_.weight_decay != 0) gradient = gradient + at.value * options_.weight_decay;
  return at.value - adam_step(gradient, at.slots, options_.beta1, options_.beta2, options_.epsilon,
                              at.learning_rate, at.step);
}

AdamW::AdamW(const Options& options)
    : Optimizer(SlotNames{{"exp_avg", "exp_avg_sq"}}), options_(options) {
  require_adam("adamw", options);
}

Array AdamW::update(const Update& at) const {
  const bool decays = options_.weight_decay != 0 && (options_.decay_vectors || at.value.rank() > 1);
  Array decayed;
  if (decays) decayed = at.value * (1 - at.learning_rate * options_.weight_decay);
  return (decays ? decayed : at.value) - adam_step(at.gradient, at.slots, options_.beta1,
                                                   options_.beta2, options_.epsilon,
                                                   at.learning_rate, at.step);
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
