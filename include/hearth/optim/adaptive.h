// Optimizers with a rate for each element. Rules for all optimizers: hearth/optim.h.
#pragma once

#include "hearth/optim/optimizer.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// AdaGrad (Duchi et al. 2011): g += weight_decay * w; s += g^2;
// w -= learning_rate / (1 + (step - 1) * rate_decay) * g / (sqrt(s) + epsilon).
class HEARTH_API AdaGrad : public Optimizer {
 public:
  struct Options {
    double rate_decay = 0;
    double epsilon = 1e-5;  // Burn's; PyTorch's is 1e-10
    double weight_decay = 0;
  };
  // Throws Error{invalid_argument} for numbers out of range, as all below do.
  using Optimizer::Optimizer;
  explicit AdaGrad(const Options& options);
  AdaGrad() : AdaGrad(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

// RMSProp (Tieleman and Hinton 2012): g += weight_decay * w; v = alpha * v + (1 - alpha) * g^2,
// minus the square of the mean gradient where `centered`; b = momentum * b + g / (sqrt(v) +
// epsilon); w -= learning_rate * b.
class HEARTH_API RmsProp : public Optimizer {
 public:
  struct Options {
    double alpha = 0.99;
    double momentum = 0.9;  // Burn's; PyTorch's is 0
    double epsilon = 1e-5;  // Burn's; PyTorch's is 1e-8
    bool centered = false;
    double weight_decay = 0;
  };
  using Optimizer::Optimizer;
  explicit RmsProp(const Options& options);
  RmsProp() : RmsProp(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

}  // namespace optim
}  // namespace v0
}  // namespace hearth
