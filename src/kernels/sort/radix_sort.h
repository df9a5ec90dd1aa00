// Sorting as steps of a plan: kernels/sort/radix_sort.metal.
#pragma once

#include <cstdint>

#include "kernels/launch/step_plan.h"

namespace hearth::gpu {

// `count` pairs of 32-bit keys and values in a plan's workspace.
struct SortedPairs {
  StepArgument keys, values;
};

// Workspace for pairs.
SortedPairs add_pairs(StepPlan& plan, std::int64_t count);

// Sorts pairs by their keys, stably; keys are below 2^bits. Returns where they are then; `pairs` is
// used up. Less than 2^31 pairs.
SortedPairs add_radix_sort(StepPlan& plan, const runtime::DeviceTraits& device,
                           const SortedPairs& pairs, std::int64_t count, int bits);

// The same in two workspaces for pairs, in `pairs` before and after.
void add_radix_sort(StepPlan& plan, const runtime::DeviceTraits& device, SortedPairs& pairs,
                    SortedPairs& other, std::int64_t count, int bits);

}  // namespace hearth::gpu
