// Losses as Burn's modules: what is fixed is a public member, predictions and targets come with the
// call. `forward` gives one number, of all losses as Reduction says, and `forward_no_reduction` the
// losses themselves; arrays and typed tensors alike. Defaults are Burn's.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/parameter.h"

namespace hearth {
inline namespace v0 {
namespace nn {

namespace loss_detail {

// Throws Error{invalid_argument} for Reduction::none, whose result is no one number.
HEARTH_API Reduction reducing(const char* loss, Reduction reduction);
HEARTH_API Tensor<1> one_number(const Array& loss);

}  // namespace loss_detail

// forward() and forward_no_reduction() of a prediction and its targets, from
//   Array losses(const Array& x, const Array& targets, Reduction reduction) const;
#define HEARTH_NN_LOSS_OF_PAIRS(name, TargetKind)                                                \
  Array forward(const Array& x, const Array& targets, Reduction reduction = Reduction::mean)     \
      const {                                                                                    \
    return losses(x, targets, loss_detail::reducing(name, reduction));                           \
  }                                                                                              \
  Array forward_no_reduction(const Array& x, const Array& targets) const {                       \
    return losses(x, targets, Reduction::none);                                                  \
  }                                                                                              \
  template <int R>                                                                               \
  Tensor<1> forward(const Tensor<R>& x, const Tensor<R, TargetKind>& targets,                    \
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here())     \
      const {                                                                                    \
    return located(site, [&] {                                                                   \
      return loss_detail::one_number(forward(x.array(), targets.array(), reduction));            \
    });                                                                                          \
  }                                                                                              \
  template <int R>                                                                               \
  Tensor<R> forward_no_reduction(const Tensor<R>& x, const Tensor<R, TargetKind>& targets,       \
                                 CallSite site = CallSite::here()) const {                       \
    return located(site,                                                                         \
                   [&] { return Tensor<R>(forward_no_reduction(x.array(), targets.array())); }); \
  }                                                                                              \
  HEARTH_NN_NO_MEMBERS
#define HEARTH_NN_NO_MEMBERS           \
  template <class Self, class Visitor> \
  static void members(Self&, Visitor&&) {}

// binary_cross_entropy() of probabilities or, with `logits`, of what sigmoid() is to make of x.
// Targets are 0 or 1.
struct HEARTH_API BinaryCrossEntropyLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("binary_cross_entropy", Int)

  // One for each class, the last axis of x; of x [batch], for the targets 0 and 1.
  std::vector<double> weights = {};
  // The share (0 to 1) of the target that is spread evenly over the classes, 2 of x [batch].
  double smoothing = 0;
  bool logits = false;
};

// |x - t|^p: the mean absolute error for p = 1, the mean squared one for 2.
struct HEARTH_API LpLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("lp_loss", Float)

  double p = 2;
};

// (x - t)^2.
struct HEARTH_API MseLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("mse_loss", Float)
};

// huber_loss().
struct HEARTH_API HuberLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("huber_loss", Float)

  double delta = 1;
};

// smooth_l1_loss().
struct HEARTH_API SmoothL1Loss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("smooth_l1_loss", Float)

  double beta = 1;
};

// kl_div() of log-probabilities.
struct HEARTH_API KlDivLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("kl_div", Float)

  bool log_target = false;
};

// poisson_nll_loss().
struct HEARTH_API PoissonNllLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("poisson_nll_loss", Float)

  bool log_input = true;
  bool full = false;
  double epsilon = 1e-8;
};

// hinge_embedding_loss() of targets 1 and -1.
struct HEARTH_API HingeEmbeddingLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("hinge_embedding_loss", Int)

  double margin = 1;
};

// soft_margin_loss() of targets 1 and -1.
struct HEARTH_API SoftMarginLoss {
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  HEARTH_NN_LOSS_OF_PAIRS("soft_margin_loss", Int)
};

