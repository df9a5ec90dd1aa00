// Functions of typed tensors for losses, and Burn's modules loss and module have them too. A loss
// is one number, Tensor<1>; the losses of elements and rows themselves are what the functions in
// `_losses` give. `site` is the caller's line.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

// The name of the function that gives the losses: "mse_losses" of "mse_loss".
inline std::string name_of_losses(const std::string& op) {
  return op + (op.ends_with("_loss") ? "es" : "_losses");
}
// What f() gives by `reduction`, which must leave one number.
template <class F>
Tensor<1> one_loss(const char* op, Reduction reduction, CallSite site, F f) {
  return located(site, [&] {
    if (reduction == Reduction::none) {
      throw Error(ErrorCode::invalid_argument, std::string(op) +
                                                   ": no reduction; got Reduction::none, expected "
                                                   "one that leaves one number: " +
                                                   name_of_losses(op) + "() gives the losses");
    }
    return Tensor<1>(hearth::reshape(f(), {1}));
  });
}

}  // namespace tensor_detail

// The mean over the rows that count.
template <int R>
Tensor<1> cross_entropy(const Tensor<R>& logits, const Tensor<R - 1, Int>& targets,
                        std::int64_t ignore_index = -100, double label_smoothing = 0,
                        CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<1>(
        hearth::reshape(hearth::cross_entropy(logits.array(), targets.array(), Reduction::mean,
                                              ignore_index, label_smoothing),
                        {1}));
  });
}
template <int R>
Tensor<1> cross_entropy(const Tensor<R>& logits, const Tensor<R - 1, Int>& targets,
                        Reduction reduction, std::int64_t ignore_index = -100,
                        double label_smoothing = 0, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("cross_entropy", reduction, site, [&] {
    return hearth::cross_entropy(logits.array(), targets.array(), reduction, ignore_index,
                                 label_smoothing);
  });
}
template <int R, int T, TensorKind K, std::floating_point N, class... More>
Tensor<1> cross_entropy(const Tensor<R>&, const Tensor<T, K>&, N, More...) {
  static_assert(tensor_detail::kNever<N>,
                "the third argument is ignore_index, an integer: label_smoothing is the fourth");
  return {};
}
template <int R, int T, TensorKind K>
  requires(T != R - 1 || !std::same_as<K, Int>)
