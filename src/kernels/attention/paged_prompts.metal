// paged_attention for tiles, of f16 and bf16 by tensor cores: out = softmax(scores(q k^T)) v for
// some rows of a sequence and some heads that read the same keys. Text of the kernel dialect.
// Queries and codes become what is multiplied as in paged_matrix.metal.
//
// A threadgroup has 64 * kTiles rows of queries, which lie in threadgroup memory: 1 << p.tile_shift
// rows of each of its heads. Each of its four simdgroups makes 16 * kTiles of them. It goes through
// the keys kKeys at a time, from multiples of kKeys on: a row has the same bits in any batch. Keys
// and values are copied into threadgroup memory, the next ones while these are multiplied, and the
// slots of those after them are found meanwhile. Keys that none of the rows sees are not read; a
// key without a page is 0.
//
// Layout (kernels/blocks/mma.h): for q k^T lane 4 g + t holds columns 8t to 8t + 7 of every 32 of
// rows g and g + 8 and of key g, 16 bytes as they lie; two words of them are the inner elements of
// one product. Weights come out where they go in as `a` of the second product, for which values are
// transposed as they are loaded. Vectors of a row are exchanged so that those which lanes load
// together lie in different banks (vector_place()).
//
// Bound by tensor cores. Scores and sums are f32; weights are rounded to the dtype. They reach to
// 2^10, so that sums are rarely scaled anew, and those of f16 begin at 2^-34 of the largest.

#include "kernels/attention/paged_matrix.metal"
#include "kernels/blocks/async_copy.h"

// Where vector `vector` of a row lies in it.
HEARTH_INLINE uint vector_place(uint row, uint vector) {
  return vector ^ ((row & 1u) << 2) ^ ((row >> 1) & 3u);
}

// 8 columns of a row of a cache into threadgroup memory, as those of D.
template <typename D, typename Cache>
struct StagedColumns {
  enum { at_once = 1 };  // row of a thread: what it makes of it takes registers
  static HEARTH_INLINE void take(threadgroup uint4* to, device const typename Cache::memory* row,
                                 int column, long step, long all, bool there) {
    Packet<16> made;
#pragma unroll
    for (int w = 0; w < 4; ++w) made.word[w] = 0u;
    if (there) {
      Cache cache;
      cache.load(row, column, step, all);
#pragma unroll
      for (int i = 0; i < 8; ++i) D::put(made.word, i, cache.get(i));
    }
    *to = uint4(made.word[0], made.word[1], made.word[2], made.word[3]);
  }
};
template <typename D>
struct StagedColumns<D, PlainCache<D, true>> {
  enum { at_once = 16 };
  static HEARTH_INLINE void take(threadgroup uint4* to, device const typename D::memory* row,
                                 int column, long, long, bool there) {
    begin_copy(to, row + column, there);
  }
};

// Rows of keys and values in `slots`; what is not there is 0. A thread has a column of vectors.
template <typename D, typename K, typename V, int kColumns, int kKeys>
HEARTH_INLINE void stage_rows(threadgroup uint4* to, device const typename K::memory* keys,
                              device const typename V::memory* values, threadgroup const int* slots,
                              constant PagedAttentionParams& p, uint thread_index) {
  const uint kVectors = kColumns / 8, kPitch = (kColumns + 63) / 64 * 8;
  const uint kAcross = kColumns <= 64 ? 8u : kColumns <= 128 ? 16u : 32u;
  const uint kStep = uint(kPromptThreads) / kAcross, kSteps = uint(kKeys) / kStep;
  const uint kMost = StagedColumns<D, K>::at_once < StagedColumns<D, V>::at_once
                         ? StagedColumns<D, K>::at_once
                         : StagedColumns<D, V>::at_once;
  const uint kAtOnce = kMost < kSteps ? kMost : kSteps;
  uint first = thread_index / kAcross, vector = thread_index % kAcross;
  if (vector >= kVectors) return;
  int column = int(vector) * 8, key_stride = int(p.keys.row), value_stride = int(p.values.row);
  bool has_key = column < int(p.d), has_value = column < int(p.dv);
#pragma unroll 1
  for (uint begin = 0u; begin < uint(kKeys); begin += kAtOnce * kStep) {
#pragma unroll
    for (uint u = 0u; u < kAtOnce; ++u) {
      uint row = begin + u * kStep + first;
      int slot = slots[row];
      long from = long(metal::max(slot, 0));
      threadgroup uint4* at = to + (row * kPitch + vector_place(row, vector));
      StagedColumns<D, K>::take(at, keys + from * long(key_stride), column, p.keys.column, p.d,
                                slot >= 0 && has_key);
      StagedColumns<D, V>::take(at + uint(kKeys) * kPitch, values + from * long(value_stride),
                                column, p.values.column, p.dv, slot >= 0 && has_value);
    }
  }
}

