// attention for few queries, as in decoding: out = softmax(scores(q k^T)) v, where the heads of a
// group share keys. Text of the kernel dialect.
//
// A query is one row of one head; up to kQueries of those that read the same keys go through them
// together, so that keys and values are read once. ntg.x threadgroups share the keys that exist, in
// equal splits of whole steps: how many exist is known on the device only, and threadgroups
// without keys return. Within a split simdgroups take turns. kLanes lanes hold a row of
// 8 kLanes columns, 8 columns each, for the queries, keys, values and sums alike; 32 / kLanes keys
// are read by one load, and kUnroll loads of keys or of values are under way together. A product is
// summed over lanes while queries are dealt out over them: afterwards a lane has the score of one
// query. Maximum, sum and weighted values of a split go to memory, and split_kv_combine() adds
// the splits up in order. Bound by memory: each key and value is read once for each kQueries
// queries. Sums are kept in f32, or in f64 for f64.

#include "kernels/attention/columns.metal"
#include "kernels/attention/split_kv.metal"

// Keys that a threadgroup takes at a time.
inline long keys_of_step(int unroll, int lanes) { return kFewSimdgroups * unroll * (32 / lanes); }

template <typename D, int kLanes, int kQueries, int kUnroll, bool kVectors, bool kSoftcap,
          bool kMask, bool kBias, bool kRange>
void flash_decoding(device const typename D::memory* q, device const typename D::memory* k,
                    device const typename D::memory* v, device const uchar* mask,
                    device const typename D::memory* bias, device const int* lengths,
                    device const int* starts, device const ulong* dynamics,
                    device typename D::value* parts, device typename D::value* row_stats,
                    constant FlashDecodingParams& few, threadgroup typename D::value* shared,
                    Ctx ctx) {
  typedef typename D::value C;
  const int kSlots = 32 / kLanes, kDealt = kLanes / kQueries;
  constant AttentionParams& p = few.attention;
  long item = long(ctx.tg.z) / few.blocks;
  ItemKeys<kRange> there(lengths, starts, item, dynamics, p);
  long length = there.length;
  long step = keys_of_step(kUnroll, kLanes);
  long split = long(split_length(shared_keys(there, p), few));
  long begin = there.hidden(0, p) + long(ctx.tg.x) * split;
  if (begin >= length) return;
  long end = begin + split < length ? begin + split : length;

  long group = few.group, queries = group * p.rows, kv_head = long(ctx.tg.y);
  long first = (long(ctx.tg.z) - item * few.blocks) * kQueries;
  uint slot = ctx.lane / uint(kLanes), part = ctx.lane % uint(kLanes);
  long column = long(part) * 8;
  ScoreScale<C> scale(p);

  C query[kQueries][8], sum[kQueries][8];
#pragma unroll
  for (int j = 0; j < kQueries; ++j) {
    Columns<D, kVectors> row;
    row.clear();
    long index = first + j;
    if (index < queries && column < p.d) {
      row.load(q + place_of(p.q, item, kv_head * group + index / p.rows, index % p.rows) +
                   column * p.q.column,
               p.q.column, p.d - column);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      query[j][i] = row.get(i);
      sum[j][i] = C(0.0f);
    }
  }
  // The query whose scores this lane gets.
  long mine = first + long(part / uint(kDealt));
  bool exists = mine < queries;
  long head = kv_head * group + (exists ? mine / p.rows : 0), row = exists ? mine % p.rows : 0;
  long visible = exists ? visible_keys(row, length, p) : 0;
  int before = kRange ? int(there.hidden(row, p) - end) : 0;  // the first that it sees, from `end`
  C best = C(-INFINITY), total = C(0.0f);

  // Keys and values of this lane's slot, and from one load to the next.
  long key = begin + long(ctx.sg) * kUnroll * kSlots + long(slot);
  device const typename D::memory* keys =
      k + place_of(p.k, item, kv_head, key) + column * p.k.column;
  device const typename D::memory* values =
      v + place_of(p.v, item, kv_head, key) + column * p.v.column;
  long key_hop = p.k.row * kSlots, value_hop = p.v.row * kSlots;
  int left = int(end - key);
  bool has_key = column < p.d, has_value = column < p.dv;
  Columns<D, kVectors> key_row[kUnroll], value_row[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    key_row[u].clear();
    if (u * kSlots < left && has_key) {
      key_row[u].load(keys + u * key_hop, p.k.column, p.d - column);
    }
  }
  // Values are on their way while keys are multiplied, and the next keys while values are.
#pragma unroll 1
  for (; left + int(slot) > 0; left -= int(step)) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      value_row[u].clear();
      if (u * kSlots < left && has_value) {
        value_row[u].load(values + u * value_hop, p.v.column, p.dv - column);
      }
    }
    keys += p.k.row * step;
    values += p.v.row * step;
    int seen = int(visible - end) + left;
    C score[kUnroll];
    C top = C(-INFINITY);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      C product[kQueries];
