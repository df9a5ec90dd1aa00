// packed_linear of a few rows: y[r, o] = sum over k of x[r, k] * weight[o, k] (+ bias[o]) (+
// added[r, o]). Text of the kernel dialect.
//
// A simdgroup makes outputs of whole weight rows. It copies 64 units of 32 elements at a time into
// threadgroup memory, 16 bytes a lane, the next ones being on the way while a lane multiplies some
// of these, which share bytes: blocks have any size, which loads of their parts would not suit. x
// is coded in 8 bits (codes.metal), in threadgroup memory by packed_matvec_row(), before in device
// memory for several rows. Bound by reading the weights. Products of codes are exact; sums of f32
// go along k in an order that depends on k alone.

#include "kernels/blocks/dot4.h"
#include "kernels/packed/books.metal"
#include "kernels/packed/codes.metal"

// The products of a unit of the weight, which begins with group g of `block`, with kRows units of
// x, which lie at one place of the `places` that rows have.
template <typename F, int kRows, typename Block, typename Codes, typename Scales>
HEARTH_INLINE void add_unit(thread float* sums, threadgroup const uint* book, Block block, uint g,
                            uint place, Codes codes, Scales scales, uint places, uint rows) {
  const int kZero = int(F::zero);
  const bool kOneStep = F::step_elements == 32;
  uint weight[8];
  Book<F>::unit(book, block, g, weight);
  uint lift[2] = {F::lift(g), F::lift(g + 1u)};
  float step[2], least[2];
  step[0] = F::step(block, g);
  least[0] = F::least(block, g);
  step[1] = kOneStep ? step[0] : F::step(block, g + 1u);
  least[1] = kOneStep ? least[0] : F::least(block, g + 1u);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    uint row = kRows == 1 ? 0u : metal::min(uint(r), rows - 1u);
    Codes code = codes + (2u * row * places + place);
    uint2 scale = scales[row * places + place];
    int dot[2];
#pragma unroll
    for (uint i = 0u; i < 2u; ++i) {
      uint4 x = code[i * places];
      dot[i] = kOneStep && i == 1u && lift[0] == lift[1] ? dot[0] : 0;
      dot[i] = dot4(weight[4u * i], x.x, dot[i]);
      dot[i] = dot4(weight[4u * i + 1u], x.y, dot[i]);
      dot[i] = dot4(weight[4u * i + 2u], x.z, dot[i]);
      dot[i] = dot4(weight[4u * i + 3u], x.w, dot[i]);
    }
    dot[1] >>= lift[1];
    float part;
    if (kOneStep) {
      int both = lift[0] == lift[1] ? dot[1] : dot[1] + (dot[0] >> lift[0]);
      if (kZero != 0) both = dot2(scale.y, -kZero, -kZero, both);
      part = step[0] * float(both);
      if (F::has_least != 0) part -= least[0] * float(dot2(scale.y, 1, 1, 0));
    } else {
      dot[0] >>= lift[0];
      if (kZero != 0) {
        dot[0] = dot2(scale.y, -kZero, 0, dot[0]);
        dot[1] = dot2(scale.y, 0, -kZero, dot[1]);
      }
      part = metal::fma(step[1], float(dot[1]), step[0] * float(dot[0]));
      if (F::has_least != 0) {
        part = metal::fma(-least[0], float(dot2(scale.y, 1, 0, 0)), part);
        part = metal::fma(-least[1], float(dot2(scale.y, 0, 1, 0)), part);
      }
    }
    sums[r] = metal::fma(as_type<float>(scale.x), part, sums[r]);
  }
}

// Starts loading what a simdgroup begins with.
template <typename Stage, typename Params>
HEARTH_INLINE void begin_rows(thread Stage& stage, device const uchar* weight, long base,
                              constant Params& p, Ctx ctx) {
  long output = long(ctx.tg.x) * ctx.nsg + ctx.sg;
  if (output < p.outputs) {
    stage.load(weight, base + output * p.stride, uint(p.units), p.end, ctx.lane);
  }
}

// Where rows of a result lie: one behind the other.
struct RowsInOrder {
  long step;
  HEARTH_INLINE long at(uint row) const { return long(row) * step; }
};

// The rows of a weight that begins at byte `base`, and is laid out as p says, with `rows` rows of
// codes, after begin_rows(). The book of F lies behind what the simdgroups stage. Threadgroups
// along x share out the rows of the weight. `places_of` says where rows of y and added lie.
template <typename F, typename D, int kRows, bool kBias, bool kAdded, bool kWhole, int kAlignment,
          typename Params, typename Codes, typename Scales, typename Places>