// Vectors of queries, what is not there being 0.
template <typename Q, typename D, bool kVectors>
HEARTH_INLINE Packet<16> query_columns(device const typename Q::memory* row, int column, long step,
                                       bool there) {
  Packet<16> made;
#pragma unroll
  for (int w = 0; w < 4; ++w) made.word[w] = 0u;
  if (!there) return made;
  if (kVectors) {
    made = Packet<16>::read(row + column);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) Q::put(made.word, i, Q::load(row[long(column + i) * step]));
  }
  return QueryOf<Q, D>::from(made);
}

// K and V are caches of paged_codes.metal: floats of D, or codes. d and dv are multiples of 8 and
// at most kColumns, of which 32 divide; p.scale is above 0. With kVectors, vectors of q begin at
// multiples of 16 bytes.
template <typename Q, typename D, typename K, typename V, int kColumns, int kTiles, int kKeys,
          bool kVectors, bool kSoftcap>
void paged_prompts(device const typename Q::memory* q, device const typename K::memory* keys,
                   device const typename V::memory* values, device const int* pages,
                   device const int* tiles, device const typename Q::memory* sinks,
                   device typename Q::memory* out, constant PagedAttentionParams& p,
                   threadgroup uint4* queries, threadgroup uint4* stages, threadgroup int* slots,
                   Ctx ctx) {
  const int kOwnRows = kPromptRows * kTiles, kRows = kPromptThreads / 32 * kOwnRows;
  const int kKeyTiles = kKeys / 8, kColumnTiles = kColumns / 8;
  const uint kRowVectors = kColumns / 8, kPitch = (kColumns + 63) / 64 * 8;
  uint lines = uint(p.kv_heads * p.blocks);
  // The last tiles of a sequence see the most keys: they are begun first.
  long index = p.tiles - 1 - long(ctx.tg.x / lines);
  device const int* tile = tiles + index * kPagedEntry;
  int sequence = tile[0], first = tile[1], position = tile[2], count = tile[3];
  if (count == 0) return;
  uint line = ctx.tg.x % lines, shift = uint(p.tile_shift), each = 1u << shift;
  uint kv_head = line / uint(p.blocks);
  uint first_head = kv_head * uint(p.group) + line % uint(p.blocks) * (uint(kRows) >> shift);
  uint g = ctx.lane / 4u, t = ctx.lane % 4u;
  int begin = paged_begin(position, p), end = sequence < 0 ? 0 : position + count;
  int begin_block = begin / kKeys * kKeys;
  device const typename K::memory* key_rows = keys + p.keys.base + long(kv_head) * p.keys.head;
  device const typename V::memory* value_rows =
      values + p.values.base + long(kv_head) * p.values.head;

#pragma unroll 1
  for (uint i = ctx.tid.x; i < uint(kRows) * kRowVectors; i += uint(kPromptThreads)) {
    uint row = i / kRowVectors, vector = i % kRowVectors, at = row & (each - 1u);
    int column = int(vector) * 8;
    Packet<16> made =
        query_columns<Q, D, kVectors>(q + p.q.base + (long(first) + long(at)) * p.q.row +
                                          long(first_head + (row >> shift)) * p.q.head,
                                      column, p.q.column, int(at) < count && column < int(p.d));
    queries[row * kPitch + vector_place(row, vector)] =
        uint4(made.word[0], made.word[1], made.word[2], made.word[3]);
  }
  if (ctx.tid.x < uint(kKeys)) {
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      int own = begin_block + block * kKeys + int(ctx.tid.x);
      slots[block * kKeys + int(ctx.tid.x)] =
          own >= begin && own < end ? paged_slot(pages, sequence, own, p) : -1;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint kStage = uint(kKeys) * kPitch;
  if (begin_block < end) {
    stage_rows<D, K, V, kColumns, kKeys>(stages, key_rows, value_rows, slots, p, ctx.tid.x);
    commit_copies();
  }

  // The rows of the tile that this simdgroup makes, of one head or of several.
  uint own_row = ctx.tid.x / 32u * uint(kOwnRows);
  int low = each >= uint(kOwnRows) ? int(own_row & (each - 1u)) : 0;
  int high = metal::min(low + metal::min(int(each), int(kOwnRows)), count) - 1;
  int low_place = position + low, high_place = low <= high ? position + high : -1;
  int low_begin = paged_begin(low_place, p), high_begin = paged_begin(high_place, p);
  float4 sum[kTiles][kColumnTiles];
  float best[2 * kTiles], total[2 * kTiles];
#pragma unroll
  for (int r = 0; r < 2 * kTiles; ++r) {
    best[r] = -INFINITY;
    total[r] = 0.0f;
  }
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j) sum[m][j] = float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  float scale = Number<float>::of(p.scale), softcap = Number<float>::of(p.softcap);

#pragma unroll 1
  for (uint block = 0u; begin_block + int(block) * kKeys < end; ++block) {
    int key = begin_block + int(block) * kKeys;
    wait_for_copies();
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint turn = block & 1u;
    threadgroup const uint4* stage = stages + turn * 2u * kStage;
    threadgroup const int* own_slots = slots + block % uint(kPromptSlots) * uint(kKeys);
    if (ctx.tid.x < uint(kKeys)) {
      int later = key + 2 * kKeys + int(ctx.tid.x);
      slots[(block + 2u) % uint(kPromptSlots) * uint(kKeys) + ctx.tid.x] =
          later < end ? paged_slot(pages, sequence, later, p) : -1;
    }
    if (key + kKeys < end) {
      stage_rows<D, K, V, kColumns, kKeys>(stages + (turn ^ 1u) * 2u * kStage, key_rows, value_rows,
                                           slots + (block + 1u) % uint(kPromptSlots) * uint(kKeys),
                                           p, ctx.tid.x);
      commit_copies();
    }

    bool is_seen = key <= high_place && key + kKeys > low_begin;
    if (is_seen) {
      bool lacks = false;
#pragma unroll
      for (int i = 0; i < (kKeys + 31) / 32; ++i) {
        lacks = lacks || own_slots[(int(ctx.lane) + 32 * i) % kKeys] < 0;
      }
      bool is_whole = !simd_any(lacks) && key + kKeys - 1 <= low_place && key >= high_begin;

      float4 score[kTiles][kKeyTiles];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) score[m][n] = float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
#pragma unroll 1
      for (uint i = 0u; i < uint(kColumns) / 32u; ++i) {
        uint vector = vector_place(g, 4u * i + t);
        uint4 upper[kTiles], lower[kTiles];
#pragma unroll
        for (uint m = 0u; m < uint(kTiles); ++m) {
          threadgroup const uint4* row = queries + (own_row + 16u * m + g) * kPitch + vector;
          upper[m] = row[0];
          lower[m] = row[8u * kPitch];
        }
#pragma unroll
        for (uint n = 0u; n < uint(kKeyTiles); ++n) {
          uint4 own = stage[(8u * n + g) * kPitch + vector];
#pragma unroll
          for (int m = 0; m < kTiles; ++m) {
            score[m][n] = tile_product<D>(uint4(upper[m].x, lower[m].x, upper[m].y, lower[m].y),
                                          uint2(own.x, own.y), score[m][n], ctx.lane);
            score[m][n] = tile_product<D>(uint4(upper[m].z, lower[m].z, upper[m].w, lower[m].w),
                                          uint2(own.z, own.w), score[m][n], ctx.lane);
          }
        }
      }
      if (kSoftcap) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
#pragma unroll
          for (int n = 0; n < kKeyTiles; ++n) {
            score[m][n] = float4(paged_score<float, true>(score[m][n].x, scale, softcap),
                                 paged_score<float, true>(score[m][n].y, scale, softcap),
                                 paged_score<float, true>(score[m][n].z, scale, softcap),
                                 paged_score<float, true>(score[m][n].w, scale, softcap));
          }
        }
      }
      if (!is_whole) {
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
          int column = 8 * n + 2 * int(t);
          bool even = own_slots[column] >= 0, odd = own_slots[column + 1] >= 0;
#pragma unroll
          for (int m = 0; m < kTiles; ++m) {
            int upper = low_place + int((16u * uint(m) + g) & (each - 1u));
            int lower = low_place + int((16u * uint(m) + g + 8u) & (each - 1u));
            int at = key + column;
            int upper_begin = paged_begin(upper, p), lower_begin = paged_begin(lower, p);
            float4 all = score[m][n];
            score[m][n] =
                float4(even && at <= upper && at >= upper_begin ? all.x : -INFINITY,
                       odd && at + 1 <= upper && at + 1 >= upper_begin ? all.y : -INFINITY,
                       even && at <= lower && at >= lower_begin ? all.z : -INFINITY,
                       odd && at + 1 <= lower && at + 1 >= lower_begin ? all.w : -INFINITY);
          }
        }
      }

      float factor = kSoftcap ? 1.0f : scale;
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        float top = -INFINITY, lower_top = -INFINITY;
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
          top = metal::max(top, metal::max(score[m][n].x, score[m][n].y));
          lower_top = metal::max(lower_top, metal::max(score[m][n].z, score[m][n].w));
        }
