#include <algorithm>
#include <string>
#include <utility>

#include "hearth/ops.h"
#include "hearth/optim.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

// In the order of their ids, so that the order of additions does not depend on a hash table. Valid
// while no gradient comes or goes.
std::vector<std::pair<std::uint64_t, const Array*>> in_order(const Gradients& gradients) {
  std::vector<std::pair<std::uint64_t, const Array*>> out;
  out.reserve(gradients.size());
  for (const auto& [id, gradient] : gradients) out.emplace_back(id, &gradient);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

void require_limit(const char* op, double limit, CallSite site) {
  if (limit > 0) return;
  located(site, [&] {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": limit out of range; got " +
                                                 std::to_string(limit) + ", expected > 0");
  });
}

}  // namespace

GradientNorm clip_by_norm(Gradients& gradients, double limit, CallSite site) {
  require_limit("clip_by_norm", limit, site);
  // Keeps a norm of 0 from dividing by 0; far below the norms that clipping is about.
  constexpr double kTiny = 1e-12;
  const NoGrad no_grad;
  const auto all = in_order(gradients);
  for (const auto& [id, gradient] : all) {
    located(site,
            [&] { optim_detail::require_float("clip_by_norm", "gradient", gradient->dtype()); });
  }
  Array total;
  for (const auto& [id, gradient] : all) {
    const DType dtype = gradient->dtype();
    const bool is_wide = dtype == DType::f64 || dtype == DType::f32;
    Array part = sum(is_wide ? square(*gradient) : square(cast(*gradient, DType::f32)));
    if (!total.defined()) {
      total = std::move(part);
    } else {
      if (part.dtype() != total.dtype()) part = cast(part, total.dtype());
      total = total + part;
    }
  }
  if (!total.defined()) return GradientNorm(0.0);
  const Array norm = sqrt(total);
  // The product is NaN where the norm is not finite, and else 0.
  const Array factor = clamp_max(limit / (norm + kTiny), 1.0) + norm * 0.0;
  for (const auto& [id, gradient] : all) {
    const DType dtype = gradient->dtype();
    gradients.set(id,
                  dtype == factor.dtype() ? *gradient * factor : *gradient * cast(factor, dtype));
  }
  return GradientNorm(norm);
}

void clip_by_value(Gradients& gradients, double limit, CallSite site) {
  require_limit("clip_by_value", limit, site);
  const NoGrad no_grad;
  for (const auto& [id, gradient] : in_order(gradients)) {
    located(site,
            [&] { optim_detail::require_float("clip_by_value", "gradient", gradient->dtype()); });
    gradients.set(id, clamp(*gradient, -limit, limit));
  }
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
