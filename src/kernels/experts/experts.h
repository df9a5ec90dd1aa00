// Products with the weights of chosen experts: what the family's list names.
#pragma once

#include "graph/implementation.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {

// Few pairs of a row and an expert: kernels/experts/matvec.metal, packed_matvec.metal.
bool fits_expert_matvec(const Signature& signature);
Prepared prepare_expert_matvec(const Signature& signature);
bool fits_packed_expert_matvec(const Signature& signature);
Prepared prepare_packed_expert_matvec(const Signature& signature);

// Any number of them, where are_counted(): kernels/experts/tiles.metal.
bool fits_expert_tiles(const Signature& signature);
Prepared prepare_expert_tiles(const Signature& signature);
Prepared prepare_packed_expert_tiles(const Signature& signature);

// Up to so many rows of x each pair reads its expert's weights for itself; beyond it several pairs
// of an expert share them.
inline constexpr std::int64_t kMostMatvecExpertRows = 32;
// Weights that a lane holds at once, whatever the number of rows: sums follow from it.
inline constexpr std::int64_t kExpertHold = 4;
// Any number of them, with the bits that few have: as few, or kernels/experts/slots.metal and
// packed_slots.metal, which read weights once for several pairs of an expert.
Prepared prepare_expert_row_lanes(const Signature& signature);
bool fits_packed_expert_row_lanes(const Signature& signature);
Prepared prepare_packed_expert_row_lanes(const Signature& signature);

// The gradient of the weight: kernels/experts/weight_gradient.metal.
bool fits_expert_gradient(const Signature& signature);
Prepared prepare_expert_gradient(const Signature& signature);

// Which experts rows go through: kernels/experts/route.metal.
bool fits_routes(const Signature& signature);
Prepared prepare_routes(const Signature& signature);

// What all of them know of a signature: x, input 0, and experts [rows, used], input 2.
struct ExpertPairs {
  ExpertPairs(const Signature& signature, std::int64_t expert_count);

  std::int64_t used, pairs, experts, in, out;
  std::int64_t x_row, x_step, x_column;  // strides of x; x_step is 0 where rows go to all experts
  bool has_bias;
  std::int64_t given_rows;  // of x
};
// The pairs of a launch in the order of their experts.
struct ExpertOrder {
  StepArgument pairs, firsts, slots;
  std::int64_t slot_count;
};
// experts [rows, used], input 2, as group_experts() sorts them.
ExpertOrder add_expert_order(StepPlan& plan, const TensorSpec& chosen, const ExpertPairs& of);

// Whether pairs, experts, outputs and the elements of a row are few enough to be counted in 31 bits
// with what kernels add to them: 2^30 each at most.
bool are_counted(const ExpertPairs& of);

}  // namespace hearth::gpu