// -log of the probability of the target's class: x [..., classes], targets [...].
struct HEARTH_API CrossEntropyLoss {
  // A mean is the sum over rows divided by their number, or, with weights, by the sum of those of
  // the targets. As in Burn, rows whose target is a pad token give 0 but count.
  Array losses(const Array& x, const Array& targets, Reduction reduction) const;
  Array forward(const Array& x, const Array& targets, Reduction reduction = Reduction::mean) const {
    return losses(x, targets, loss_detail::reducing("cross_entropy", reduction));
  }
  Array forward_no_reduction(const Array& x, const Array& targets) const {
    return losses(x, targets, Reduction::none);
  }
  template <int R>
    requires(R >= 2)
  Tensor<1> forward(const Tensor<R>& x, const Tensor<R - 1, Int>& targets,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(forward(x.array(), targets.array(), reduction));
    });
  }
  template <int R>
    requires(R >= 2)
  Tensor<R - 1> forward_no_reduction(const Tensor<R>& x, const Tensor<R - 1, Int>& targets,
                                     CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Tensor<R - 1>(forward_no_reduction(x.array(), targets.array())); });
  }
  HEARTH_NN_NO_MEMBERS

  std::vector<std::int64_t> pad_tokens = {};
  std::vector<double> weights = {};  // one for each class
  double smoothing = 0;              // the share of the target that is spread evenly (0 to 1)
  bool logits = true;                // whether x is what softmax() makes probabilities of
};

// gaussian_nll_loss() of a mean, a target and a variance.
struct HEARTH_API GaussianNllLoss {
  Array forward(const Array& x, const Array& targets, const Array& variance,
                Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& x, const Array& targets, const Array& variance) const;
  template <int R>
  Tensor<1> forward(const Tensor<R>& x, const Tensor<R>& targets, const Tensor<R>& variance,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(
          forward(x.array(), targets.array(), variance.array(), reduction));
    });
  }
  template <int R>
  Tensor<R> forward_no_reduction(const Tensor<R>& x, const Tensor<R>& targets,
                                 const Tensor<R>& variance,
                                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<R>(forward_no_reduction(x.array(), targets.array(), variance.array()));
    });
  }
  HEARTH_NN_NO_MEMBERS

  bool full = false;
  double epsilon = 1e-6;
};

// margin_ranking_loss() of two inputs and targets 1 and -1.
struct HEARTH_API MarginRankingLoss {
  Array forward(const Array& a, const Array& b, const Array& targets,
                Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& a, const Array& b, const Array& targets) const;
  template <int R>
  Tensor<1> forward(const Tensor<R>& a, const Tensor<R>& b, const Tensor<R, Int>& targets,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(forward(a.array(), b.array(), targets.array(), reduction));
    });
  }
  template <int R>
  Tensor<R> forward_no_reduction(const Tensor<R>& a, const Tensor<R>& b,
                                 const Tensor<R, Int>& targets,
                                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<R>(forward_no_reduction(a.array(), b.array(), targets.array()));
    });
  }
  HEARTH_NN_NO_MEMBERS

  double margin = 0;
};

// cosine_embedding_loss() of rows a, b [batch, dim] and targets [batch] of 1 and -1.
struct HEARTH_API CosineEmbeddingLoss {
  Array forward(const Array& a, const Array& b, const Array& targets,
                Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& a, const Array& b, const Array& targets) const;
  Tensor<1> forward(const Tensor<2>& a, const Tensor<2>& b, const Tensor<1, Int>& targets,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(forward(a.array(), b.array(), targets.array(), reduction));
    });
  }
  Tensor<1> forward_no_reduction(const Tensor<2>& a, const Tensor<2>& b,
                                 const Tensor<1, Int>& targets,
                                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<1>(forward_no_reduction(a.array(), b.array(), targets.array()));
    });
  }
  HEARTH_NN_NO_MEMBERS

  double margin = 0;
};

