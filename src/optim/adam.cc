#include "hearth/optim/adam.h"

#include <cmath>

#include "optim/moving.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

using optim_detail::begin_at_zero;
using optim_detail::moving;
using optim_detail::require_share;

template <class Options>
void require_adam(const char* optimizer, const Options& options) {
  require_share(optimizer, "beta1", options.beta1);
  require_share(optimizer, "beta2", options.beta2);
  require_non_negative(optimizer, "epsilon", options.epsilon);
  require_non_negative(optimizer, "weight_decay", options.weight_decay);
}

std::vector<std::string> adam_slots(bool amsgrad) {
  std::vector<std::string> names = {"exp_avg", "exp_avg_sq"};
  if (amsgrad) names.emplace_back("max_exp_avg_sq");
  return names;
}

double correction(double beta, std::int64_t step) {
  return 1 - std::pow(beta, static_cast<double>(step));
}

// The step that Adam takes away from a value: learning_rate * m^ / (sqrt(v^) + epsilon), where
// m^ = m / (1 - beta1^step) and v^ = v / (1 - beta2^step). Above and below the line stand
// c = sqrt(1 - beta2^step) times that, which leaves one product less. slots: m, v and, with
// amsgrad, the largest v.
template <class Options>
Array adam_step(const Array& gradient, std::vector<Array>& slots, const Options& options,
                double learning_rate, std::int64_t step) {
  Array& mean = slots[0];
  Array& square_mean = slots[1];
  begin_at_zero(mean, gradient);
  begin_at_zero(square_mean, gradient);
  mean = moving(mean, gradient, options.beta1);
  square_mean = moving(square_mean, square(gradient), options.beta2);
  if (options.amsgrad) {
    slots[2] = slots[2].defined() ? maximum(slots[2], square_mean) : square_mean;
  }
  const double c = std::sqrt(correction(options.beta2, step));
  const double rate = c * learning_rate / correction(options.beta1, step);
  return mean * rate / (sqrt(slots[options.amsgrad ? 2 : 1]) + c * options.epsilon);
}

}  // namespace

Adam::Adam(const Options& options)
    : Optimizer(SlotNames{adam_slots(options.amsgrad)}), options_(options) {
  require_adam("adam", options);
}

Array Adam::update(const Update& at) const {
  const Array gradient =
      optim_detail::decayed(at.gradient, at.value, at.weight_decay.value_or(options_.weight_decay));
  return at.value - adam_step(gradient, at.slots, options_, at.learning_rate, at.step);
}

AdamW::AdamW(const Options& options)
    : Optimizer(SlotNames{adam_slots(options.amsgrad)}), options_(options) {
  require_adam("adamw", options);
}

Array AdamW::update(const Update& at) const {
  const Array taken = adam_step(at.gradient, at.slots, options_, at.learning_rate, at.step);
  const bool decays = options_.decay_vectors || at.value.rank() > 1;
  const double decay = decays ? at.weight_decay.value_or(options_.weight_decay) : 0;
  if (decay == 0) return at.value - taken;
  if (!options_.cautious) return at.value * (1 - at.learning_rate * decay) - taken;
  const Array alike = equal(greater_equal(at.value, 0.0), greater_equal(at.slots[0], 0.0));
  return at.value - where(alike, at.value * (at.learning_rate * decay), 0.0) - taken;
}

Adan::Adan(const Options& options)
    : Optimizer(SlotNames{{"exp_avg", "exp_avg_diff", "exp_avg_sq", "pre_grad"}}),
      options_(options) {
  require_adam("adan", options);
  require_share("adan", "beta3", options.beta3);
}

Array Adan::update(const Update& at) const {
  Array &mean = at.slots[0], &difference_mean = at.slots[1], &square_mean = at.slots[2];
  Array& before = at.slots[3];
  const Array& gradient = at.gradient;
  for (Array* const slot : {&mean, &difference_mean, &square_mean}) begin_at_zero(*slot, gradient);
  const bool is_first = !before.defined();
  mean = moving(mean, gradient, options_.beta1);
  Array ahead = gradient;
  if (!is_first) {
    const Array difference = gradient - before;
    difference_mean = moving(difference_mean, difference, options_.beta2);
    ahead = gradient + difference * options_.beta2;
  }
  square_mean = moving(square_mean, square(ahead), options_.beta3);
  before = gradient;
  const double c = std::sqrt(correction(options_.beta3, at.step));
  const double of_mean = c * at.learning_rate / correction(options_.beta1, at.step);
  const double of_difference =
      c * at.learning_rate * options_.beta2 / correction(options_.beta2, at.step);
  const Array taken = (mean * of_mean + difference_mean * of_difference) /
                      (sqrt(square_mean) + c * options_.epsilon);
  const double decay = at.learning_rate * at.weight_decay.value_or(options_.weight_decay);
  if (decay == 0) return at.value - taken;
  return options_.no_prox ? at.value * (1 - decay) - taken : (at.value - taken) * (1 / (1 + decay));
}

Lion::Lion(const Options& options) : Optimizer(SlotNames{{"exp_avg"}}), options_(options) {
  require_share("lion", "beta1", options.beta1);
  require_share("lion", "beta2", options.beta2);
  require_non_negative("lion", "weight_decay", options.weight_decay);
}

Array Lion::update(const Update& at) const {
  Array& mean = at.slots[0];
  begin_at_zero(mean, at.gradient);
  // The difference is what makes one kernel of both means.
  const Array difference = at.gradient - mean;
  const Array direction = sign(mean + difference * (1 - options_.beta1));
  mean = mean + difference * (1 - options_.beta2);
  const double decay = at.learning_rate * at.weight_decay.value_or(options_.weight_decay);
  return optim_detail::shrunk(at.value, decay) - direction * at.learning_rate;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
