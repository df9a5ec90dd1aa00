// What the list of the family names: experts.cc.
#pragma once

#include "devices/cpu/ops/experts/groups.h"
#include "graph/implementation.h"

namespace hearth::cpu {

// Of an op whose first input is x and whose third is experts.
ExpertExtents expert_extents(const Signature& signature, std::int64_t expert_count);

// packed_expert_linear, not of f64.
Prepared prepare_packed_experts(const Signature& signature);
void launch_packed_experts(const Launch& launch);

}  // namespace hearth::cpu