Tensor<1> cross_entropy(const Tensor<R>&, const Tensor<T, K>&) {
  static_assert(T == R - 1, "logits [..., classes] want targets of one rank less");
  static_assert(std::same_as<K, Int>, "targets are integers, the indices of classes: write int_()");
  return {};
}
// Targets of one kind or the other, as ops.h says.
template <int R, TensorKind K>
Tensor<1> binary_cross_entropy(
    const Tensor<R>& x, const Tensor<R, K>& targets,
    const std::optional<std::type_identity_t<Tensor<R>>>& weight = std::nullopt,
    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("binary_cross_entropy", reduction, site, [&] {
    return hearth::binary_cross_entropy(x.array(), targets.array(),
                                        weight ? weight->array() : Array(), reduction);
  });
}
template <int R, TensorKind K>
Tensor<1> binary_cross_entropy_with_logits(
    const Tensor<R>& x, const Tensor<R, K>& targets,
    const std::optional<std::type_identity_t<Tensor<R>>>& weight = std::nullopt,
    Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("binary_cross_entropy_with_logits", reduction, site, [&] {
    return hearth::binary_cross_entropy_with_logits(x.array(), targets.array(),
                                                    weight ? weight->array() : Array(), reduction);
  });
}
template <int R>
Tensor<1> l1_loss(const Tensor<R>& x, const Tensor<R>& targets,
                  Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("l1_loss", reduction, site, [&] {
    return hearth::l1_loss(x.array(), targets.array(), reduction);
  });
}
template <int R>
Tensor<1> mse_loss(const Tensor<R>& x, const Tensor<R>& targets,
                   Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("mse_loss", reduction, site, [&] {
    return hearth::mse_loss(x.array(), targets.array(), reduction);
  });
}
template <int R>
Tensor<1> lp_loss(const Tensor<R>& x, const Tensor<R>& targets, double p,
                  Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("lp_loss", reduction, site, [&] {
    return hearth::lp_loss(x.array(), targets.array(), p, reduction);
  });
}
template <int R>
Tensor<1> huber_loss(const Tensor<R>& x, const Tensor<R>& targets, double delta = 1,
                     Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("huber_loss", reduction, site, [&] {
    return hearth::huber_loss(x.array(), targets.array(), delta, reduction);
  });
}
template <int R>
Tensor<1> smooth_l1_loss(const Tensor<R>& x, const Tensor<R>& targets, double beta = 1,
                         Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("smooth_l1_loss", reduction, site, [&] {
    return hearth::smooth_l1_loss(x.array(), targets.array(), beta, reduction);
  });
}
template <int R>
Tensor<1> kl_div(const Tensor<R>& x, const Tensor<R>& targets, bool log_target = false,
                 Reduction reduction = Reduction::mean, CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("kl_div", reduction, site, [&] {
    return hearth::kl_div(x.array(), targets.array(), log_target, reduction);
  });
}
template <int R>
Tensor<1> gaussian_nll_loss(const Tensor<R>& x, const Tensor<R>& targets, const Tensor<R>& variance,
                            bool full = false, double epsilon = 1e-6,
                            Reduction reduction = Reduction::mean,
                            CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("gaussian_nll_loss", reduction, site, [&] {
    return hearth::gaussian_nll_loss(x.array(), targets.array(), variance.array(), full, epsilon,
                                     reduction);
  });
}
template <int R>
Tensor<1> poisson_nll_loss(const Tensor<R>& x, const Tensor<R>& targets, bool log_input = true,
                           bool full = false, double epsilon = 1e-8,
                           Reduction reduction = Reduction::mean,
                           CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("poisson_nll_loss", reduction, site, [&] {
    return hearth::poisson_nll_loss(x.array(), targets.array(), log_input, full, epsilon,
                                    reduction);
  });
}
template <int R, TensorKind K>
Tensor<1> hinge_embedding_loss(const Tensor<R>& x, const Tensor<R, K>& targets, double margin = 1,
                               Reduction reduction = Reduction::mean,
                               CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("hinge_embedding_loss", reduction, site, [&] {
    return hearth::hinge_embedding_loss(x.array(), targets.array(), margin, reduction);
  });
}
template <int R, TensorKind K>
Tensor<1> soft_margin_loss(const Tensor<R>& x, const Tensor<R, K>& targets,
                           Reduction reduction = Reduction::mean,
                           CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("soft_margin_loss", reduction, site, [&] {
    return hearth::soft_margin_loss(x.array(), targets.array(), reduction);
  });
}
template <int R, TensorKind K>
Tensor<1> margin_ranking_loss(const Tensor<R>& a, const Tensor<R>& b, const Tensor<R, K>& targets,
                              double margin = 0, Reduction reduction = Reduction::mean,
                              CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("margin_ranking_loss", reduction, site, [&] {
    return hearth::margin_ranking_loss(a.array(), b.array(), targets.array(), margin, reduction);
  });
}
template <TensorKind K>
Tensor<1> cosine_embedding_loss(const Tensor<2>& a, const Tensor<2>& b, const Tensor<1, K>& targets,
                                double margin = 0, Reduction reduction = Reduction::mean,
                                CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("cosine_embedding_loss", reduction, site, [&] {
    return hearth::cosine_embedding_loss(a.array(), b.array(), targets.array(), margin, reduction);
  });
}
inline Tensor<1> multi_margin_loss(const Tensor<2>& x, const Tensor<1, Int>& targets,
                                   double margin = 1, std::int64_t p = 1,
                                   const std::optional<Tensor<1>>& weight = std::nullopt,
                                   Reduction reduction = Reduction::mean,
                                   CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("multi_margin_loss", reduction, site, [&] {
    return hearth::multi_margin_loss(x.array(), targets.array(), margin, p,
                                     weight ? weight->array() : Array(), reduction);
  });
}
template <int R>
Tensor<1> triplet_margin_loss(const Tensor<R>& anchor, const Tensor<R>& positive,
                              const Tensor<R>& negative, double margin = 1, double p = 2,
                              bool swap = false, double epsilon = 1e-6,
                              Reduction reduction = Reduction::mean,
                              CallSite site = CallSite::here()) {
  return tensor_detail::one_loss("triplet_margin_loss", reduction, site, [&] {
    return hearth::triplet_margin_loss(anchor.array(), positive.array(), negative.array(), margin,
                                       p, swap, epsilon, reduction);
  });
}

