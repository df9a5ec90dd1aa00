// Functions of typed tensors for mixtures of experts. `site` is the caller's line.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

template <int R>
  requires(R == 2 || R == 3)
Tensor<3> expert_linear(const Tensor<R>& x, const Tensor<3>& weight, const Tensor<2, Int>& experts,
                        const std::optional<Tensor<2>>& bias = std::nullopt,
                        CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<3>(hearth::expert_linear(x.array(), weight.array(), experts.array(),
                                           bias ? bias->array() : Array()));
  });
}
inline std::pair<Tensor<2, Int>, Tensor<2>> route_experts(const Tensor<2>& scores,
                                                          std::int64_t used,
                                                          const RouteOptions& options = {},
                                                          CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto routes = hearth::route_experts(scores.array(), used, options);
    return std::pair(Tensor<2, Int>(std::move(routes.first)), Tensor<2>(std::move(routes.second)));
  });
}

}  // namespace v0
}  // namespace hearth
