// Losses of elements: what a prediction costs beside its target, made of other ops.
#include <cmath>
#include <numbers>
#include <string>

#include "core/broadcast.h"
#include "core/compute_class.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"
#include "ops/linalg/powers.h"
#include "ops/loss/reduction.h"

namespace hearth {
namespace {

Array targets_for(const Array& targets, const Array& x) {
  return cast(targets, compute_dtype(x.dtype()));
}

Array weighted(const char* op, const Array& losses, const Array& weight, const Array& x) {
  if (!weight.defined()) return losses;
  if (weight.dtype() != x.dtype()) {
    throw Error(ErrorCode::dtype, std::string(op) + ": weight of another dtype; got " +
                                      std::string(name(weight.dtype())) + ", expected " +
                                      std::string(name(x.dtype())));
  }
  if (!broadcasts_to(weight.shape(), x.shape())) {
    throw Error(ErrorCode::shape, std::string(op) + ": weight does not fit x; got " +
                                      to_string(weight.shape()) + ", expected what broadcasts to " +
                                      to_string(x.shape()));
  }
  return mul(losses, wide(weight));
}

// The difference of x and targets, once they fit.
Array difference(const char* op, const Array& x, const Array& targets) {
  require_beside(op, x, "targets", targets);
  return sub(wide(x), wide(targets));
}

// x^2 / 2, but 0 where `far`: the gradient of an infinite square is NaN, even times 0.
Array half_square_unless(const Array& far, const Array& x) {
  return mul(square(where(far, 0.0, x)), 0.5);
}

// log x, -100 at least, with a slope of 1 / max(x, 1e-12): the bounds of PyTorch's
// binary_cross_entropy, whose gradient is (x - t) / max(x (1 - x), 1e-12).
Array bounded_log(const Array& x) {
  constexpr double kLeast = 1e-12;
  const Array is_steep = less(x, kLeast);
  const Array still = x.detach();
  const Array line = add(clamp_min(log(still), -100.0), mul(sub(x, still), 1 / kLeast));
  return where(is_steep, line, log(where(is_steep, 1.0, x)));
}

// t log t, 0 where t is 0.
Array entropy_term(const Array& t) {
  const Array zero = equal(t, 0.0);
  return where(zero, 0.0, mul(t, log(where(zero, 1.0, t))));
}

}  // namespace

inline namespace v0 {

Array binary_cross_entropy(const Array& x, const Array& targets, const Array& weight,
                           Reduction reduction) try {
  require_beside("binary_cross_entropy", x, "targets", targets, OtherDType::or_integers);
  const Array p = wide(x), t = targets_for(targets, x);
  const Array losses = neg(add(mul(t, bounded_log(p)), mul(sub(1.0, t), bounded_log(sub(1.0, p)))));
  return finished_losses(weighted("binary_cross_entropy", losses, weight, x), reduction, x);
} catch (const Error& error) {
  throw_as("binary_cross_entropy", error);
}

Array binary_cross_entropy_with_logits(const Array& x, const Array& targets, const Array& weight,
                                       Reduction reduction) try {
  const char* op = "binary_cross_entropy_with_logits";
  require_beside(op, x, "targets", targets, OtherDType::or_integers);
  const Array logits = wide(x);
  const Array losses = sub(mul(sub(1.0, targets_for(targets, x)), logits), log_sigmoid(logits));
  return finished_losses(weighted(op, losses, weight, x), reduction, x);
} catch (const Error& error) {
  throw_as("binary_cross_entropy_with_logits", error);
}

Array l1_loss(const Array& x, const Array& targets, Reduction reduction) try {
  return finished_losses(abs(difference("l1_loss", x, targets)), reduction, x);
} catch (const Error& error) {
  throw_as("l1_loss", error);
}

Array mse_loss(const Array& x, const Array& targets, Reduction reduction) try {
  return finished_losses(square(difference("mse_loss", x, targets)), reduction, x);
} catch (const Error& error) {
  throw_as("mse_loss", error);
}

Array lp_loss(const Array& x, const Array& targets, double p, Reduction reduction) try {
  require_above("lp_loss", "p", p, 0, false);
  return finished_losses(power_of_magnitude(difference("lp_loss", x, targets), p), reduction, x);
} catch (const Error& error) {
  throw_as("lp_loss", error);
}

Array huber_loss(const Array& x, const Array& targets, double delta, Reduction reduction) try {
  require_above("huber_loss", "delta", delta, 0, false);
  const Array d = difference("huber_loss", x, targets);
  const Array size = abs(d);
  const Array far = greater(size, delta);  // NaN is not: its square has its gradient
  const Array losses = where(far, mul(sub(size, 0.5 * delta), delta), half_square_unless(far, d));
  return finished_losses(losses, reduction, x);
} catch (const Error& error) {
  throw_as("huber_loss", error);
}

Array smooth_l1_loss(const Array& x, const Array& targets, double beta, Reduction reduction) try {
  require_above("smooth_l1_loss", "beta", beta, 0, true);
  const Array d = difference("smooth_l1_loss", x, targets);
  const Array size = abs(d);
  if (beta == 0) return finished_losses(size, reduction, x);
  const Array far = greater_equal(size, beta);
  const Array losses = where(far, sub(size, 0.5 * beta), div(half_square_unless(far, d), beta));
  return finished_losses(losses, reduction, x);
} catch (const Error& error) {
  throw_as("smooth_l1_loss", error);
}

Array kl_div(const Array& x, const Array& targets, bool log_target, Reduction reduction) try {
  require_beside("kl_div", x, "targets", targets);
  const Array logs = wide(x), t = wide(targets);
  if (log_target) return finished_losses(mul(exp(t), sub(t, logs)), reduction, x);
  // A probability of 0 costs nothing, even beside log 0; NaN stays.
  const Array nothing = logical_and(equal(t, 0.0), logical_not(is_nan(logs)));
  const Array cross = where(nothing, 0.0, mul(t, where(nothing, 0.0, logs)));
  return finished_losses(sub(entropy_term(t), cross), reduction, x);
} catch (const Error& error) {
  throw_as("kl_div", error);
}

Array gaussian_nll_loss(const Array& x, const Array& targets, const Array& variance, bool full,
                        double epsilon, Reduction reduction) try {
  require_above("gaussian_nll_loss", "epsilon", epsilon, 0, true);
  require_beside("gaussian_nll_loss", x, "variance", variance);
  const Array d = difference("gaussian_nll_loss", x, targets);
  const Array v = clamp_min(wide(variance), epsilon);
  Array losses = mul(add(log(v), div(square(d), v)), 0.5);
  if (full) losses = add(losses, 0.5 * std::log(2 * std::numbers::pi));
  return finished_losses(losses, reduction, x);
} catch (const Error& error) {
  throw_as("gaussian_nll_loss", error);
}

Array poisson_nll_loss(const Array& x, const Array& targets, bool log_input, bool full,
                       double epsilon, Reduction reduction) try {
  require_above("poisson_nll_loss", "epsilon", epsilon, 0, true);
  require_beside("poisson_nll_loss", x, "targets", targets);
  const Array rate = wide(x), t = wide(targets);
  Array losses =
      log_input ? sub(exp(rate), mul(t, rate)) : sub(rate, mul(t, log(add(rate, epsilon))));
  if (full) {
    const Array many = greater(t, 1.0);
    const Array n = where(many, t, 1.0);
    const Array stirling = add(sub(mul(n, log(n)), n), mul(log(mul(n, 2 * std::numbers::pi)), 0.5));
    losses = add(losses, where(many, stirling, 0.0));
  }
  return finished_losses(losses, reduction, x);
} catch (const Error& error) {
  throw_as("poisson_nll_loss", error);
}

Array hinge_embedding_loss(const Array& x, const Array& targets, double margin,
                           Reduction reduction) try {
  require_beside("hinge_embedding_loss", x, "targets", targets, OtherDType::or_integers);
  const Array values = wide(x), t = targets_for(targets, x);
  const Array far = where(equal(t, 1.0), 0.0, positive_part(sub(margin, values)));
  const Array near = where(equal(t, -1.0), 0.0, values);
  return finished_losses(add(far, near), reduction, x);
} catch (const Error& error) {
  throw_as("hinge_embedding_loss", error);
}

Array soft_margin_loss(const Array& x, const Array& targets, Reduction reduction) try {
  require_beside("soft_margin_loss", x, "targets", targets, OtherDType::or_integers);
  return finished_losses(neg(log_sigmoid(mul(wide(x), targets_for(targets, x)))), reduction, x);
} catch (const Error& error) {
  throw_as("soft_margin_loss", error);
}

Array margin_ranking_loss(const Array& a, const Array& b, const Array& targets, double margin,
                          Reduction reduction) try {
  require_beside("margin_ranking_loss", a, "b", b);
  require_beside("margin_ranking_loss", a, "targets", targets, OtherDType::or_integers);
  const Array gap = mul(targets_for(targets, a), sub(wide(a), wide(b)));
  return finished_losses(positive_part(sub(margin, gap)), reduction, a);
} catch (const Error& error) {
  throw_as("margin_ranking_loss", error);
}

}  // namespace v0
}  // namespace hearth
