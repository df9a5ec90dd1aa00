#include "hearth/optim/adaptive.h"

#include "optim/moving.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

using optim_detail::begin_at_zero;
using optim_detail::decayed;
using optim_detail::moving;

// Where each array of RmsProp's state stands.
constexpr std::size_t kSquareMean = 0;

std::vector<std::string> rms_prop_slots(bool has_momentum, bool centered) {
  std::vector<std::string> names = {"square_avg"};
  if (has_momentum) names.emplace_back("momentum_buffer");
  if (centered) names.emplace_back("grad_avg");
  return names;
}

}  // namespace

AdaGrad::AdaGrad(const Options& options) : Optimizer(SlotNames{{"sum"}}), options_(options) {
  require_non_negative("adagrad", "rate_decay", options.rate_decay);
  require_non_negative("adagrad", "epsilon", options.epsilon);
  require_non_negative("adagrad", "weight_decay", options.weight_decay);
}

Array AdaGrad::update(const Update& at) const {
  const Array gradient =
      decayed(at.gradient, at.value, at.weight_decay.value_or(options_.weight_decay));
  Array& total = at.slots[0];
  begin_at_zero(total, gradient);
  total = total + square(gradient);
  const double rate =
      at.learning_rate / (1 + static_cast<double>(at.step - 1) * options_.rate_decay);
  return at.value - gradient * rate / (sqrt(total) + options_.epsilon);
}

RmsProp::RmsProp(const Options& options)
    : Optimizer(SlotNames{rms_prop_slots(options.momentum != 0, options.centered)}),
      options_(options) {
  optim_detail::require_share("rmsprop", "alpha", options.alpha);
  require_non_negative("rmsprop", "momentum", options.momentum);
  require_non_negative("rmsprop", "epsilon", options.epsilon);
  require_non_negative("rmsprop", "weight_decay", options.weight_decay);
}

Array RmsProp::update(const Update& at) const {
  const Array gradient =
      decayed(at.gradient, at.value, at.weight_decay.value_or(options_.weight_decay));
  Array& square_mean = at.slots[kSquareMean];
  begin_at_zero(square_mean, gradient);
  square_mean = moving(square_mean, square(gradient), options_.alpha);
  Array spread = square_mean;
  if (options_.centered) {
    Array& mean = at.slots.back();
    begin_at_zero(mean, gradient);
    mean = moving(mean, gradient, options_.alpha);
    // Rounding may leave less than nothing.
    spread = clamp_min(square_mean - square(mean), 0.0);
  }
  Array taken = gradient / (sqrt(spread) + options_.epsilon);
  if (options_.momentum != 0) {
    Array& momentum = at.slots[kSquareMean + 1];
    momentum = momentum.defined() ? momentum * options_.momentum + taken : taken;
    taken = momentum;
  }
  return at.value - taken * at.learning_rate;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
