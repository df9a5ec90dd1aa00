// attention for many queries: out = softmax(scores(q k^T)) v for f32 and the 16-bit floats, any
// strides and head size, without the scores in memory. Text of the kernel dialect.
//
// A threadgroup makes 64 rows of one head: 16 threads side by side, each with kRows rows, in blocks
// of four neighbours, and four neighbouring keys or columns. It walks over the keys that any of
// them sees, 64 at a time: products in registers, over slices of 32 columns of q and k in
// threadgroup memory; the running maximum, sum and result of each row brought up to date; weights
// through the same memory; values in slices of 2048 elements. kColumns columns of the result are
// kept in registers. Operands come from threadgroup memory four at a time, which is one load for
// 5 to 10 multiplications. Keys that the mask hides from all 64 rows are skipped. Bound by
// arithmetic; where a library or tensor cores serve a dtype, they do it better. Sums are kept in
// f32.

#include "kernels/attention/scores.metal"

// The rows of a thread: blocks of four, 64 / (kRows / 4) apart.
template <int kRows>
HEARTH_INLINE int tile_row(int thread_row, int i) {
  return (i / 4) * (kAttentionTile * 4 / kRows) + thread_row * 4 + i % 4;
}

HEARTH_INLINE void take_four(thread float* to, threadgroup const float* from) {
  float4 all = *(threadgroup const float4*)from;
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}

// Columns from `column` on of `count` rows into a slice of 64, transposed: slice[c][row]. What is
// not there is 0.
template <typename D, int kThreads>
HEARTH_INLINE void take_slice(threadgroup float* slice, device const typename D::memory* from,
                              int count, long column, long columns, constant AttentionOperand& x,
                              uint thread_index) {
  const int kStep = kThreads / kSliceDepth;
  int c = int(thread_index) % kSliceDepth, row = int(thread_index) / kSliceDepth;
  bool there = column + c < columns;
  from += row * x.row + (column + c) * x.column;
  slice += c * kSlicePitch + row;
#pragma unroll 4
  for (int u = 0; u < kAttentionTile / kStep; ++u) {
    slice[u * kStep] = there && row + u * kStep < count ? D::load(*from) : 0.0f;
    from += kStep * x.row;
  }
}