#pragma unroll
        for (int distance = 1; distance <= 2; distance *= 2) {
          top = metal::max(top, simd_shuffle_xor(top, ushort(distance)));
          lower_top = metal::max(lower_top, simd_shuffle_xor(lower_top, ushort(distance)));
        }
        float next = metal::max(best[2 * m], top * factor - 10.0f);
        float lower_next = metal::max(best[2 * m + 1], lower_top * factor - 10.0f);
        float shift_of = next == -INFINITY ? 0.0f : next;
        float lower_shift = lower_next == -INFINITY ? 0.0f : lower_next;
        float shrink = metal::fast::exp2(best[2 * m] - shift_of);
        float lower_shrink = metal::fast::exp2(best[2 * m + 1] - lower_shift);
        best[2 * m] = next;
        best[2 * m + 1] = lower_next;
        if (simd_any(shrink != 1.0f || lower_shrink != 1.0f)) {
          total[2 * m] = total[2 * m] * shrink;
          total[2 * m + 1] = total[2 * m + 1] * lower_shrink;
#pragma unroll
          for (int j = 0; j < kColumnTiles; ++j) {
            sum[m][j] = float4(sum[m][j].x * shrink, sum[m][j].y * shrink,
                               sum[m][j].z * lower_shrink, sum[m][j].w * lower_shrink);
          }
        }
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
          float4 all = score[m][n];
          all = float4(metal::fast::exp2(metal::fma(all.x, factor, -shift_of)),
                       metal::fast::exp2(metal::fma(all.y, factor, -shift_of)),
                       metal::fast::exp2(metal::fma(all.z, factor, -lower_shift)),
                       metal::fast::exp2(metal::fma(all.w, factor, -lower_shift)));
          total[2 * m] = total[2 * m] + (all.x + all.y);
          total[2 * m + 1] = total[2 * m + 1] + (all.z + all.w);
          score[m][n] = all;
        }
      }
      // Of values: lane 8 m + i has key 8 (m % 2) + i and vector m / 2 of each pair of vectors.
      uint pair_place[4];
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) {
        pair_place[j] = (turn * 2u + 1u) * kStage + (ctx.lane & 15u) * kPitch +
                        vector_place(ctx.lane & 7u, 2u * j + (ctx.lane >> 4));
      }
