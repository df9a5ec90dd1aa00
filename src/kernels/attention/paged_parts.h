// What a launch of paged_attention is made of, behind the plan of its units and tiles.
#pragma once

#include "kernels/attention/paged_inputs.h"

namespace hearth::gpu {

inline constexpr std::int64_t kMostUnitColumns = 128;  // of paged_matrix()

// By tensor cores where columns are few and addresses fit vectors, with `by_matrix`.
void add_paged_units(StepPlan& plan, const PagedInputs& in, const StepArgument& units,
                     bool by_matrix);

void add_paged_tiles(StepPlan& plan, const PagedInputs& in, const StepArgument& tiles);

// By tensor cores: kernels/attention/paged_prompts.metal. Rows of a tile, 0 where the device has
// too little threadgroup memory or columns are too many.
std::int64_t prompt_tile(const Signature& signature);
void add_paged_prompts(StepPlan& plan, const PagedInputs& in, const StepArgument& tiles);

}  // namespace hearth::gpu