template <typename D, int kColumns, int kRows, bool kSoftcap, bool kMask, bool kBias, bool kRange>
void attention_tiles(device const typename D::memory* q, device const typename D::memory* k,
                     device const typename D::memory* v, device const uchar* mask,
                     device const typename D::memory* bias, device const int* lengths,
                     device const int* starts, device const ulong* dynamics,
                     device const typename D::memory* sinks, device typename D::memory* out,
                     constant AttentionParams& p, threadgroup float* slices,
                     threadgroup float* value_slice, threadgroup uint* seen, Ctx ctx) {
  const int kThreads = 16 * kAttentionTile / kRows, kParts = kColumns / 64;
  const int kKeys = kSliceValues / kColumns;
  long item = long(ctx.tg.z), head = long(ctx.tg.y), kv_head = head / (p.heads / p.kv_heads);
  long first = long(ctx.tg.x) * kAttentionTile;
  int thread_row = int(ctx.tid.x) / 16, thread_col = int(ctx.tid.x) % 16 * 4;
  ItemKeys<kRange> there(lengths, starts, item, dynamics, p);
  long length = there.length;
  long last = first + kAttentionTile < p.rows ? first + kAttentionTile : p.rows;
  long end = visible_keys(last - 1, length, p);
  ScoreScale<float> scale(p);
  device const typename D::memory* rows = q + place_of(p.q, item, head, first);
  device const typename D::memory* keys = k + place_of(p.k, item, kv_head, 0);
  device const typename D::memory* values = v + place_of(p.v, item, kv_head, 0);
  // Weights lie where slices of q and k were: [row][key].
  threadgroup float* key_slice = slices + kSlicePitch * kSliceDepth;
  threadgroup float* weights = slices;
  // Keys that all rows see, where all 64 rows exist.
  long all_from = there.hidden(last - 1, p), all_to = visible_keys(first, length, p);
  bool is_whole = last - first == kAttentionTile;

  float sum[kRows][4 * kParts], best[kRows], total[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    best[i] = -INFINITY;
    total[i] = 0.0f;
#pragma unroll
    for (int c = 0; c < 4 * kParts; ++c) sum[i][c] = 0.0f;
  }
  for (long key = there.hidden(first, p); key < end; key += kAttentionTile) {
    // Bit 4 i + j: row i sees key j.
    uint sees = kRows == 8 ? ~0u : 0xffffu;
    if (kMask || !is_whole || key < all_from || key + kAttentionTile > all_to) {
      sees = 0u;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        long row = first + tile_row<kRows>(thread_row, i);
        if (row >= p.rows) continue;
        int begin = int(metal::clamp(there.hidden(row, p) - key, long(0), long(kAttentionTile)));
        int end_of =
            int(metal::clamp(visible_keys(row, length, p) - key, long(0), long(kAttentionTile)));
        device const uchar* masked = mask;
        if (kMask) masked += place_of(p.mask, item, head, row) + (key + thread_col) * p.mask.column;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          bool is_seen = thread_col + j < end_of && (!kRange || thread_col + j >= begin);
          if (kMask && is_seen) is_seen = masked[j * p.mask.column] == 0;
          sees |= is_seen ? 1u << (4 * i + j) : 0u;
        }
      }
    }
    if (kMask) {
      bool any = simd_any(sees != 0u);
      if (ctx.lane == 0u) seen[ctx.sg] = any ? 1u : 0u;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      uint all = seen[ctx.lane % uint(kThreads / 32)];
      if (!simd_any(all != 0u)) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        continue;
      }
    }
    float score[kRows][4];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) score[i][j] = 0.0f;
    }
    int existing = int(metal::min(length - key, long(kAttentionTile)));
    for (long column = 0; column < p.d; column += kSliceDepth) {
      take_slice<D, kThreads>(slices, rows, int(last - first), column, p.d, p.q, ctx.tid.x);
      take_slice<D, kThreads>(key_slice, keys + key * p.k.row, existing, column, p.d, p.k,
                              ctx.tid.x);
      threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll 4
      for (int c = 0; c < kSliceDepth; ++c) {
        float left[kRows], right[4];
#pragma unroll
        for (int i = 0; i < kRows; i += 4) {
          take_four(left + i, slices + c * kSlicePitch + tile_row<kRows>(thread_row, i));
        }
        take_four(right, key_slice + c * kSlicePitch + thread_col);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) score[i][j] = metal::fma(left[i], right[j], score[i][j]);
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int row = tile_row<kRows>(thread_row, i);
      float top = best[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float slope;
        bool is_seen = ((sees >> (4 * i + j)) & 1u) != 0u;
        score[i][j] = is_seen ? score_of<D, kSoftcap, false, kBias>(score[i][j], scale, mask, bias,
                                                                    item, head, first + row,
                                                                    key + thread_col + j, p, slope)
                              : -INFINITY;
        top = metal::max(top, score[i][j]);
      }
#pragma unroll
      for (int distance = 8; distance > 0; distance /= 2) {
        top = metal::max(top, simd_shuffle_xor(top, ushort(distance)));
      }
      float shift = top == -INFINITY ? 0.0f : top;
      float shrink = metal::exp2(best[i] - shift);
      best[i] = top;
      float weight[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) weight[j] = metal::exp2(score[i][j] - shift);
      total[i] = total[i] * shrink + ((weight[0] + weight[1]) + (weight[2] + weight[3]));
      *(threadgroup float4*)(weights + row * kSlicePitch + thread_col) =
          float4(weight[0], weight[1], weight[2], weight[3]);
#pragma unroll
      for (int c = 0; c < 4 * kParts; ++c) sum[i][c] = sum[i][c] * shrink;
    }
    for (int part = 0; part < kAttentionTile; part += kKeys) {
      const int kStep = kThreads / kColumns;
      int column = int(ctx.tid.x) % kColumns, first_key = int(ctx.tid.x) / kColumns;
      device const typename D::memory* from =
          values + (key + part + first_key) * p.v.row + column * p.v.column;
#pragma unroll 4
      for (int u = 0; u < kKeys / kStep; ++u) {
        int i = first_key + u * kStep;
        value_slice[i * kColumns + column] =
            part + i < existing && column < p.dv ? D::load(*from) : 0.0f;
        from += kStep * p.v.row;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll 1
      for (int i = 0; i < kKeys; i += 4) {
        float left[kRows][4];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          take_four(left[r], weights + tile_row<kRows>(thread_row, r) * kSlicePitch + part + i);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int c = 0; c < kParts; ++c) {
            float right[4];
            take_four(right, value_slice + (i + j) * kColumns + c * 64 + thread_col);
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
#pragma unroll
              for (int e = 0; e < 4; ++e) {
                sum[r][4 * c + e] = metal::fma(left[r][j], right[e], sum[r][4 * c + e]);
              }
            }
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
      total[i] = total[i] + simd_shuffle_xor(total[i], ushort(distance));
    }
    long row = first + tile_row<kRows>(thread_row, i);
    float all = total[i] + sink_weight<D>(sinks, head, best[i], scale.log2e, p);
    float share = total[i] == 0.0f ? 0.0f : 1.0f / all;
#pragma unroll
    for (int c = 0; c < 4 * kParts; ++c) {
      long column = (c / 4) * 64 + thread_col + c % 4;
      if (row < p.rows && column < p.dv) {
        out[((item * p.heads + head) * p.rows + row) * p.dv + column] = D::store(sum[i][c] * share);
      }
    }
  }
}
