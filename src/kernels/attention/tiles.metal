// attention for many queries: out = softmax(scores(q k^T)) v for f32 and the 16-bit floats, any
// strides and head size, without the scores in memory. Text of the kernel dialect.
//
// A threadgroup of 16 x 16 threads makes 64 rows of one head. It walks over the keys that any of
// them sees, 64 at a time: products in registers, sixteen a thread, over slices of 16 columns of q
// and k in threadgroup memory; the running maximum, sum and result of each row brought up to date;
// weights through threadgroup memory; values in slices of 2048 elements. kColumns columns of the
// result are kept in registers. Bound by threadgroup memory; where a library or tensor cores serve
// a dtype, they do it better. Sums are kept in f32.

#include "kernels/attention/scores.metal"

template <typename D, int kColumns, bool kSoftcap, bool kMask, bool kBias, bool kRange>
void attention_tiles(device const typename D::memory* q, device const typename D::memory* k,
                     device const typename D::memory* v, device const uchar* mask,
                     device const typename D::memory* bias, device const int* lengths,
                     device const int* starts, device const ulong* dynamics,
                     device const typename D::memory* sinks, device typename D::memory* out,
                     constant AttentionParams& p, threadgroup typename D::value* slices,
                     threadgroup typename D::value* weights, Ctx ctx) {
  typedef typename D::value C;
  const int kTile = 64, kDepth = 16, kPart = 4, kParts = kColumns / 16, kKeys = 2048 / kColumns;
  long item = long(ctx.tg.z), head = long(ctx.tg.y), kv_head = head / (p.heads / p.kv_heads);
  long first = long(ctx.tg.x) * kTile;
  int thread_row = int(ctx.tid.x) / 16, thread_col = int(ctx.tid.x) % 16;
  ItemKeys<kRange> there(lengths, starts, item, dynamics, p);
  long length = there.length;
  long last = first + kTile < p.rows ? first + kTile : p.rows;
  long end = visible_keys(last - 1, length, p);
  ScoreScale<C> scale(p);
  device const typename D::memory* rows = q + place_of(p.q, item, head, first);
  device const typename D::memory* keys = k + place_of(p.k, item, kv_head, 0);
  device const typename D::memory* values = v + place_of(p.v, item, kv_head, 0);
  threadgroup C* key_slice = slices + kTile * kDepth;

  C sum[kPart][kParts], best[kPart], total[kPart];
  long visible[kPart], hidden[kPart];
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    long row = first + thread_row + 16 * i;
    visible[i] = row < p.rows ? visible_keys(row, length, p) : 0;
    hidden[i] = kRange ? there.hidden(row, p) : 0;
    best[i] = C(-INFINITY);
    total[i] = C(0.0f);
#pragma unroll
    for (int c = 0; c < kParts; ++c) sum[i][c] = C(0.0f);
  }
  for (long key = there.hidden(first, p); key < end; key += kTile) {
    C score[kPart][kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
#pragma unroll
      for (int j = 0; j < kPart; ++j) score[i][j] = C(0.0f);
    }
    for (long column = 0; column < p.d; column += kDepth) {
      for (int at = int(ctx.tid.x); at < kTile * kDepth; at += 256) {
        int i = at / kDepth, c = at % kDepth;
        bool there = column + c < p.d;
        slices[c * kTile + i] = there && first + i < p.rows
                                    ? D::load(rows[i * p.q.row + (column + c) * p.q.column])
                                    : C(0.0f);
        key_slice[c * kTile + i] =
            there && key + i < length
                ? D::load(keys[(key + i) * p.k.row + (column + c) * p.k.column])
                : C(0.0f);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (int c = 0; c < kDepth; ++c) {
        C left[kPart], right[kPart];
#pragma unroll
        for (int i = 0; i < kPart; ++i) left[i] = slices[c * kTile + thread_row + 16 * i];
#pragma unroll
        for (int j = 0; j < kPart; ++j) right[j] = key_slice[c * kTile + thread_col + 16 * j];
#pragma unroll
        for (int i = 0; i < kPart; ++i) {
#pragma unroll
          for (int j = 0; j < kPart; ++j) {
            score[i][j] = metal::fma(left[i], right[j], score[i][j]);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
      long row = first + thread_row + 16 * i;
      C top = best[i];
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        long at = key + thread_col + 16 * j;
        C slope;
        score[i][j] = at < visible[i] && (!kRange || at >= hidden[i])
                          ? score_of<D, kSoftcap, kMask, kBias>(score[i][j], scale, mask, bias,
                                                                item, head, row, at, p, slope)
                          : C(-INFINITY);
        top = metal::max(top, score[i][j]);
      }
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) {
        top = metal::max(top, shuffle_xor(top, ushort(distance)));
      }
      C shift = top == C(-INFINITY) ? C(0.0f) : top;
      C shrink = metal::exp2(best[i] - shift);
      best[i] = top;
      total[i] = total[i] * shrink;
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        C weight = metal::exp2(score[i][j] - shift);
        total[i] = total[i] + weight;
        weights[(thread_col + 16 * j) * kTile + thread_row + 16 * i] = weight;
      }
#pragma unroll
      for (int c = 0; c < kParts; ++c) sum[i][c] = sum[i][c] * shrink;
    }
    for (int part = 0; part < kTile; part += kKeys) {
      for (int at = int(ctx.tid.x); at < kKeys * kColumns; at += 256) {
        int i = at / kColumns, c = at % kColumns;
        slices[at] = key + part + i < length && c < p.dv
                         ? D::load(values[(key + part + i) * p.v.row + c * p.v.column])
                         : C(0.0f);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (int i = 0; i < kKeys; ++i) {
        C left[kPart];
#pragma unroll
        for (int j = 0; j < kPart; ++j) {
          left[j] = weights[(part + i) * kTile + thread_row + 16 * j];
        }
#pragma unroll
        for (int c = 0; c < kParts; ++c) {
          C right = slices[i * kColumns + thread_col + 16 * c];
#pragma unroll
          for (int j = 0; j < kPart; ++j) sum[j][c] = metal::fma(left[j], right, sum[j][c]);
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
      total[i] = total[i] + shuffle_xor(total[i], ushort(distance));
    }
    long row = first + thread_row + 16 * i;
    C all = total[i] + sink_weight<D>(sinks, head, best[i], scale.log2e, p);
    C share = total[i] == C(0.0f) ? C(0.0f) : C(1.0f) / all;
#pragma unroll
    for (int c = 0; c < kParts; ++c) {
      long column = thread_col + 16 * c;
      if (row < p.rows && column < p.dv) {
        out[((item * p.heads + head) * p.rows + row) * p.dv + column] = D::store(sum[i][c] * share);
      }
    }
  }
}
