// Parameter structs of the kernels in this folder: see kernels/blocks/params.h. Experts are [rows,
// used]; a pair is a row and one of its experts, number row * used + u.
#pragma once

#include "kernels/blocks/params.h"

// What a threadgroup makes of one expert's pairs at a time, and of the inner axis.
enum { kExpertTileRows = 32, kExpertTileColumns = 64, kExpertTileDepth = 32 };

// Of group_experts(): where experts begin, and the strides of their rows and within them.
struct ExpertGroupParams {
  long pairs, used, experts;
  long first, row, step;
};

// Of expert_matvec() and expert_matvec_packed(): row `pair / used` of x and its place `pair % used`
// are x_row and x_step apart (of coded rows, in rows), experts of the weight w_expert (bytes, where
// it is packed), rows of one w_row, experts of the bias b_expert.
struct ExpertMatvecParams {
  long pairs, used, experts, in, out;
  long first, row, step;
  long x_base, x_row, x_step;
  long w_base, w_expert, w_row;
  long b_base, b_expert;
};
// Its packed form has these too, by the names that multiply_rows() reads.
struct ExpertPackedParams {
  long pairs, used, experts;
  long first, row, step;
  long lines;  // pairs that share a coded row
  long rows, outputs, units;
  long base, w_expert, stride, end;
  long b_base, b_expert;
  long slots;  // of expert_slots_packed()
};

// Of code_pairs(): as CodeRowsParams, and pairs that share a row of x.
template <int kRank>
struct CodePairsParams {
  long rows, units, lines;
  Axes<kRank> x;
};

// Of expert_tiles(), expert_tiles_packed() and expert_slots(): strides as above, and those of
// single elements.
struct ExpertTileParams {
  long used, experts, slots, in, out;
  long x_base, x_row, x_step, x_column;
  long w_base, w_expert, w_row, w_column;
  long b_base, b_expert, b_column;
};

// Of expert_weight_gradient(): strides of grad [rows, used, out] beside those of x.
struct ExpertGradientParams {
  long used, experts, in, out;
  long x_base, x_row, x_step, x_column;
  long g_base, g_row, g_step, g_column;
};

// Of route_experts(). Gates are numbered as ExpertGate is; the last three are the bits of f64.
enum { kRouteSoftmax, kRouteSigmoid, kRouteNone, kRouteSqrtSoftplus };
struct RouteParams {
  long rows, experts, used;
  long gate;
  long groups;  // of which experts are taken, 0: no groups
  long used_groups, group_size;
  long best_two;  // groups are chosen by the sum of their best two
  long softmax_chosen, renormalize;
  long least_sum, epsilon, scale;
  long x_base, x_row, x_column;
  long b_base, b_step;
};
