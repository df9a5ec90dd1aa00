// paged_attention for units: out = softmax(scores(q k^T)) v for all heads of one row that read the
// same keys. Text of the kernel dialect.
//
// Keys are cut into pieces of 256, whose results are kept apart and added up in an order that
// depends on the row alone by paged_combine(): a row has the same bits in any batch. A threadgroup
// makes some pieces of up to kQueries heads, so that each key is read once for each kQueries of
// them. It finds the slots of the piece's keys; kLanes lanes read a key, 8 columns each, several
// keys at a time, and multiply it by the queries, which they hold in registers where rows are no
// longer than what they read at once (kNarrow), and else in threadgroup memory; scores become
// weights there; and lanes add up 8 columns of the values of their keys. In place of a key that
// the row does not see slot 0 is read, and dropped: loads without a branch overlap. Bound by
// memory. Sums are kept in f32, or in f64 where q is f64.

#include "kernels/attention/columns.metal"
#include "kernels/attention/paged.metal"

template <typename C>
HEARTH_INLINE C piece_total(C x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x = x + shuffle_xor(x, ushort(distance));
  return x;
}
template <typename C>
HEARTH_INLINE C piece_top(C x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    x = metal::max(x, shuffle_xor(x, ushort(distance)));
  }
  return x;
}

template <typename Q, typename K, int kLanes, int kQueries, bool kVectors, bool kNarrow,
          bool kSoftcap>
void paged_pieces(device const typename Q::memory* q, device const typename K::memory* keys,
                  device const typename K::memory* values, device const int* pages,
                  device const int* units, device typename Q::value* parts,
                  device typename Q::value* row_stats, constant PagedAttentionParams& p,
                  threadgroup typename Q::value* query, threadgroup typename Q::value* weights,
                  threadgroup typename Q::value* sums, threadgroup int* slots, Ctx ctx) {
  typedef typename Q::value C;
  const int kSlots = 32 / kLanes, kDealt = kLanes / kQueries, kColumns = 8 * kLanes;
  const int kStep = kPieceSimdgroups * kSlots;
  // Rows that a lane has in registers at a time.
  const bool kSmall = sizeof(typename K::memory) <= 2 && sizeof(C) <= 4;
  const int kKeys = !kSmall ? 2 : kQueries <= 4 ? 8 : 2;
  const int kRows = !kSmall ? 2 : kQueries <= 4 ? 8 : 4;
  const int kHeld = kNarrow ? kQueries : 1;
  long unit = long(ctx.tg.x);
  device const int* listed = units + unit * kPagedEntry;
  int sequence = listed[0], row = listed[1], position = listed[2];
  if (sequence < 0) return;
  long kv_head = long(ctx.tg.y) / p.blocks, first = long(ctx.tg.y) % p.blocks * kQueries;
  int begin = paged_begin(position, p), end = position + 1;
  int slot_lane = int(ctx.lane) / kLanes, part = int(ctx.lane) % kLanes;
  C scale = Number<C>::of(p.scale), softcap = Number<C>::of(p.softcap);
  int pitch = (int(p.d) + 7) / 8 * 8;
  for (int i = int(ctx.tid.x); i < kQueries * pitch; i += kPieceThreads) {
    long head = first + i / pitch, column = i % pitch;
    bool there = head < p.group && column < p.d;
    query[i] = there ? C(Q::load(q[p.q.base + long(row) * p.q.row +
                                   (kv_head * p.group + head) * p.q.head + column * p.q.column]))
                     : C(0.0f);
  }
  // Lanes beyond a narrow row read its beginning, and multiply it by 0.
  int key_column = kNarrow && part * 8 >= int(p.d) ? 0 : part * 8;
  C own[kHeld][8];
  if (kNarrow) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        own[j][e] = part * 8 < pitch ? query[j * pitch + part * 8 + e] : C(0.0f);
      }
    }
  }

