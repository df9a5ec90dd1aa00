#include "hearth/nn/loss.h"

#include <limits>
#include <string>

#include "core/require.h"
#include "core/throw_as.h"

namespace hearth {
inline namespace v0 {
namespace nn {

namespace loss_detail {

Reduction reducing(const char* loss, Reduction reduction) {
  if (reduction != Reduction::none) return reduction;
  throw Error(ErrorCode::invalid_argument,
              std::string(loss) +
                  ": no reduction; got Reduction::none, expected another one: "
                  "forward_no_reduction() gives the losses");
}

Tensor<1> one_number(const Array& loss) { return Tensor<1>(reshape(loss, {1})); }

}  // namespace loss_detail

namespace {

using loss_detail::reducing;

void require_share(const char* loss, double smoothing) {
  require_in_range(smoothing >= 0 && smoothing <= 1, loss, "smoothing", smoothing,
                   "a number from 0 to 1");
}

// One for each of `classes`.
Array class_weights(const char* loss, const std::vector<double>& weights, std::int64_t classes,
                    const Array& x) {
  const auto count = static_cast<std::int64_t>(weights.size());
  if (count != classes) {
    throw Error(ErrorCode::shape, std::string(loss) + ": one weight a class is needed; got " +
                                      std::to_string(count) + ", expected " +
                                      std::to_string(classes));
  }
  return cast(Array::from_data(weights, {count}, x.device()), x.dtype());
}

Shape without_last(const Shape& shape) {
  Shape rest;
  for (int i = 0; i + 1 < shape.rank(); ++i) rest.push_back(shape[i]);
  return rest;
}

bool is_index(const Array& x) { return x.dtype() == DType::i64 || x.dtype() == DType::i32; }

Array to_f32_at_least(const Array& x) { return x.dtype() == DType::f64 ? x : cast(x, DType::f32); }

}  // namespace

Array BinaryCrossEntropyLoss::losses(const Array& x, const Array& targets,
                                     Reduction reduction) const try {
  const char* loss = "binary_cross_entropy";
  require_share(loss, smoothing);
  if (!x.defined() || !targets.defined() || !is_float(x.dtype()) || x.shape() != targets.shape()) {
    // What is wrong with them, the function says.
    return binary_cross_entropy(x, targets, Array(), reduction);
  }
  const bool has_classes = x.rank() > 1;
  const std::int64_t classes = has_classes ? x.shape().back() : 2;
  Array weight;
  if (!weights.empty()) {
    weight = class_weights(loss, weights, classes, x);
    if (!has_classes) weight = select(weight, flatten(cast(targets, DType::i64)), 0);
    if (x.rank() == 0) weight = reshape(weight, {});
  }
  Array wanted = targets;
  if (smoothing > 0) {
    wanted = cast(targets, x.dtype());
    wanted = add(mul(wanted, 1 - smoothing), smoothing / static_cast<double>(classes));
  }
  return logits ? binary_cross_entropy_with_logits(x, wanted, weight, reduction)
                : binary_cross_entropy(x, wanted, weight, reduction);
} catch (const Error& error) {
  throw_as("binary_cross_entropy", error);
}

Array LpLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return lp_loss(x, targets, p, reduction);
}

Array MseLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return mse_loss(x, targets, reduction);
}

Array HuberLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return huber_loss(x, targets, delta, reduction);
}

Array SmoothL1Loss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return smooth_l1_loss(x, targets, beta, reduction);
}

Array KlDivLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return kl_div(x, targets, log_target, reduction);
}

Array PoissonNllLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return poisson_nll_loss(x, targets, log_input, full, epsilon, reduction);
}

Array HingeEmbeddingLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return hinge_embedding_loss(x, targets, margin, reduction);
}

Array SoftMarginLoss::losses(const Array& x, const Array& targets, Reduction reduction) const {
  return soft_margin_loss(x, targets, reduction);
}

Array CrossEntropyLoss::losses(const Array& x, const Array& targets, Reduction reduction) const
    try {
  const char* loss = "cross_entropy";
  require_share(loss, smoothing);
  if (x.defined() && targets.defined() && (!is_float(x.dtype()) || !is_index(targets))) {
    throw Error(ErrorCode::dtype, "cross_entropy: predictions or targets of wrong dtype; got " +
                                      std::string(name(x.dtype())) + " and " +
                                      std::string(name(targets.dtype())) +
                                      ", expected floats and i32 or i64");
  }
  if (!x.defined() || !targets.defined() || x.rank() < 1 ||
      targets.shape() != without_last(x.shape())) {
    throw Error(
        ErrorCode::shape,
        "cross_entropy: predictions and targets do not fit; got " +
            (x.defined() ? to_string(x.shape()) : std::string("an undefined array")) + " and " +
            (targets.defined() ? to_string(targets.shape()) : std::string("an undefined array")) +
            ", expected floats [..., classes] and indices [...]");
  }
  const std::int64_t classes = x.shape().back();
  const Array values = to_f32_at_least(x), ids = cast(targets, DType::i64);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (classes == 0) {
    // NaN, with a gradient.
    return add(reduction == Reduction::none ? sum(values, {-1}) : sum(values), nan);
  }
  const Array valid = logical_and(greater_equal(ids, std::int64_t{0}), less(ids, classes));
  Array counts = full_like(ids, std::int64_t{1});
  for (const std::int64_t token : pad_tokens) {
    counts = where(equal(ids, token), std::int64_t{0}, counts);
  }
  const Array padded = equal(counts, std::int64_t{0});
  const Array safe = where(valid, ids, std::int64_t{0});
  const Array logs = logits ? log_softmax(values, -1) : log(values);
  Array each = squeeze(gather(logs, unsqueeze(safe, {-1}), -1), {-1});
  Array divisor;
  if (weights.empty()) {
    if (smoothing > 0) each = add(mul(each, 1 - smoothing), mul(mean(logs, {-1}), smoothing));
  } else {
    const Array weight = class_weights(loss, weights, classes, values);
    const Array own = where(valid, reshape(select(weight, flatten(safe), 0), safe.shape()), 0.0);
    each = mul(each, own);
    if (smoothing > 0) {
      each = add(mul(each, 1 - smoothing), mul(mean(mul(logs, weight), {-1}), smoothing));
    }
    divisor = sum(own);
  }
  // A target that is no class costs NaN, unless it stands for nothing.
  each = neg(where(padded, 0.0, where(valid, each, nan)));
  if (reduction == Reduction::none) return each;
  if (reduction == Reduction::sum) return sum(each);
  if (reduction == Reduction::mean && divisor.defined()) return div(sum(each), divisor);
  if (reduction == Reduction::batch_mean && each.rank() > 1) {
    return div(sum(each), static_cast<double>(each.shape(0)));
  }
  return mean(each);
} catch (const Error& error) {
  throw_as("cross_entropy", error);
}

