// Steps before and after a library's call of attention: kernels/attention/library/adapter.metal.
#pragma once

#include "kernels/attention/inputs.h"
#include "kernels/attention/library/problem.h"

namespace hearth::gpu {

inline constexpr std::int64_t kColumnStep = 8;  // 16 bytes of what a library takes

// Mask, bias and what they say beside the causal order as the one bias of the call: the operand
// itself where that says it all. Nothing where there is neither; `problem` has no bias then.
StepArgument add_bias(StepPlan& plan, const AttentionInputs& a, AttentionProblem* problem);

// What exists of the values, dense, and how many keys and rows that is.
struct Bounds {
  StepArgument values, keys, rows;
};
Bounds add_bounds(StepPlan& plan, const AttentionInputs& a, AttentionProblem* problem);

// Rows that see no key get what Hearth says they do, and rows whose sums are out of the ordinary
// are worked out again.
void add_masked_row_fixup(StepPlan& plan, const AttentionInputs& a, const StepArgument& out,
                          const StepArgument& sums);

// Rows give a sink its share.
void add_sinks(StepPlan& plan, const AttentionInputs& a, const StepArgument& out,
               const StepArgument& sums);

}  // namespace hearth::gpu
