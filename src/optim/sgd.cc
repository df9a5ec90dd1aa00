#include "hearth/optim/sgd.h"

#include "optim/moving.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {

Sgd::Sgd(const Options& options)
    : Optimizer(options.momentum != 0 ? SlotNames{{"momentum"}} : SlotNames{}), options_(options) {
  using namespace optim_detail;
  require_non_negative("sgd", "momentum", options.momentum);
  require_non_negative("sgd", "weight_decay", options.weight_decay);
  require_in_range(std::isfinite(options.dampening), "sgd", "dampening", options.dampening,
                   "a finite number");
  require_in_range(!options.nesterov || options.momentum > 0, "sgd", "nesterov's momentum",
                   options.momentum, "> 0");
}

Array Sgd::update(const Update& at) const {
  Array gradient =
      optim_detail::decayed(at.gradient, at.value, at.weight_decay.value_or(options_.weight_decay));
  if (options_.momentum != 0) {
    Array& momentum = at.slots[0];
    momentum = momentum.defined()
                   ? momentum * options_.momentum + gradient * (1 - options_.dampening)
                   : gradient;
    gradient = options_.nesterov ? gradient + momentum * options_.momentum : momentum;
  }
  return at.value - gradient * at.learning_rate;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
