// Functions of typed tensors for mixers of recurrent language models over ragged batches. What may
// be undefined in ops.h is an optional tensor. `site` is the caller's line.
#pragma once

#include <optional>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

// x [rows, channels], weight [channels, kernel], state [sequences, kernel - 1, channels].
inline std::pair<Tensor<2>, Tensor<3>> causal_conv(
    const Tensor<2>& x, const Tensor<2>& weight, const Tensor<3>& state,
    const Tensor<1, Int>& starts, const std::optional<Tensor<1>>& bias = std::nullopt,
    CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::causal_conv(x.array(), weight.array(), state.array(), starts.array(),
                                    bias ? bias->array() : Array());
    return std::pair(Tensor<2>(std::move(both.first)), Tensor<3>(std::move(both.second)));
  });
}
// q and k [rows, k_heads, dk], v [rows, v_heads, dv], state [sequences, v_heads, dk, dv].
inline std::pair<Tensor<3>, Tensor<4>> gated_delta_rule(
    const Tensor<3>& q, const Tensor<3>& k, const Tensor<3>& v, const Tensor<2>& g,
    const Tensor<2>& beta, const Tensor<4>& state, const Tensor<1, Int>& starts,
    const GatedDeltaOptions& options = {}, CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::gated_delta_rule(q.array(), k.array(), v.array(), g.array(), beta.array(),
                                         state.array(), starts.array(), options);
    return std::pair(Tensor<3>(std::move(both.first)), Tensor<4>(std::move(both.second)));
  });
}
// x [rows, heads, p], b and c [rows, groups, n], state [sequences, heads, p, n].
inline std::pair<Tensor<3>, Tensor<4>> selective_scan(
    const Tensor<3>& x, const Tensor<2>& dt, const Tensor<1>& a, const Tensor<3>& b,
    const Tensor<3>& c, const Tensor<4>& state, const Tensor<1, Int>& starts,
    const std::optional<Tensor<1>>& d = std::nullopt, CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::selective_scan(x.array(), dt.array(), a.array(), b.array(), c.array(),
                                       state.array(), starts.array(), d ? d->array() : Array());
    return std::pair(Tensor<3>(std::move(both.first)), Tensor<4>(std::move(both.second)));
  });
}

}  // namespace v0
}  // namespace hearth
