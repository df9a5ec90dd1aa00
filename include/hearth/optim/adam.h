// Adam and its kin. Rules for all optimizers: hearth/optim.h.
#pragma once

#include "hearth/optim/optimizer.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// Adam (Kingma and Ba 2015): weight_decay is added to the gradient. With `amsgrad` (Reddi et al.
// 2018) the largest mean of squares so far takes the place of the last one.
class HEARTH_API Adam : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-5;  // Burn's; PyTorch's is 1e-8
    double weight_decay = 0;
    bool amsgrad = false;
  };
  // Throws Error{invalid_argument} for numbers out of range, as all below do.
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
// `decay_vectors` is false. With `cautious` (Chen et al. 2025) only elements decay whose mean
// gradient has their sign; 0 counts as positive.
class HEARTH_API AdamW : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-5;       // Burn's; PyTorch's is 1e-8
    double weight_decay = 1e-4;  // Burn's; PyTorch's is 1e-2
    bool decay_vectors = true;
    bool cautious = false;
    bool amsgrad = false;
  };
  using Optimizer::Optimizer;
  explicit AdamW(const Options& options);
  AdamW() : AdamW(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

// Adaptive Nesterov momentum (Xie et al. 2022): means of gradients m (beta1), of their differences
// d (beta2) and of the squares v (beta3) of gradient + beta2 * difference;
// w -= learning_rate * (m^ + beta2 * d^) / (sqrt(v^) + epsilon), then w /= 1 + learning_rate *
// weight_decay, or with `no_prox` w *= 1 - learning_rate * weight_decay before. The difference is 0
// on the first step. Betas are those of Burn; the paper's are 1 minus its own.
class HEARTH_API Adan : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.98;
    double beta2 = 0.92;
    double beta3 = 0.99;
    double epsilon = 1e-8;
    double weight_decay = 0;
    bool no_prox = false;
  };
  using Optimizer::Optimizer;
  explicit Adan(const Options& options);
  Adan() : Adan(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

// Lion (Chen et al. 2023): w *= 1 - learning_rate * weight_decay;
// w -= learning_rate * sign(beta1 * m + (1 - beta1) * g); m = beta2 * m + (1 - beta2) * g.
class HEARTH_API Lion : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.99;
    double weight_decay = 0;
  };
  using Optimizer::Optimizer;
  explicit Lion(const Options& options);
  Lion() : Lion(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

}  // namespace optim
}  // namespace v0
}  // namespace hearth