#pragma unroll
      for (uint n = 0u; n < uint(kKeyTiles); n += 2u) {
        uint4 weights[kTiles];
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          float4 near = score[m][n], far = score[m][n + 1u];
          weights[m] = uint4(rounded_halves<D>(near.x, near.y), rounded_halves<D>(near.z, near.w),
                             rounded_halves<D>(far.x, far.y), rounded_halves<D>(far.z, far.w));
        }
#pragma unroll
        for (uint j = 0u; j < uint(kColumnTiles); j += 2u) {
          uint4 pairs = transposed_tiles(
              stages, pair_place[j / 2u % 4u] + (8u * n * kPitch + j / 8u * 8u), ctx.lane);
#pragma unroll
          for (int m = 0; m < kTiles; ++m) {
            sum[m][j] = tile_product<D>(weights[m], uint2(pairs.x, pairs.y), sum[m][j], ctx.lane);
            sum[m][j + 1u] =
                tile_product<D>(weights[m], uint2(pairs.z, pairs.w), sum[m][j + 1u], ctx.lane);
          }
        }
      }
    }
  }

  float log2e = Number<float>::of(p.log2e);
#pragma unroll
  for (int r = 0; r < 2 * kTiles; ++r) {
    float whole = total[r] + simd_shuffle_xor(total[r], ushort(1));
    whole = whole + simd_shuffle_xor(whole, ushort(2));
    uint row = own_row + 8u * uint(r) + g, at = row & (each - 1u);
    long head = long(first_head + (row >> shift));
    float all = whole;
    if (p.sinks != 0) {
      all = all + metal::exp2(Q::load(sinks[p.sink_base + head * p.sink_step]) * log2e - best[r]);
    }
    float share = whole == 0.0f ? 0.0f : 1.0f / all;
    device typename Q::memory* to = out + ((long(first) + long(at)) * p.heads + head) * p.dv;
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j) {
      float4 both = sum[r / 2][j];
      Packet<4> pair;
      pair.word[0] = r % 2 == 0 ? rounded_halves<Q>(both.x * share, both.y * share)
                                : rounded_halves<Q>(both.z * share, both.w * share);
      int column = 8 * j + 2 * int(t);
      if (int(at) < count && column < int(p.dv)) pair.write(to + column);
    }
  }
}
