// paged_attention for units, as paged_pieces.metal makes them, whose keys and values are codes or
// of different dtypes. Text of the kernel dialect.
//
// A lane reads 8 columns of a row: of codes two or three words, from which it makes floats in
// registers, once for kQueries queries. Rows of codes that lie at even addresses, of TurboQuant at
// multiples of four, are read in words of so many bytes, others byte by byte. Bound by memory, or
// by widening codes where queries are few.

#include "kernels/attention/paged_pieces.metal"
#include "kernels/formulas/packed/aligned.h"
#include "kernels/formulas/packed/plain.h"

// 8 columns of a row of floats.
template <typename D, bool kVectors>
struct PlainCache {
  typedef typename D::memory memory;
  Columns<D, kVectors> columns;
  HEARTH_INLINE void clear() { columns.clear(); }
  HEARTH_INLINE void load(device const memory* row, int column, long step, long all) {
    columns.load(row + column * step, step, all - column);
  }
  HEARTH_INLINE typename D::value get(int i) const { return columns.get(i); }
};

// As row_elements() of 8, all of it written out, so that what it makes stays in registers.
template <typename R, typename Bytes>
HEARTH_INLINE void widen_codes(Bytes row, uint first, thread float* value) {
  uint block = first >> 5, group = (first >> 4) & 1u;
  float step = R::step(row, block);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    uint codes = R::four(row, block, group, ((first >> 2) & 3u) + uint(i));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      value[4 * i + e] = step * float(int((codes >> (8 * e)) & 255u) - int(R::zero));
    }
  }
}

// 8 columns of a row of codes, which is dense.
template <typename R, bool kAligned>
struct CodeCache {
  typedef uchar memory;
  float value[8];
  HEARTH_INLINE void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = 0.0f;
  }
  HEARTH_INLINE void load(device const uchar* row, int column, long, long) {
    if (kAligned) {
      widen_codes<R>(packed_formats::AlignedRow<R>::of(row), uint(column), value);
    } else {
      widen_codes<R>(row, uint(column), value);
    }
  }
  HEARTH_INLINE float get(int i) const { return value[i]; }
};

// By names, which kernels are called after: FloatCacheF16 and FloatCacheF16Wide, CodeCacheQ8_0...
#define HEARTH_FLOAT_CACHE(D)                 \
  typedef PlainCache<D, false> FloatCache##D; \
  typedef PlainCache<D, true> FloatCache##D##Wide;
HEARTH_FLOAT_CACHE(F32)
HEARTH_FLOAT_CACHE(F16)
HEARTH_FLOAT_CACHE(BF16)
#if HEARTH_HAS_F64
HEARTH_FLOAT_CACHE(F64)
#endif
#undef HEARTH_FLOAT_CACHE
#define HEARTH_CODE_CACHE(name, R)             \
  typedef CodeCache<R, false> CodeCache##name; \
  typedef CodeCache<R, true> CodeCache##name##Wide;
HEARTH_CODE_CACHE(Q8_0, packed_formats::BlockRow<packed_formats::Q8_0>)
HEARTH_CODE_CACHE(Q4_0, packed_formats::BlockRow<packed_formats::Q4_0>)
HEARTH_CODE_CACHE(Turbo2, packed_formats::Turbo2)
HEARTH_CODE_CACHE(Turbo3, packed_formats::Turbo3)
HEARTH_CODE_CACHE(Turbo4, packed_formats::Turbo4)
#undef HEARTH_CODE_CACHE

