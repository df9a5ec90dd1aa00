// The sequences of a ragged batch. Text of the kernel dialect.
//
// Threadgroups have a sequence each, ctx.tg.z, and one more the padding: rows before the first
// sequence and behind the last, whose results are 0.

#include "kernels/blocks/rows.h"
#include "kernels/recurrent/params.h"

// Where sequence `s` begins, or the one before it ends: the largest of the starts up to it, each in
// [0, rows]. All lanes of a simdgroup call it.
HEARTH_INLINE int sequence_bound(device const int* starts, uint s, constant SequenceParams& p,
                                 Ctx ctx) {
  int bound = 0;
  for (uint i = ctx.lane; i <= s; i += 32u) {
    bound = metal::max(bound, starts[p.starts_base + long(i) * p.starts_step]);
  }
  return metal::min(simd_row_max(bound, 32u), int(p.rows));
}
// The rows of a threadgroup's sequence; of the padding, those that have a sequence.
HEARTH_INLINE int first_row(device const int* starts, constant SequenceParams& p, Ctx ctx) {
  bool pads = ctx.tg.z >= uint(p.sequences);
  return sequence_bound(starts, pads ? 0u : ctx.tg.z, p, ctx);
}
HEARTH_INLINE int last_row(device const int* starts, constant SequenceParams& p, Ctx ctx) {
  bool pads = ctx.tg.z >= uint(p.sequences);
  return sequence_bound(starts, pads ? uint(p.sequences) : ctx.tg.z + 1u, p, ctx);
}
