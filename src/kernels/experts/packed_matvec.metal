// packed_expert_linear of few pairs of rows and experts. Text of the kernel dialect.
//
// As packed_matvec_rows() with one row, for each pair: of the rows of x in codes of 8 bits that of
// the pair, and the weight of its expert. Threadgroups along x share out a pair's outputs, along y
// the pairs. Bound by reading the weights of the experts that are chosen, once for each pair.

#include "kernels/experts/groups.metal"
#include "kernels/packed/matvec.metal"

template <typename F, typename D, bool kBias, bool kWhole, int kAlignment>
void expert_matvec_packed(device const uint4* codes, device const uint2* scales,
                          device const uchar* weight, device const int* experts,
                          device const typename D::memory* bias, device typename D::memory* y,
                          constant ExpertPackedParams& p, threadgroup uint4* staged, Ctx ctx) {
  if (uint(F::book) != 0u) {
    fill_book<F>(staged + ctx.nsg * uint(Staging<F, kWhole, kAlignment>::vectors), ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (long pair = long(ctx.tg.y); pair < p.pairs; pair += long(ctx.ntg.y)) {
    uint expert = expert_of(experts, uint(pair), p);
    device typename D::memory* to = y + pair * p.outputs;
    if (long(expert) == p.experts) {
      long step = long(ctx.ntg.x) * ctx.ntid.x;
      for (long i = long(ctx.tg.x) * ctx.ntid.x + ctx.tid.x; i < p.outputs; i += step) {
        to[i] = D::store(typename D::value(0));
      }
      continue;
    }
    long line = pair / p.lines, places = long(unit_places(uint(p.units)));
    long base = p.base + long(expert) * p.w_expert;
    RowsInOrder places_of;
    places_of.step = p.outputs;
    Staging<F, kWhole, kAlignment> stage;
    begin_rows(stage, weight, base, p, ctx);
    multiply_rows<F, D, 1, kBias, false, kWhole, kAlignment>(
        stage, weight, base, bias + (kBias ? p.b_base + long(expert) * p.b_expert : 0), bias, to, p,
        1u, codes + line * places * 2, scales + line * places, places_of, staged, ctx);
  }
}
