// packed_expert_linear of many pairs of rows and experts, each with the bits that
// expert_matvec_packed() gives it. Text of the kernel dialect.
//
// Pairs are in the order of their experts (groups.metal), and so are their rows' codes, which
// code_pairs() makes. As packed_matvec_rows() with the pairs of a slot, kRows at a time:
// threadgroups along x share out an expert's outputs, along y the slots. Bound by work on sums.

#include "kernels/experts/groups.metal"
#include "kernels/packed/matvec.metal"

// Where the rows of pairs lie.
struct RowsOfPairs {
  device const int* pairs;
  long step;
  HEARTH_INLINE long at(uint row) const { return long(pairs[row]) * step; }
};

// The rows of x of all pairs, in their order, in codes: a threadgroup a pair.
template <typename D, uint kTogether, uint kApart, int kOrder, int kRank>
void code_pairs(device const typename D::memory* x, device const int* pairs, device uint4* codes,
                device uint2* scales, constant CodePairsParams<kRank>& p, Ctx ctx) {
  uint units = uint(p.units);
  long row = long(pairs[ctx.tg.x]) / p.lines, places = long(ctx.tg.x) * long(unit_places(units));
  code_row<D, false, kTogether, kApart, kOrder>(x + offset_of<ulong, kRank>(ulong(row), p.x), units,
                                                codes + places * 2, scales + places, ctx.tid.x,
                                                ctx.ntid.x);
}

template <typename F, typename D, int kRows, bool kBias, bool kWhole, int kAlignment>
void expert_slots_packed(device const uint4* codes, device const uint2* scales,
                         device const uchar* weight, device const int* pairs,
                         device const int* slots, device const typename D::memory* bias,
                         device typename D::memory* y, constant ExpertPackedParams& p,
                         threadgroup uint4* staged, Ctx ctx) {
  if (uint(F::book) != 0u) {
    fill_book<F>(staged + ctx.nsg * uint(Staging<F, kWhole, kAlignment>::vectors), ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  long places = long(unit_places(uint(p.units)));
  for (long slot = long(ctx.tg.y); slot < p.slots; slot += long(ctx.ntg.y)) {
    long expert = long(slots[3 * slot]), begin = long(slots[3 * slot + 1]);
    int count = slots[3 * slot + 2];
    RowsOfPairs places_of;
    places_of.step = p.outputs;
    if (expert == p.experts) {
      places_of.pairs = pairs + begin;
      long step = long(ctx.ntg.x) * ctx.ntid.x;
      for (int i = 0; i < count; ++i) {
        device typename D::memory* to = y + places_of.at(uint(i));
        for (long at = long(ctx.tg.x) * ctx.ntid.x + ctx.tid.x; at < p.outputs; at += step) {
          to[at] = D::store(typename D::value(0));
        }
      }
      continue;
    }
    long base = p.base + expert * p.w_expert;
    for (int first = 0; first < count; first += kRows) {
      long from = begin + first;
      places_of.pairs = pairs + from;
      Staging<F, kWhole, kAlignment> stage;
      begin_rows(stage, weight, base, p, ctx);
      multiply_rows<F, D, kRows, kBias, false, kWhole, kAlignment>(
          stage, weight, base, bias + (kBias ? p.b_base + expert * p.b_expert : 0), bias, y, p,
          uint(metal::min(count - first, kRows)), codes + from * places * 2, scales + from * places,
          places_of, staged, ctx);
    }
  }
}
