// Mixtures of experts: layers of which each row goes through a few. Rules for all functions:
// hearth/ops.h.
#pragma once

#include <cstdint>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Mixtures of experts

// linear() with the weight that each row is given: weight [expert_count, out, in], bias
// [expert_count, out], experts [rows, used], x [rows, in], whose rows go to all of their experts,
// or [rows, used, in], each to its own. The result is [rows, used, out]: x[r] or x[r, u] times the
// transpose of weight[experts[r, u]], plus bias[experts[r, u]]. Where experts[r, u] is not in [0,
// expert_count), as of padding, it is 0, whatever x is there. Float dtypes. The weight may be
// packed as that of linear(). What a row gives depends on no other row, though its rounding may on
// how many there are; no plan depends on the experts. Those that no row has are not read.
HEARTH_API Array expert_linear(const Array& x, const Array& weight, const Array& experts,
                               const Array& bias = Array());

// What scores are turned into before experts are chosen.
enum class ExpertGate : std::uint8_t { softmax, sigmoid, none, sqrt_softplus };
// What a group of experts is chosen by: the sum of its best two, or its best.
enum class ExpertGroupScore : std::uint8_t { best_two, best };
struct RouteOptions {
  ExpertGate gate = ExpertGate::softmax;
  Array choice_bias = {};        // [expert_count]: added to gates to choose by, and to no weight
  std::int64_t groups = 1;       // equal parts of the experts, in order
  std::int64_t used_groups = 0;  // groups of which a row's experts are; 0: all
  ExpertGroupScore group_score = ExpertGroupScore::best_two;
  bool softmax_chosen = false;         // weights are the softmax of the chosen gates
  bool renormalize = false;            // weights are divided by their sum
  double least_sum = 6.103515625e-05;  // which counts as this at least
  double epsilon = 0;                  // and to which this is added
  double scale = 1;                    // weights times this
};
// The `used` experts of each row of scores [rows, expert_count], those of the largest gates plus
// choice_bias in descending order, of equal ones the lowest: i32 [rows, used]. And what each
// weighs, [rows, used]: its gate, without choice_bias. Groups are chosen before, likewise; experts
// of the others are not taken. Computed, and weights given, in f32 (f64 of f64). Float dtypes; the
// gradient is that of the weights. `used` in [1, expert_count], and no more than the groups that
// are used have, else Error{invalid_argument}.
HEARTH_API std::pair<Array, Array> route_experts(const Array& scores, std::int64_t used,
                                                 const RouteOptions& options = {});

}  // namespace v0
}  // namespace hearth
