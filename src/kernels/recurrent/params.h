// Parameter structs of the kernels in this folder: see kernels/blocks/params.h. Bases and steps are
// in elements.
#pragma once

#include "kernels/blocks/params.h"

// The first index of a ragged batch, and steps between them: kernels/recurrent/sequences.metal.
struct SequenceParams {
  long rows, sequences;
  long starts_base, starts_step;
};

struct CausalConvParams {
  SequenceParams batch;
  long channels, taps;
  long x_base, x_row, x_channel;
  long weight_base, weight_channel, weight_tap;
  long bias_base, bias_step;
  long state_base, state_sequence, state_row, state_channel;
};

struct DeltaRuleParams {
  SequenceParams batch;
  long heads, dk, dv;
  long k_heads;  // of k; else, unless `tiled`, the heads of v that each of them serves
  long tiled;
  long q_base, q_row, q_head, q_step;
  long k_base, k_row, k_head, k_step;
  long v_base, v_row, v_head, v_step;
  long g_base, g_row, g_head;
  long beta_base, beta_row, beta_head;
  long state_base, state_sequence, state_head, state_row, state_step;
};

struct SelectiveScanParams {
  SequenceParams batch;
  long heads, p, n;
  long group_heads;  // of a group
  long x_base, x_row, x_head, x_step;
  long dt_base, dt_row, dt_head;
  long a_base, a_head;
  long b_base, b_row, b_group, b_step;
  long c_base, c_row, c_group, c_step;
  long d_base, d_head;
  long state_base, state_sequence, state_head, state_row, state_step;
};