#pragma unroll 1
  for (int piece = begin / kPieceKeys + int(ctx.tg.z); piece * kPieceKeys < end;
       piece += int(ctx.ntg.z)) {
    for (int i = int(ctx.tid.x); i < kPieceKeys; i += kPieceThreads) {
      int key = piece * kPieceKeys + i;
      slots[i] = key >= begin && key < end ? paged_slot(pages, sequence, key, p) : -1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Without a page there is no key.
    int last = p.page_count > 0 ? int(kPieceKeys) : 0;
#pragma unroll 1
    for (int i = int(ctx.sg) * kSlots + slot_lane; i < last; i += kStep * kKeys) {
      C product[kKeys][kQueries];
      device const typename K::memory* from[kKeys];
#pragma unroll
      for (int u = 0; u < kKeys; ++u) {
        int slot = metal::max(slots[i + u * kStep], 0);
        from[u] = keys + p.keys.base + long(slot) * p.keys.row + kv_head * p.keys.head;
#pragma unroll
        for (int j = 0; j < kQueries; ++j) product[u][j] = C(0.0f);
      }
#pragma unroll 1
      for (int column = key_column; column < int(p.d); column += kNarrow ? int(p.d) : kColumns) {
        Columns<K, kVectors> key_row[kKeys];
#pragma unroll
        for (int u = 0; u < kKeys; ++u) {
          key_row[u].load(from[u] + column * p.keys.column, p.keys.column, p.d - column);
        }
#pragma unroll
        for (int j = 0; j < kQueries; ++j) {
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            C factor = kNarrow ? own[j % kHeld][e] : query[j * pitch + column + e];
#pragma unroll
            for (int u = 0; u < kKeys; ++u) {
              product[u][j] = metal::fma(factor, C(key_row[u].get(e)), product[u][j]);
            }
          }
        }
        if (kNarrow) break;
      }
#pragma unroll
      for (int u = 0; u < kKeys; ++u) {
        C dot = dealt_sum<C, kLanes, kQueries>(product[u], ctx.lane);
        if (part % kDealt == 0) weights[(i + u * kStep) * kQueries + part / kDealt] = dot;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (int j = int(ctx.sg); j < kQueries; j += kPieceSimdgroups) {
      C top = C(-INFINITY), total = C(0.0f);
      for (int i = int(ctx.lane); i < kPieceKeys; i += 32) {
        threadgroup C& at = weights[i * kQueries + j];
        C score = slots[i] >= 0 ? paged_score<C, kSoftcap>(at, scale, softcap) : C(-INFINITY);
        at = score;
        top = metal::max(top, score);
      }
      top = piece_top(top);
      C shift = top == C(-INFINITY) ? C(0.0f) : top;
      for (int i = int(ctx.lane); i < kPieceKeys; i += 32) {
        C weight = metal::exp2(weights[i * kQueries + j] - shift);
        weights[i * kQueries + j] = weight;
        total = total + weight;
      }
      total = piece_total(total);
      long head = kv_head * p.group + first + j;
      if (ctx.lane == 0u && first + j < p.group) {
        device C* stats = row_stats + ((unit * p.heads + head) * p.pieces + piece) * 2;
        stats[0] = top;
        stats[1] = total;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

#pragma unroll 1
    for (int block = 0; block < int(p.dv); block += kColumns) {
      int column = block + part * 8 < int(p.dv) ? block + part * 8 : 0;
      C sum[kQueries][8];
#pragma unroll
      for (int j = 0; j < kQueries; ++j) {
#pragma unroll
        for (int e = 0; e < 8; ++e) sum[j][e] = C(0.0f);
      }
#pragma unroll 1
      for (int i = int(ctx.sg) * kSlots + slot_lane; i < last; i += kStep * kRows) {
        Columns<K, kVectors> value_row[kRows];
        bool there[kRows];
#pragma unroll
        for (int u = 0; u < kRows; ++u) {
          int slot = slots[i + u * kStep];
          there[u] = slot >= 0;
          value_row[u].load(values + p.values.base + long(metal::max(slot, 0)) * p.values.row +
                                kv_head * p.values.head + column * p.values.column,
                            p.values.column, p.dv - column);
        }
#pragma unroll
        for (int u = 0; u < kRows; ++u) {
          if (!there[u]) value_row[u].clear();
#pragma unroll
          for (int j = 0; j < kQueries; ++j) {
            C weight = weights[(i + u * kStep) * kQueries + j];
#pragma unroll
            for (int e = 0; e < 8; ++e) {
              sum[j][e] = metal::fma(weight, C(value_row[u].get(e)), sum[j][e]);
            }
          }
        }
      }
#pragma unroll
      for (int distance = kLanes; distance < 32; distance *= 2) {
#pragma unroll
        for (int j = 0; j < kQueries; ++j) {
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            sum[j][e] = sum[j][e] + shuffle_xor(sum[j][e], ushort(distance));
          }
        }
      }
      // The upper half of the simdgroups, then the lower half with theirs.
      threadgroup C* own_sums = sums + int(ctx.sg) % kPieceSums * kQueries * kColumns + part * 8;
#pragma unroll
      for (int half_of = 1; half_of >= 0; --half_of) {
        if (slot_lane == 0 && int(ctx.sg) / kPieceSums == half_of) {
#pragma unroll
          for (int j = 0; j < kQueries; ++j) {
#pragma unroll
            for (int e = 0; e < 8; ++e) {
              threadgroup C& at = own_sums[j * kColumns + e];
              at = half_of == 1 ? sum[j][e] : sum[j][e] + at;
            }
          }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
      int width = metal::min(kColumns, int(p.dv) - block);
      for (int j = 0; j < kQueries && first + j < p.group; ++j) {
        long head = kv_head * p.group + first + j;
        device C* to = parts + ((unit * p.heads + head) * p.pieces + piece) * p.dv + block;
        for (int c = int(ctx.tid.x); c < width; c += kPieceThreads) {
          C total = sums[j * kColumns + c];
#pragma unroll
          for (int s = 1; s < kPieceSums; ++s) {
            total = total + sums[(s * kQueries + j) * kColumns + c];
          }
          to[c] = total;
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}

// A threadgroup makes one head of a unit: the pieces that its row sees on a common maximum. A
// simdgroup adds up every kCombineSimdgroups-th piece, and these sums are added up in order.
template <typename Q>
void paged_combine(device const typename Q::value* parts, device const typename Q::value* row_stats,
                   device const int* units, device const typename Q::memory* sinks,
                   device typename Q::memory* out, constant PagedAttentionParams& p,
                   threadgroup typename Q::value* sums, Ctx ctx) {
  typedef typename Q::value C;
  long unit = long(ctx.tg.x), head = long(ctx.tg.y);
  device const int* listed = units + unit * kPagedEntry;
  int sequence = listed[0], row = listed[1], position = listed[2];
  if (row < 0) return;
  int lane = int(ctx.lane), sg = int(ctx.sg);
  long line = (unit * p.heads + head) * p.pieces;
  int begin = paged_begin(position, p) / kPieceKeys;
  int end = sequence < 0 || position < 0 ? begin : position / kPieceKeys + 1;
  C shift = C(-INFINITY), total = C(0.0f);
  for (int i = begin + lane; i < end; i += 32) {
    shift = metal::max(shift, row_stats[(line + i) * 2]);
  }
  shift = piece_top(shift);
  C sink = C(-INFINITY);
  if (p.sinks != 0 && shift != C(-INFINITY)) {
    sink = Q::load(sinks[p.sink_base + head * p.sink_step]) * Number<C>::of(p.log2e);
    shift = metal::max(shift, sink);
  }
  if (shift == C(-INFINITY)) shift = C(0.0f);
  for (int i = begin + lane; i < end; i += 32) {
    total = metal::fma(metal::exp2(row_stats[(line + i) * 2] - shift),
                       row_stats[(line + i) * 2 + 1], total);
  }
  total = piece_total(total) + metal::exp2(sink - shift);
  C share = total == C(0.0f) ? C(0.0f) : C(1.0f) / total;
  const int kWidth = 32 * kCombineColumns;
#pragma unroll 1
  for (long block = 0; block < p.dv; block += kWidth) {
    C sum[kCombineColumns];
#pragma unroll
    for (int c = 0; c < int(kCombineColumns); ++c) sum[c] = C(0.0f);
#pragma unroll 2
    for (int i = begin + sg; i < end; i += kCombineSimdgroups) {
      C factor = metal::exp2(row_stats[(line + i) * 2] - shift);
      device const C* from = parts + (line + i) * p.dv + block;
#pragma unroll
      for (int c = 0; c < int(kCombineColumns); ++c) {
        if (block + c * 32 + lane < p.dv) sum[c] = metal::fma(factor, from[c * 32 + lane], sum[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < int(kCombineColumns); ++c) sums[sg * kWidth + c * 32 + lane] = sum[c];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int c = int(ctx.tid.x); c < kWidth && block + c < p.dv; c += int(ctx.ntid.x)) {
      C value = sums[c];
#pragma unroll
      for (int s = 1; s < kCombineSimdgroups; ++s) value = value + sums[s * kWidth + c];
      out[(long(row) * p.heads + head) * p.dv + block + c] = Q::store(value * share);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