// K and V are of these caches.
template <typename Q, typename K, typename V, int kLanes, int kQueries, bool kSoftcap>
void paged_cache_pieces(device const typename Q::memory* q, device const typename K::memory* keys,
                        device const typename V::memory* values, device const int* pages,
                        device const int* units, device typename Q::value* parts,
                        device typename Q::value* row_stats, constant PagedAttentionParams& p,
                        threadgroup typename Q::value* query,
                        threadgroup typename Q::value* weights, threadgroup typename Q::value* sums,
                        threadgroup int* slots, Ctx ctx) {
  typedef typename Q::value C;
  const int kSlots = 32 / kLanes, kDealt = kLanes / kQueries, kColumns = 8 * kLanes;
  const int kStep = kCodeSimdgroups * kSlots, kUnroll = kQueries < 4 ? 2 : 1;
  long unit = long(ctx.tg.x);
  device const int* listed = units + unit * kPagedEntry;
  int sequence = listed[0], row = listed[1], position = listed[2];
  if (sequence < 0) return;
  uint blocks = uint(p.blocks);
  long kv_head = long(ctx.tg.y / blocks), first = long(ctx.tg.y % blocks) * kQueries;
  int begin = paged_begin(position, p), end = position + 1;
  int slot_lane = int(ctx.lane) / kLanes, part = int(ctx.lane) % kLanes;
  C scale = Number<C>::of(p.scale), softcap = Number<C>::of(p.softcap);
  int pitch = (int(p.d) + 7) / 8 * 8;
  for (int i = int(ctx.tid.x); i < kQueries * pitch; i += kCodeThreads) {
    long head = first + i / pitch, column = i % pitch;
    bool there = head < p.group && column < p.d;
    query[i] = there ? C(Q::load(q[p.q.base + long(row) * p.q.row +
                                   (kv_head * p.group + head) * p.q.head + column * p.q.column]))
                     : C(0.0f);
  }

#pragma unroll 1
  for (int piece = begin / kPieceKeys + int(ctx.tg.z); piece * kPieceKeys < end;
       piece += int(ctx.ntg.z)) {
    for (int i = int(ctx.tid.x); i < kPieceKeys; i += kCodeThreads) {
      int key = piece * kPieceKeys + i;
      slots[i] = key >= begin && key < end ? paged_slot(pages, sequence, key, p) : -1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

#pragma unroll 1
    for (int i = int(ctx.sg) * kSlots + slot_lane; i < kPieceKeys; i += kStep * kUnroll) {
      C product[kUnroll][kQueries];
      device const typename K::memory* from[kUnroll];
      bool there[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        int slot = slots[i + u * kStep];
        there[u] = slot >= 0;
        from[u] = keys + p.keys.base + long(slot) * p.keys.row + kv_head * p.keys.head;
#pragma unroll
        for (int j = 0; j < kQueries; ++j) product[u][j] = C(0.0f);
      }
#pragma unroll 1
      for (int column = part * 8; column < int(p.d); column += kColumns) {
        K key_row[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          key_row[u].clear();
          if (there[u]) {
            key_row[u].load(from[u], column, p.keys.column, p.d);
          }
        }
#pragma unroll
        for (int j = 0; j < kQueries; ++j) {
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            C factor = query[j * pitch + column + e];
#pragma unroll
            for (int u = 0; u < kUnroll; ++u) {
              product[u][j] = metal::fma(factor, C(key_row[u].get(e)), product[u][j]);
            }
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        C dot = dealt_sum<C, kLanes, kQueries>(product[u], ctx.lane);
        if (part % kDealt == 0) weights[part / kDealt * kPieceKeys + i + u * kStep] = dot;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (int j = int(ctx.sg); j < kQueries; j += kCodeSimdgroups) {
      threadgroup C* line = weights + j * kPieceKeys;
      C top = C(-INFINITY), total = C(0.0f);
      for (int i = int(ctx.lane); i < kPieceKeys; i += 32) {
        C score = slots[i] >= 0 ? paged_score<C, kSoftcap>(line[i], scale, softcap) : C(-INFINITY);
        line[i] = score;
        top = metal::max(top, score);
      }
      top = piece_top(top);
      C shift = top == C(-INFINITY) ? C(0.0f) : top;
      for (int i = int(ctx.lane); i < kPieceKeys; i += 32) {
        C weight = metal::exp2(line[i] - shift);
        line[i] = weight;
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
      int column = block + part * 8;
      C sum[kQueries][8];
#pragma unroll
      for (int j = 0; j < kQueries; ++j) {
#pragma unroll
        for (int e = 0; e < 8; ++e) sum[j][e] = C(0.0f);
      }
#pragma unroll 2
      for (int i = int(ctx.sg) * kSlots + slot_lane; i < kPieceKeys; i += kStep) {
        int slot = slots[i];
        if (slot < 0 || column >= int(p.dv)) continue;
        V value_row;
        value_row.clear();
        value_row.load(values + p.values.base + long(slot) * p.values.row + kv_head * p.values.head,
                       column, p.values.column, p.dv);
#pragma unroll
        for (int j = 0; j < kQueries; ++j) {
          C weight = weights[j * kPieceKeys + i];
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            sum[j][e] = metal::fma(weight, C(value_row.get(e)), sum[j][e]);
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
      // Simdgroups in order.
      for (uint s = 0; s < kCodeSimdgroups; ++s) {
        if (s == ctx.sg && slot_lane == 0) {
#pragma unroll
          for (int j = 0; j < kQueries; ++j) {
#pragma unroll
            for (int e = 0; e < 8; ++e) {
              int at = j * kColumns + part * 8 + e;
              sums[at] = s == 0u ? sum[j][e] : sums[at] + sum[j][e];
            }
          }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
      int width = metal::min(kColumns, int(p.dv) - block);
      for (int j = 0; j < kQueries && first + j < p.group; ++j) {
        long head = kv_head * p.group + first + j;
        device C* to = parts + ((unit * p.heads + head) * p.pieces + piece) * p.dv + block;
        for (int c = int(ctx.tid.x); c < width; c += kCodeThreads) to[c] = sums[j * kColumns + c];
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}