Array GaussianNllLoss::forward(const Array& x, const Array& targets, const Array& variance,
                               Reduction reduction) const {
  return gaussian_nll_loss(x, targets, variance, full, epsilon,
                           reducing("gaussian_nll_loss", reduction));
}
Array GaussianNllLoss::forward_no_reduction(const Array& x, const Array& targets,
                                            const Array& variance) const {
  return gaussian_nll_loss(x, targets, variance, full, epsilon, Reduction::none);
}

Array MarginRankingLoss::forward(const Array& a, const Array& b, const Array& targets,
                                 Reduction reduction) const {
  return margin_ranking_loss(a, b, targets, margin, reducing("margin_ranking_loss", reduction));
}
Array MarginRankingLoss::forward_no_reduction(const Array& a, const Array& b,
                                              const Array& targets) const {
  return margin_ranking_loss(a, b, targets, margin, Reduction::none);
}

Array CosineEmbeddingLoss::forward(const Array& a, const Array& b, const Array& targets,
                                   Reduction reduction) const {
  return cosine_embedding_loss(a, b, targets, margin, reducing("cosine_embedding_loss", reduction));
}
Array CosineEmbeddingLoss::forward_no_reduction(const Array& a, const Array& b,
                                                const Array& targets) const {
  return cosine_embedding_loss(a, b, targets, margin, Reduction::none);
}

namespace {

Array multi_margin(const MultiMarginLoss& loss, const Array& x, const Array& targets,
                   Reduction reduction) {
  Array weight;
  if (!loss.weights.empty() && x.defined() && x.rank() == 2 && is_float(x.dtype())) {
    weight = class_weights("multi_margin_loss", loss.weights, x.shape()[1], x);
  }
  return multi_margin_loss(x, targets, loss.margin, loss.p, weight, reduction);
}

}  // namespace

Array MultiMarginLoss::forward(const Array& x, const Array& targets, Reduction reduction) const {
  return multi_margin(*this, x, targets, reducing("multi_margin_loss", reduction));
}
Array MultiMarginLoss::forward_no_reduction(const Array& x, const Array& targets) const {
  return multi_margin(*this, x, targets, Reduction::none);
}

Array TripletMarginLoss::forward(const Array& anchor, const Array& positive, const Array& negative,
                                 Reduction reduction) const {
  return triplet_margin_loss(anchor, positive, negative, margin, p, swap, epsilon,
                             reducing("triplet_margin_loss", reduction));
}
Array TripletMarginLoss::forward_no_reduction(const Array& anchor, const Array& positive,
                                              const Array& negative) const {
  return triplet_margin_loss(anchor, positive, negative, margin, p, swap, epsilon, Reduction::none);
}

Array CtcLoss::forward(const Array& log_probs, const Array& targets, const Array& input_lengths,
                       const Array& target_lengths, Reduction reduction) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank,
                  reducing("ctc_loss", reduction), zero_infinity);
}
Array CtcLoss::forward_no_reduction(const Array& log_probs, const Array& targets,
                                    const Array& input_lengths, const Array& target_lengths) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, Reduction::none,
                  zero_infinity);
}

Array RnntLoss::forward(const Array& x, const Array& targets, const Array& input_lengths,
                        const Array& target_lengths, Reduction reduction) const try {
  return rnnt_loss(logits ? log_softmax(x, -1) : x, targets, input_lengths, target_lengths, blank,
                   reducing("rnnt_loss", reduction));
} catch (const Error& error) {
  throw_as("rnnt_loss", error);
}
Array RnntLoss::forward_no_reduction(const Array& x, const Array& targets,
                                     const Array& input_lengths, const Array& target_lengths) const
    try {
  return rnnt_loss(logits ? log_softmax(x, -1) : x, targets, input_lengths, target_lengths, blank,
                   Reduction::none);
} catch (const Error& error) {
  throw_as("rnnt_loss", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