// multi_margin_loss() of scores x [batch, classes] and targets [batch].
struct HEARTH_API MultiMarginLoss {
  Array forward(const Array& x, const Array& targets, Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& x, const Array& targets) const;
  Tensor<1> forward(const Tensor<2>& x, const Tensor<1, Int>& targets,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(forward(x.array(), targets.array(), reduction));
    });
  }
  Tensor<1> forward_no_reduction(const Tensor<2>& x, const Tensor<1, Int>& targets,
                                 CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Tensor<1>(forward_no_reduction(x.array(), targets.array())); });
  }
  HEARTH_NN_NO_MEMBERS

  double margin = 1;
  std::int64_t p = 1;
  std::vector<double> weights = {};  // one for each class, or none
};

// triplet_margin_loss() of rows [batch, dim].
struct HEARTH_API TripletMarginLoss {
  Array forward(const Array& anchor, const Array& positive, const Array& negative,
                Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& anchor, const Array& positive,
                             const Array& negative) const;
  Tensor<1> forward(const Tensor<2>& anchor, const Tensor<2>& positive, const Tensor<2>& negative,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(
          forward(anchor.array(), positive.array(), negative.array(), reduction));
    });
  }
  Tensor<1> forward_no_reduction(const Tensor<2>& anchor, const Tensor<2>& positive,
                                 const Tensor<2>& negative,
                                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<1>(forward_no_reduction(anchor.array(), positive.array(), negative.array()));
    });
  }
  HEARTH_NN_NO_MEMBERS

  double margin = 1;
  double p = 2;
  bool swap = false;
  double epsilon = 1e-6;
};

// ctc_loss() of log-probabilities [time, batch, classes].
struct HEARTH_API CtcLoss {
  Array forward(const Array& log_probs, const Array& targets, const Array& input_lengths,
                const Array& target_lengths, Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& log_probs, const Array& targets,
                             const Array& input_lengths, const Array& target_lengths) const;
  Tensor<1> forward(const Tensor<3>& log_probs, const Tensor<2, Int>& targets,
                    const Tensor<1, Int>& input_lengths, const Tensor<1, Int>& target_lengths,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(forward(log_probs.array(), targets.array(),
                                             input_lengths.array(), target_lengths.array(),
                                             reduction));
    });
  }
  Tensor<1> forward_no_reduction(const Tensor<3>& log_probs, const Tensor<2, Int>& targets,
                                 const Tensor<1, Int>& input_lengths,
                                 const Tensor<1, Int>& target_lengths,
                                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<1>(forward_no_reduction(log_probs.array(), targets.array(),
                                            input_lengths.array(), target_lengths.array()));
    });
  }
  HEARTH_NN_NO_MEMBERS

  std::int64_t blank = 0;
  bool zero_infinity = false;
};

// rnnt_loss() of logits [batch, time, labels + 1, classes], or of log-probabilities.
struct HEARTH_API RnntLoss {
  Array forward(const Array& x, const Array& targets, const Array& input_lengths,
                const Array& target_lengths, Reduction reduction = Reduction::mean) const;
  Array forward_no_reduction(const Array& x, const Array& targets, const Array& input_lengths,
                             const Array& target_lengths) const;
  Tensor<1> forward(const Tensor<4>& x, const Tensor<2, Int>& targets,
                    const Tensor<1, Int>& input_lengths, const Tensor<1, Int>& target_lengths,
                    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return loss_detail::one_number(forward(x.array(), targets.array(), input_lengths.array(),
                                             target_lengths.array(), reduction));
    });
  }
  Tensor<1> forward_no_reduction(const Tensor<4>& x, const Tensor<2, Int>& targets,
                                 const Tensor<1, Int>& input_lengths,
                                 const Tensor<1, Int>& target_lengths,
                                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<1>(forward_no_reduction(x.array(), targets.array(), input_lengths.array(),
                                            target_lengths.array()));
    });
  }
  HEARTH_NN_NO_MEMBERS

  std::int64_t blank = 0;
  bool logits = true;  // whether x is what log_softmax() makes log-probabilities of
};

#undef HEARTH_NN_LOSS_OF_PAIRS
#undef HEARTH_NN_NO_MEMBERS

}  // namespace nn
}  // namespace v0
}  // namespace hearth