// ---- The losses themselves: of elements [...] as x, of rows [batch]

// [...] of logits [..., classes].
template <int R>
Tensor<R - 1> cross_entropy_losses(const Tensor<R>& logits, const Tensor<R - 1, Int>& targets,
                                   std::int64_t ignore_index = -100, double label_smoothing = 0,
                                   CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    return Tensor<R - 1>(hearth::cross_entropy(logits.array(), targets.array(), Reduction::none,
                                               ignore_index, label_smoothing));
  });
}
template <int R, TensorKind K>
Tensor<R> binary_cross_entropy_losses(
    const Tensor<R>& x, const Tensor<R, K>& targets,
    const std::optional<std::type_identity_t<Tensor<R>>>& weight = std::nullopt,
    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::binary_cross_entropy(
        x.array(), targets.array(), weight ? weight->array() : Array(), Reduction::none));
  });
}
template <int R, TensorKind K>
Tensor<R> binary_cross_entropy_with_logits_losses(
    const Tensor<R>& x, const Tensor<R, K>& targets,
    const std::optional<std::type_identity_t<Tensor<R>>>& weight = std::nullopt,
    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::binary_cross_entropy_with_logits(
        x.array(), targets.array(), weight ? weight->array() : Array(), Reduction::none));
  });
}
template <int R>
Tensor<R> l1_losses(const Tensor<R>& x, const Tensor<R>& targets,
                    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::l1_loss(x.array(), targets.array(), Reduction::none));
  });
}
template <int R>
Tensor<R> mse_losses(const Tensor<R>& x, const Tensor<R>& targets,
                     CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::mse_loss(x.array(), targets.array(), Reduction::none));
  });
}
template <int R>
Tensor<R> lp_losses(const Tensor<R>& x, const Tensor<R>& targets, double p,
                    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::lp_loss(x.array(), targets.array(), p, Reduction::none));
  });
}
template <int R>
Tensor<R> huber_losses(const Tensor<R>& x, const Tensor<R>& targets, double delta = 1,
                       CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::huber_loss(x.array(), targets.array(), delta, Reduction::none));
  });
}
template <int R>
Tensor<R> smooth_l1_losses(const Tensor<R>& x, const Tensor<R>& targets, double beta = 1,
                           CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::smooth_l1_loss(x.array(), targets.array(), beta, Reduction::none));
  });
}
template <int R>
Tensor<R> kl_div_losses(const Tensor<R>& x, const Tensor<R>& targets, bool log_target = false,
                        CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::kl_div(x.array(), targets.array(), log_target, Reduction::none));
  });
}
template <int R>
Tensor<R> gaussian_nll_losses(const Tensor<R>& x, const Tensor<R>& targets,
                              const Tensor<R>& variance, bool full = false, double epsilon = 1e-6,
                              CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::gaussian_nll_loss(x.array(), targets.array(), variance.array(), full,
                                               epsilon, Reduction::none));
  });
}
template <int R>
Tensor<R> poisson_nll_losses(const Tensor<R>& x, const Tensor<R>& targets, bool log_input = true,
                             bool full = false, double epsilon = 1e-8,
                             CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::poisson_nll_loss(x.array(), targets.array(), log_input, full, epsilon,
                                              Reduction::none));
  });
}
template <int R, TensorKind K>
Tensor<R> hinge_embedding_losses(const Tensor<R>& x, const Tensor<R, K>& targets, double margin = 1,
                                 CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(
        hearth::hinge_embedding_loss(x.array(), targets.array(), margin, Reduction::none));
  });
}
template <int R, TensorKind K>
Tensor<R> soft_margin_losses(const Tensor<R>& x, const Tensor<R, K>& targets,
                             CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::soft_margin_loss(x.array(), targets.array(), Reduction::none));
  });
}
template <int R, TensorKind K>
Tensor<R> margin_ranking_losses(const Tensor<R>& a, const Tensor<R>& b, const Tensor<R, K>& targets,
                                double margin = 0, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::margin_ranking_loss(a.array(), b.array(), targets.array(), margin,
                                                 Reduction::none));
  });
}
template <TensorKind K>
Tensor<1> cosine_embedding_losses(const Tensor<2>& a, const Tensor<2>& b,
                                  const Tensor<1, K>& targets, double margin = 0,
                                  CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<1>(hearth::cosine_embedding_loss(a.array(), b.array(), targets.array(), margin,
                                                   Reduction::none));
  });
}
inline Tensor<1> multi_margin_losses(const Tensor<2>& x, const Tensor<1, Int>& targets,
                                     double margin = 1, std::int64_t p = 1,
                                     const std::optional<Tensor<1>>& weight = std::nullopt,
                                     CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<1>(hearth::multi_margin_loss(x.array(), targets.array(), margin, p,
                                               weight ? weight->array() : Array(),
                                               Reduction::none));
  });
}
template <int R>
Tensor<R - 1> triplet_margin_losses(const Tensor<R>& anchor, const Tensor<R>& positive,
                                    const Tensor<R>& negative, double margin = 1, double p = 2,
                                    bool swap = false, double epsilon = 1e-6,
                                    CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    return Tensor<R - 1>(hearth::triplet_margin_loss(anchor.array(), positive.array(),
                                                     negative.array(), margin, p, swap, epsilon,
                                                     Reduction::none));
  });
}

