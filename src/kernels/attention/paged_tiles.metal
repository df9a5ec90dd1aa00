// paged_attention for tiles: out = softmax(scores(q k^T)) v for up to 64 rows of one head of a
// sequence, for f32 and the 16-bit floats, without the scores in memory. Text of the kernel
// dialect.
//
// As attention_tiles(), with keys found by their slots, 64 at a time from multiples of 64 on: a
// row has the same bits in any batch. Keys that none of the rows sees are not read. A threadgroup
// makes kColumns columns of the result; where there are more of them, others multiply the same
// keys again. Bound by arithmetic. Sums are kept in f32.

#include "kernels/attention/paged.metal"
#include "kernels/attention/tiles.metal"

// Columns from `column` on of the rows in `slots` into a slice of 64, transposed: slice[c][row].
// What is not there is 0.
template <typename D, int kThreads>
HEARTH_INLINE void take_slots(threadgroup float* slice, device const typename D::memory* from,
                              threadgroup const int* slots, long column, long columns,
                              constant PagedOperand& x, uint thread_index) {
  const int kStep = kThreads / kSliceDepth;
  int c = int(thread_index) % kSliceDepth, row = int(thread_index) / kSliceDepth;
  bool there = column + c < columns;
  from += (column + c) * x.column;
#pragma unroll 4
  for (int u = 0; u < kAttentionTile / kStep; ++u) {
    int at = row + u * kStep, slot = slots[at];
    slice[c * kSlicePitch + at] = there && slot >= 0 ? D::load(from[long(slot) * x.row]) : 0.0f;
  }
}

// The same of rows of q, `count` of which exist.
template <typename D, int kThreads>
HEARTH_INLINE void take_rows(threadgroup float* slice, device const typename D::memory* from,
                             int count, long column, long columns, constant PagedOperand& x,
                             uint thread_index) {
  const int kStep = kThreads / kSliceDepth;
  int c = int(thread_index) % kSliceDepth, row = int(thread_index) / kSliceDepth;
  bool there = column + c < columns;
  from += (column + c) * x.column;
#pragma unroll 4
  for (int u = 0; u < kAttentionTile / kStep; ++u) {
    int at = row + u * kStep;
    slice[c * kSlicePitch + at] = there && at < count ? D::load(from[at * x.row]) : 0.0f;
  }
}

template <typename Q, typename K, int kColumns, bool kSoftcap>
void paged_tiles(device const typename Q::memory* q, device const typename K::memory* keys,
                 device const typename K::memory* values, device const int* pages,
                 device const int* tiles, device const typename Q::memory* sinks,
                 device typename Q::memory* out, constant PagedAttentionParams& p,
                 threadgroup float* slices, threadgroup float* value_slice, threadgroup int* slots,
                 Ctx ctx) {
  const int kThreads = kPagedTileThreads, kRows = 16 * kAttentionTile / kThreads;
  const int kParts = kColumns / 64;
  const int kKeys = kSliceValues / kColumns;
  device const int* tile = tiles + long(ctx.tg.x) * kPagedEntry;
  int sequence = tile[0], first = tile[1], position = tile[2], count = tile[3];
  if (count == 0) return;
  long head = long(ctx.tg.y) / p.blocks, first_column = long(ctx.tg.y) % p.blocks * kColumns;
  long kv_head = head / p.group;
  int thread_row = int(ctx.tid.x) / 16, thread_col = int(ctx.tid.x) % 16 * 4;
  int end = sequence < 0 ? 0 : position + count;
  float scale = Number<float>::of(p.scale), softcap = Number<float>::of(p.softcap);
  device const typename Q::memory* rows = q + p.q.base + long(first) * p.q.row + head * p.q.head;
  device const typename K::memory* key_rows = keys + p.keys.base + kv_head * p.keys.head;
  device const typename K::memory* value_rows = values + p.values.base + kv_head * p.values.head;
  // Weights lie where slices of q and k were: [row][key].
  threadgroup float* key_slice = slices + kSlicePitch * kSliceDepth;
  threadgroup float* weights = slices;

  float sum[kRows][4 * kParts], best[kRows], total[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    best[i] = -INFINITY;
    total[i] = 0.0f;
#pragma unroll
    for (int c = 0; c < 4 * kParts; ++c) sum[i][c] = 0.0f;
  }
  int begin = paged_begin(position, p);
#pragma unroll 1
  for (int key = begin / kAttentionTile * kAttentionTile; key < end; key += kAttentionTile) {
    if (ctx.tid.x < uint(kAttentionTile)) {
      int own = key + int(ctx.tid.x);
      slots[ctx.tid.x] = own >= begin && own < end ? paged_slot(pages, sequence, own, p) : -1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // Bit 4 i + j: row i sees key j.
    uint there = 0u, sees = 0u;
#pragma unroll
    for (int j = 0; j < 4; ++j) there |= slots[thread_col + j] >= 0 ? 1u << j : 0u;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int row = tile_row<kRows>(thread_row, i), place = position + row;
      int from = paged_begin(place, p) - key - thread_col;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        bool is_seen = row < count && key + thread_col + j <= place && j >= from;
        sees |= is_seen && ((there >> j) & 1u) != 0u ? 1u << (4 * i + j) : 0u;
      }
    }
    float score[kRows][4];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) score[i][j] = 0.0f;
    }
#pragma unroll 1
    for (long column = 0; column < p.d; column += kSliceDepth) {
      take_rows<Q, kThreads>(slices, rows, count, column, p.d, p.q, ctx.tid.x);
      take_slots<K, kThreads>(key_slice, key_rows, slots, column, p.d, p.keys, ctx.tid.x);
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
        bool is_seen = ((sees >> (4 * i + j)) & 1u) != 0u;
        score[i][j] =
            is_seen ? paged_score<float, kSoftcap>(score[i][j], scale, softcap) : -INFINITY;
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
#pragma unroll 1
    for (int part = 0; part < kAttentionTile; part += kKeys) {
      const int kStep = kThreads / kColumns;
      int column = int(ctx.tid.x) % kColumns, first_key = int(ctx.tid.x) / kColumns;
      bool has_column = first_column + column < p.dv;
      device const typename K::memory* from =
          value_rows + (first_column + column) * p.values.column;
#pragma unroll 4
      for (int u = 0; u < kKeys / kStep; ++u) {
        int i = first_key + u * kStep, slot = slots[part + i];
        value_slice[i * kColumns + column] =
            has_column && slot >= 0 ? K::load(from[long(slot) * p.values.row]) : 0.0f;
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
  float log2e = Number<float>::of(p.log2e);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
      total[i] = total[i] + simd_shuffle_xor(total[i], ushort(distance));
    }
    int row = tile_row<kRows>(thread_row, i);
    float all = total[i];
    if (p.sinks != 0) {
      all = all + metal::exp2(Q::load(sinks[p.sink_base + head * p.sink_step]) * log2e - best[i]);
    }
    float share = total[i] == 0.0f ? 0.0f : 1.0f / all;
#pragma unroll
    for (int c = 0; c < 4 * kParts; ++c) {
      long column = first_column + (c / 4) * 64 + thread_col + c % 4;
      if (row < count && column < p.dv) {
        out[((long(first) + row) * p.heads + head) * p.dv + column] = Q::store(sum[i][c] * share);
      }
    }
  }
}
