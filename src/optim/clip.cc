#include <algorithm>
#include <string>
#include <utility>

#include "hearth/ops.h"
#include "hearth/optim.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

// In the order of their ids, so that the order of additions does not depend on a hash table.
std::vector<std::pair<std::uint64_t, Array>> in_order(const Gradients& gradients) {
  std::vector<std::pair<std::uint64_t, Array>> out(gradients.begin(), gradients.end());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

void require_limit(const char* op, double limit) {
  if (!(limit > 0)) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": limit out of range; got " +
                                                 std::to_string(limit) + ", expected > 0");
  }
}

}  // namespace

Array clip_by_norm(Gradients& gradients, double limit) {
  require_limit("clip_by_norm", limit);
  // Keeps a norm of 0 from dividing by 0; far below the norms that clipping is about.
  constexpr double kTiny = 1e-12;
  const NoGrad no_grad;
  const auto all = in_order(gradients);
  Array total;
  for (const auto& [id, gradient] : all) {
    const DType wide = gradient.dtype() == DType::f64 ? DType::f64 : DType::f32;
    Array part = sum(square(cast(gradient, wide)));
    if (!total.defined()) {
      total = std::move(part);
    } else {
      total = total + cast(part, total.dtype());
    }
  }
  if (!total.defined()) return Array(0.0);
  const Array norm = sqrt(total);
  const Array factor = clamp_max(limit / (norm + kTiny), 1.0);
  for (const auto& [id, gradient] : all) {
    gradients.set(id, gradient * cast(factor, gradient.dtype()));
  }
  return norm;
}

void clip_by_value(Gradients& gradients, double limit) {
  require_limit("clip_by_value", limit);
  const NoGrad no_grad;
  for (const auto& [id, gradient] : in_order(gradients)) {
    gradients.set(id, clamp(gradient, -limit, limit));
  }
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