// One loss for each sample, [batch], unless a reduction makes one number of them.
inline Tensor<1> ctc_loss(const Tensor<3>& log_probs, const Tensor<2, Int>& targets,
                          const Tensor<1, Int>& input_lengths, const Tensor<1, Int>& target_lengths,
                          std::int64_t blank = 0, Reduction reduction = Reduction::none,
                          bool zero_infinity = false, CallSite site = CallSite::here()) {
  return located(site, [&] {
    const Array losses = hearth::ctc_loss(log_probs.array(), targets.array(), input_lengths.array(),
                                          target_lengths.array(), blank, reduction, zero_infinity);
    return Tensor<1>(hearth::reshape(losses, {-1}));
  });
}
inline Tensor<1> rnnt_loss(const Tensor<4>& log_probs, const Tensor<2, Int>& targets,
                           const Tensor<1, Int>& input_lengths,
                           const Tensor<1, Int>& target_lengths, std::int64_t blank = 0,
                           Reduction reduction = Reduction::none,
                           CallSite site = CallSite::here()) {
  return located(site, [&] {
    const Array losses =
        hearth::rnnt_loss(log_probs.array(), targets.array(), input_lengths.array(),
                          target_lengths.array(), blank, reduction);
    return Tensor<1>(hearth::reshape(losses, {-1}));
  });
}

namespace module {
using hearth::ctc_loss;
}  // namespace module

namespace loss {
using hearth::binary_cross_entropy;
using hearth::binary_cross_entropy_with_logits;
using hearth::cosine_embedding_loss;
using hearth::ctc_loss;
using hearth::gaussian_nll_loss;
using hearth::hinge_embedding_loss;
using hearth::huber_loss;
using hearth::kl_div;
using hearth::l1_loss;
using hearth::lp_loss;
using hearth::margin_ranking_loss;
using hearth::mse_loss;
using hearth::multi_margin_loss;
using hearth::poisson_nll_loss;
using hearth::rnnt_loss;
using hearth::smooth_l1_loss;
using hearth::soft_margin_loss;
using hearth::triplet_margin_loss;

inline Tensor<1> cross_entropy_with_logits(const Tensor<2>& logits, const Tensor<1, Int>& targets,
                                           CallSite site = CallSite::here()) {
  return located_as("cross_entropy_with_logits", site,
                    [&] { return cross_entropy(logits, targets); });
}
}  // namespace loss

}  // namespace v0
}  // namespace hearth
