// Mixers of recurrent language models over ragged batches. Rules for all functions: hearth/ops.h.
//
// A batch is `rows` rows of several sequences, one after the other: sequence s has the rows
// [starts[s], starts[s + 1]), where starts is i32 [sequences + 1], ascending. Rows before starts[0]
// and from starts[sequences] on are padding: they are not read, and their results are 0. What
// starts holds may change without a new plan; an element below the one before it counts as that
// one, and those outside [0, rows] as its ends. It has no gradient.
//
// Each sequence brings a state and gets its new one; a sequence without rows keeps its own. Results
// of a sequence, bit for bit, do not depend on who shares the batch, and cutting it in two calls,
// of which the second takes the state of the first, changes rounding only.
//
// Float dtypes; all is computed in f32, or f64 for f64. Weights, gates and states have the dtype of
// the rows beside them or, beside halves, f32; those that share a line below share a dtype. A new
// state has the dtype of the old one. All float inputs are differentiated, old states too.
#pragma once

#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Recurrent mixers

// A depthwise convolution that sees the rows of its sequence up to its own:
//   y[t] = bias + sum over k of weight[:, k] x[t - kernel + 1 + k]
// of x [rows, channels], weight [channels, kernel], and bias [channels] or undefined; weight and
// bias share a dtype. Rows before the first of a sequence are those of state [sequences, kernel -
// 1, channels]. Returns y [rows, channels] and the last kernel - 1 rows of each sequence, as state.
HEARTH_API std::pair<Array, Array> causal_conv(const Array& x, const Array& weight,
                                               const Array& state, const Array& starts,
                                               const Array& bias = Array());

// gated_delta_rule() may compute so many rows of a sequence at once, which rounds otherwise than
// row by row; fewer rows never. Cutting a sequence at multiples of this changes no bit.
inline constexpr std::int64_t kDeltaRuleBlock = 64;

struct GatedDeltaOptions {
  // Head h of v is served by head h mod k_heads of q and k; else h / (v_heads / k_heads).
  bool tiled = false;
};
// The delta rule with decay (Yang et al. 2024, Gated Delta Networks), for each head of v and each
// row of a sequence in turn:
//   S = e^g S;  S += k (beta (v - S^T k))^T;  y = S^T q
// of q and k [rows, k_heads, dk], v [rows, v_heads, dv], where v_heads is a multiple of k_heads, g
// (0 or less) and beta [rows, v_heads], which share a dtype, and S, state [sequences, v_heads, dk,
// dv]. q and k come normalised and scaled. Returns y [rows, v_heads, dv] and the new state.
HEARTH_API std::pair<Array, Array> gated_delta_rule(const Array& q, const Array& k, const Array& v,
                                                    const Array& g, const Array& beta,
                                                    const Array& state, const Array& starts,
                                                    const GatedDeltaOptions& options = {});

// The state space of Mamba 2 (Dao, Gu 2024), for each head and each row of a sequence in turn:
//   S = e^(dt a) S + dt x B^T;  y = S C + d x
// of x [rows, heads, p], dt [rows, heads] (0 or more), a [heads] (0 or less) and d [heads] or
// undefined, which share a dtype, b and c [rows, groups, n], where head h has the B and C of group
// h / (heads / groups), and S, state [sequences, heads, p, n]. Returns y [rows, heads, p] and the
// new state.
HEARTH_API std::pair<Array, Array> selective_scan(const Array& x, const Array& dt, const Array& a,
                                                  const Array& b, const Array& c,
                                                  const Array& state, const Array& starts,
                                                  const Array& d = Array());

}  // namespace v0
}  // namespace hearth
