// Losses. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Losses

// What is made of the losses of elements, rows or samples: nothing, one number, or (batch_mean)
// their sum divided by the first extent. `auto_` is Burn's Auto, which is the mean everywhere.
enum class Reduction : std::uint8_t { none, mean, sum, batch_mean, auto_ = mean };
// -log softmax(logits)[target] in nats: logits [..., classes], index targets [...]. Rows whose
// target is `ignore_index` give 0 and do not count in the mean. Half logits give f32. A target out
// of range gives NaN. `label_smoothing` (0 to 1) of the target is spread evenly over all classes.
HEARTH_API Array cross_entropy(const Array& logits, const Array& targets,
                               Reduction reduction = Reduction::mean,
                               std::int64_t ignore_index = -100, double label_smoothing = 0);

// ---- Losses of elements
// Of x against targets of its shape, else Error{shape}. Float dtypes; targets have that of x, where
// said they may be integers or bools. Halves compute in f32, and results have the dtype of x.

// -(t log x + (1 - t) log(1 - x)) of probabilities x, logarithms being -100 at least and slopes of
// them 1e12 at most, as in PyTorch; times `weight`, which broadcasts to x. Targets may be integers.
HEARTH_API Array binary_cross_entropy(const Array& x, const Array& targets,
                                      const Array& weight = Array(),
                                      Reduction reduction = Reduction::mean);
// binary_cross_entropy of sigmoid(x), without overflow. Targets may be integers.
HEARTH_API Array binary_cross_entropy_with_logits(const Array& x, const Array& targets,
                                                  const Array& weight = Array(),
                                                  Reduction reduction = Reduction::mean);
HEARTH_API Array l1_loss(const Array& x, const Array& targets,
                         Reduction reduction = Reduction::mean);  // |x - t|
HEARTH_API Array mse_loss(const Array& x, const Array& targets,
                          Reduction reduction = Reduction::mean);  // (x - t)^2
// |x - t|^p for a positive p; its gradient where x = t is 0.
HEARTH_API Array lp_loss(const Array& x, const Array& targets, double p,
                         Reduction reduction = Reduction::mean);
// (x - t)^2 / 2 where |x - t| <= delta, else delta (|x - t| - delta / 2), for a positive delta.
HEARTH_API Array huber_loss(const Array& x, const Array& targets, double delta = 1,
                            Reduction reduction = Reduction::mean);
// huber_loss of delta = beta divided by beta; l1_loss for a beta of 0.
HEARTH_API Array smooth_l1_loss(const Array& x, const Array& targets, double beta = 1,
                                Reduction reduction = Reduction::mean);
// t (log t - x) of log-probabilities x, 0 where t is 0 and x is not NaN; with `log_target`, e^t (t
// - x).
HEARTH_API Array kl_div(const Array& x, const Array& targets, bool log_target = false,
                        Reduction reduction = Reduction::mean);
// (log v + (x - t)^2 / v) / 2, v being `variance`, of x's shape, but `epsilon` at least, where its
// gradient is 0; with `full`, log(2 pi) / 2 more.
HEARTH_API Array gaussian_nll_loss(const Array& x, const Array& targets, const Array& variance,
                                   bool full = false, double epsilon = 1e-6,
                                   Reduction reduction = Reduction::mean);
// e^x - t x, or x - t log(x + epsilon) without `log_input`; with `full`, Stirling's log t! more
// where t > 1.
HEARTH_API Array poisson_nll_loss(const Array& x, const Array& targets, bool log_input = true,
                                  bool full = false, double epsilon = 1e-8,
                                  Reduction reduction = Reduction::mean);
// Targets 1 and -1, which may be integers: x where t is 1, max(0, margin - x) where it is -1, and
// both added, as in PyTorch, elsewhere.
HEARTH_API Array hinge_embedding_loss(const Array& x, const Array& targets, double margin = 1,
                                      Reduction reduction = Reduction::mean);
// log(1 + e^(-t x)), without overflow. Targets 1 and -1, which may be integers.
HEARTH_API Array soft_margin_loss(const Array& x, const Array& targets,
                                  Reduction reduction = Reduction::mean);
// max(0, margin - t (a - b)). Targets 1 and -1, which may be integers.
HEARTH_API Array margin_ranking_loss(const Array& a, const Array& b, const Array& targets,
                                     double margin = 0, Reduction reduction = Reduction::mean);

// ---- Losses of rows
// The dtypes of losses of elements.

// a, b [batch, dim], targets [batch] of 1 and -1, which may be integers: 1 - cos where t is 1, and
// max(0, cos - margin) where it is -1; of another target 0.
HEARTH_API Array cosine_embedding_loss(const Array& a, const Array& b, const Array& targets,
                                       double margin = 0, Reduction reduction = Reduction::mean);
// x [batch, classes], index targets [batch]: the sum over the other classes of
// max(0, margin - x[t] + x[i])^p, times weight[t] of weight [classes] if defined, divided by
// classes. p is 1 or 2. A target out of range gives NaN.
HEARTH_API Array multi_margin_loss(const Array& x, const Array& targets, double margin = 1,
                                   std::int64_t p = 1, const Array& weight = Array(),
                                   Reduction reduction = Reduction::mean);
// Rows [..., dim] of one shape: max(0, d(anchor, positive) - d(anchor, negative) + margin), d being
// vector_norm of the difference plus `epsilon`, as in PyTorch. With `swap`, d(positive, negative)
// takes the place of the second distance where it is smaller (Balntas et al. 2016).
HEARTH_API Array triplet_margin_loss(const Array& anchor, const Array& positive,
                                     const Array& negative, double margin = 1, double p = 2,
                                     bool swap = false, double epsilon = 1e-6,
                                     Reduction reduction = Reduction::mean);

// ---- Losses of sequences
// One loss for each sample, -log of the probability of all alignments; float dtypes, halves give
// f32. Lengths [batch] and targets [batch, labels] are indices; what stands behind a sample's
// length is not read, and a length or a label that does not exist gives NaN, as gradients too. A
// target that no alignment gives costs infinity, with gradients of 0.

// Connectionist temporal classification (Graves et al. 2006): log_probs [time, batch, classes].
// The sum and the mean are of losses divided by the target's length, 1 at least, for
// Reduction::mean, and of the losses themselves else; with `zero_infinity` infinite ones count 0.
// No reduction unless asked for, as in Burn; PyTorch's is the mean.
HEARTH_API Array ctc_loss(const Array& log_probs, const Array& targets, const Array& input_lengths,
                          const Array& target_lengths, std::int64_t blank = 0,
                          Reduction reduction = Reduction::none, bool zero_infinity = false);
// The loss of a transducer (Graves 2012): log_probs [batch, time, labels + 1, classes].
HEARTH_API Array rnnt_loss(const Array& log_probs, const Array& targets, const Array& input_lengths,
                           const Array& target_lengths, std::int64_t blank = 0,
                           Reduction reduction = Reduction::none);

}  // namespace v0
}  // namespace hearth
