// Split-kv, which kernels of attention for few queries share: the keys of a query are split over
// threadgroups, each stores the maximum, sum and weighted values of its split, and
// split_kv_combine() adds the splits up in order. Text of the kernel dialect.

#include "kernels/attention/params.h"
#include "kernels/attention/scores.metal"
#include "kernels/blocks/divisor.h"

// The length of a split, of `length` keys in all.
inline uint split_length(uint length, constant FlashDecodingParams& few) {
  uint shift = uint(few.shift), steps = (length + (1u << shift) - 1u) >> shift;
  return divided(steps + uint(few.splits.extent) - 1u, few.splits) << shift;
}

// How many keys any row of an item sees: they begin where those of the first row do.
template <bool kRange>
inline uint shared_keys(ItemKeys<kRange> there, constant AttentionParams& p) {
  long count = there.length - there.hidden(0, p);
  return count < 0 ? 0u : uint(count);
}

// The value of another lane; 64-bit values go in two halves.
inline float shuffle(float x, ushort lane) { return simd_shuffle(x, lane); }
#if HEARTH_HAS_F64
inline double shuffle(double x, ushort lane) {
  ulong bits = as_type<ulong>(x);
  uint low = simd_shuffle(uint(bits), lane), high = simd_shuffle(uint(bits >> 32), lane);
  return as_type<double>(ulong(low) | (ulong(high) << 32));
}
#endif

// A threadgroup of (whole simdgroups for the columns, turns) threads makes one row: turns take
// kAhead splits at a time and are added up in order. Bound by the latency of memory: a thread
// issues all loads of an iteration before it uses any. A split without keys is read as the first
// one, with weight 0.
template <typename D>
void split_kv_combine(device const typename D::value* parts,
                      device const typename D::value* row_stats, device const int* lengths,
                      device const int* starts, device const ulong* dynamics,
                      device const typename D::memory* sinks, device typename D::memory* out,
                      constant FlashDecodingParams& few, threadgroup typename D::value* shared,
                      Ctx ctx) {
  typedef typename D::value C;
  const int kAhead = 16;
  constant AttentionParams& p = few.attention;
  uint columns = uint(p.dv), column = metal::min(ctx.tid.x, columns - 1u);
  uint turn = ctx.tid.y, turns = ctx.ntid.y;
  long row = long(ctx.tg.x) + long(ctx.tg.y) * long(ctx.ntg.x);
  ItemKeys<true> there(lengths, starts, long(ctx.tg.y), dynamics, p);
  uint length = shared_keys(there, p), split = split_length(length, few);
  parts += row * few.splits.extent * p.dv + long(column);
  row_stats += row * few.splits.extent * 2;
  C sum = C(0.0f), total = C(0.0f), best = C(-INFINITY);
#pragma unroll 1
  for (uint first = turn * kAhead; first * split < length; first += turns * kAhead) {
    C part[kAhead];
#pragma unroll
    for (uint a = 0; a < kAhead; ++a) {
      part[a] = parts[((first + a) * split < length ? first + a : 0u) * columns];
    }
    uint s = first + ctx.lane % uint(kAhead);
    bool used = s * split < length;
    C mark = used ? row_stats[s * 2u] : C(-INFINITY),
      count = used ? row_stats[s * 2u + 1u] : C(0.0f);
    C next = mark;
#pragma unroll
    for (int distance = kAhead / 2; distance > 0; distance /= 2) {
      next = metal::max(next, shuffle_xor(next, ushort(distance)));
    }
    next = metal::max(next, best);
    C common = next == C(-INFINITY) ? C(0.0f) : next, shrink = metal::exp2(best - common);
    C share = metal::exp2(mark - common);
    best = next;
    count = count * share;
#pragma unroll
    for (int distance = kAhead / 2; distance > 0; distance /= 2) {
      count = count + shuffle_xor(count, ushort(distance));
    }
    total = metal::fma(total, shrink, count);
    sum = sum * shrink;
#pragma unroll
    for (uint a = 0; a < kAhead; ++a) sum = metal::fma(part[a], shuffle(share, ushort(a)), sum);
  }
  if (turns > 1u) {
    threadgroup C* mine = shared + (turn * ctx.ntid.x + ctx.tid.x) * 3u;
    mine[0] = sum;
    mine[1] = total;
    mine[2] = best;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (turn > 0u) return;
    for (uint other = 1; other < turns; ++other) {
      threadgroup const C* theirs = mine + other * ctx.ntid.x * 3u;
      C next = metal::max(best, theirs[2]);
      C common = next == C(-INFINITY) ? C(0.0f) : next;
      C here = metal::exp2(best - common), there = metal::exp2(theirs[2] - common);
      sum = metal::fma(sum, here, theirs[0] * there);
      total = metal::fma(total, here, theirs[1] * there);
      best = next;
    }
  }
  if (p.sinks != 0 && total != C(0.0f)) {
    // On a common maximum: a sink may be larger by more than a weight can be.
    C sink = D::load(sinks[p.sink.base + long(ctx.tg.x) / p.rows * p.sink.column]) *
             Number<C>::of(p.log2e);
    C next = metal::max(best, sink), here = metal::exp2(best - next);
    sum = sum * here;
    total = metal::fma(total, here, metal::exp2(sink - next));
  }
  if (ctx.tid.x < columns) {
    out[row * p.dv + long(column)] = D::store(total == C(0.0f) ? C(0.0f) : sum / total);
  }
}
