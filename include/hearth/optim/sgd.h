// Stochastic gradient descent. Rules for all optimizers: hearth/optim.h.
#pragma once

#include "hearth/optim/optimizer.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// Stochastic gradient descent: g += weight_decay * w; m = momentum * m + (1 - dampening) * g (m = g
// on the first step); nesterov: g += momentum * m, else g = m; w -= learning_rate * g.
class HEARTH_API Sgd : public Optimizer {
 public:
  struct Options {
    double momentum = 0;
    // Burn's. PyTorch's default is 0; with nesterov PyTorch permits only 0, Hearth any.
    double dampening = 0.1;
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

}  // namespace optim
}  // namespace v0
}  // namespace hearth