#pragma unroll
      for (int j = 0; j < kQueries; ++j) {
        product[j] = query[j][0] * key_row[u].get(0);
#pragma unroll
        for (int i = 1; i < 8; ++i) {
          product[j] = metal::fma(query[j][i], key_row[u].get(i), product[j]);
        }
      }
      C dot = dealt_sum<C, kLanes, kQueries>(product, ctx.lane);
      score[u] = C(-INFINITY);
      if (u * kSlots < left && u * kSlots < seen && (!kRange || u * kSlots - left >= before)) {
        C slope;
        score[u] = score_of<D, kSoftcap, kMask, kBias>(dot, scale, mask, bias, item, head, row,
                                                       end - left + u * kSlots, p, slope);
      }
      top = metal::max(top, score[u]);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (u * kSlots < left - int(step) && has_key) {
        key_row[u].load(keys + u * key_hop, p.k.column, p.d - column);
      }
    }
#pragma unroll
    for (int distance = kLanes; distance < 32; distance *= 2) {
      top = metal::max(top, shuffle_xor(top, ushort(distance)));
    }
    C next = metal::max(best, top);
    C shift = next == C(-INFINITY) ? C(0.0f) : next;
    C shrink = metal::exp2(best - shift);
    best = next;
    total = total * shrink;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      score[u] = metal::exp2(score[u] - shift);
      total = total + score[u];
    }
    uint from = slot * uint(kLanes);
    if (simd_any(shrink != C(1.0f))) {
#pragma unroll
      for (int j = 0; j < kQueries; ++j) {
        C factor = shuffle(shrink, ushort(from + uint(j * kDealt)));
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[j][i] = sum[j][i] * factor;
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int j = 0; j < kQueries; ++j) {
        C weight = shuffle(score[u], ushort(from + uint(j * kDealt)));
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          sum[j][i] = metal::fma(weight, value_row[u].get(i), sum[j][i]);
        }
      }
    }
  }

  // Slots of the simdgroup, then simdgroups in order, on a common maximum.
#pragma unroll
  for (int distance = kLanes; distance < 32; distance *= 2) {
    total = total + shuffle_xor(total, ushort(distance));
#pragma unroll
    for (int j = 0; j < kQueries; ++j) {
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[j][i] = sum[j][i] + shuffle_xor(sum[j][i], ushort(distance));
    }
  }
  threadgroup C* bests = shared + kQueries * kLanes * 8;
  threadgroup C* totals = bests + kFewSimdgroups * kQueries;
  bool deals = ctx.lane < uint(kLanes) && part % uint(kDealt) == 0u;
  uint dealt = part / uint(kDealt);
  if (deals) bests[ctx.sg * uint(kQueries) + dealt] = best;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  C all = bests[dealt];
#pragma unroll
  for (uint s = 1; s < kFewSimdgroups; ++s)
    all = metal::max(all, bests[s * uint(kQueries) + dealt]);
  C share = all == C(-INFINITY) ? C(0.0f) : metal::exp2(best - all);
  if (deals) totals[ctx.sg * uint(kQueries) + dealt] = total * share;
  for (uint s = 0; s < kFewSimdgroups; ++s) {
#pragma unroll
    for (int j = 0; j < kQueries; ++j) {
      C factor = shuffle(share, ushort(j * kDealt));
      if (s == ctx.sg && ctx.lane < uint(kLanes)) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          uint at = uint(j) * uint(kLanes * 8) + part * 8u + uint(i);
          shared[at] = s == 0u ? sum[j][i] * factor : shared[at] + sum[j][i] * factor;
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (int j = 0; j < kQueries; ++j) {
    long index = first + j;
    if (index >= queries) break;
    long line =
        ((item * p.heads + kv_head * group) * p.rows + index) * few.splits.extent + long(ctx.tg.x);
    for (long c = long(ctx.tid.x); c < p.dv; c += 32 * kFewSimdgroups) {
      parts[line * p.dv + c] = shared[uint(j) * uint(kLanes * 8) + uint(c)];
    }
    if (deals && ctx.sg == 0u && dealt == uint(j)) {
      row_stats[line * 2] = all;
      C sums = C(0.0f);
      for (uint s = 0; s < kFewSimdgroups; ++s) sums = sums + totals[s * uint(kQueries) + dealt];
      row_stats[line * 2 + 1] = sums;
    }
  }
}