HEARTH_INLINE void multiply_rows(thread Staging<F, kWhole, kAlignment>& stage,
                                 device const uchar* weight, long base,
                                 device const typename D::memory* bias,
                                 device const typename D::memory* added,
                                 device typename D::memory* y, constant Params& p, uint rows,
                                 Codes codes, Scales scales, Places places_of,
                                 threadgroup uint4* staged, Ctx ctx) {
  typedef Staging<F, kWhole, kAlignment> Stage;
  const uint kOfBlock = F::elements / kUnit, kTogether = F::together, kApart = F::apart;
  const bool kOneBlock = kTogether * kApart <= kOfBlock;
  threadgroup uint4* own = staged + ctx.sg * uint(Stage::vectors);
  threadgroup const uint* book = (threadgroup const uint*)(staged + ctx.nsg * uint(Stage::vectors));
  uint units = uint(p.units), places = unit_places(units);
  long step = long(ctx.ntg.x) * ctx.nsg;
  long output = long(ctx.tg.x) * ctx.nsg + ctx.sg;
  if (output >= p.outputs) return;
  uint first = 0u;  // unit of the row
  float sums[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) sums[r] = 0.0f;
  while (output < p.outputs) {
    uint lead = stage.lead;
    stage.store(own, ctx.lane);
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    uint count = metal::min(uint(Stage::units), units - first);
    bool ends = first + count == units;
    long next = ends ? output + step : output;
    uint from = ends ? 0u : first + count;
    if (next < p.outputs) {
      stage.load(weight, base + next * p.stride + long(from / kOfBlock) * F::bytes, units - from,
                 p.end, ctx.lane);
    }
    // Whole pieces without a branch, so that the loads of several units overlap.
    if (count == uint(Stage::units)) {
#pragma unroll
      for (uint i = 0u; i < uint(Stage::units) / 32u; ++i) {
        // Those of a lane share bytes where a block has more units.
        uint first_own = first_unit<kTogether, kApart>(ctx.lane + 32u * (i / kTogether));
        uint behind = kApart * (i % kTogether), u = first_own + behind;
        uint block = kOneBlock ? first_own / kOfBlock : u / kOfBlock;
        uint in_block = kOneBlock ? first_own % kOfBlock + behind : u % kOfBlock;
        uint place = first / kTogether + ctx.lane + 32u * (i / kTogether);
        add_unit<F, kRows>(sums, book, Stage::block(own, lead, block), 2u * in_block,
                           place + i % kTogether * (places / kTogether), codes, scales, places,
                           rows);
      }
    } else {
#pragma unroll 1
      for (uint u = ctx.lane; u < count; u += 32u) {
        uint block = u / kOfBlock;
        add_unit<F, kRows>(sums, book, Stage::block(own, lead, block), 2u * (u - block * kOfBlock),
                           unit_place<kTogether, kApart>(first + u, units), codes, scales, places,
                           rows);
      }
    }
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    if (ends) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float sum = metal::simd_sum(sums[r]);
        sums[r] = 0.0f;
        if (ctx.lane != 0u || uint(r) >= rows) continue;
        if (kBias) sum += float(D::load(bias[output]));
        long at = places_of.at(uint(r)) + output;
        if (kAdded) sum += float(D::load(added[at]));
        y[at] = D::store(sum);
      }
    }
    output = next;
    first = from;
  }
}

// One row of x, which every threadgroup codes for itself while its first weights are on their way.
template <typename F, typename D, bool kBias, bool kAdded, bool kWhole, int kAlignment,
          bool kVectors, int kRank>
void packed_matvec_row(device const typename D::memory* x, device const uchar* weight,
                       device const typename D::memory* bias,
                       device const typename D::memory* added, device typename D::memory* y,
                       constant PackedMatvecParams<kRank>& p, threadgroup uint4* codes,
                       threadgroup uint2* scales, threadgroup uint4* staged, Ctx ctx) {
  Staging<F, kWhole, kAlignment> stage;
  begin_rows(stage, weight, p.base, p, ctx);
  fill_book<F>(staged + ctx.nsg * uint(stage.vectors), ctx);
  code_row<D, kVectors, F::together, F::apart, F::order>(
      x + offset_of<ulong, kRank>(0, p.x), uint(p.units), codes, scales, ctx.tid.x, ctx.ntid.x);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  RowsInOrder places_of;
  places_of.step = p.outputs;
  multiply_rows<F, D, 1, kBias, kAdded, kWhole, kAlignment>(
      stage, weight, p.base, bias, added, y, p, 1u, codes, scales, places_of, staged, ctx);
}

// Several rows, which code_rows() has coded. Threadgroups along y share them out.
template <typename F, typename D, int kRows, bool kBias, bool kAdded, bool kWhole, int kAlignment,
          int kRank>
void packed_matvec_rows(device const uint4* codes, device const uint2* scales,
                        device const uchar* weight, device const typename D::memory* bias,
                        device const typename D::memory* added, device typename D::memory* y,
                        constant PackedMatvecParams<kRank>& p, threadgroup uint4* staged, Ctx ctx) {
  Staging<F, kWhole, kAlignment> stage;
  begin_rows(stage, weight, p.base, p, ctx);
  if (uint(F::book) != 0u) {
    fill_book<F>(staged + ctx.nsg * uint(stage.vectors), ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  long first = long(ctx.tg.y) * kRows, at = first * p.outputs;
  uint rows = uint(metal::min(p.rows - first, long(kRows)));
  RowsInOrder places_of;
  places_of.step = p.outputs;
  multiply_rows<F, D, kRows, kBias, kAdded, kWhole, kAlignment>(
      stage, weight, p.base, bias, added + (kAdded ? at : 0), y + at, p, rows,
      codes + 2 * first * long(unit_places(uint(p.units))),
      scales + first * long(unit_places(uint(p.units))), places_of, staged, ctx);
}
