// paged_attention for units, as paged_pieces.metal, of f16 and bf16 by tensor cores. Text of the
// kernel dialect. Queries of bf16 become f16 where keys are: as they are, but for the tiniest and
// for those beyond f16, which become its largest. Codes become f16 too (cache_vectors.metal).
//
// Up to 8 heads that read the same keys are the rows of a tile, in the layout of
// flash_decoding_mma.metal: lanes multiply 16 bytes of a key or value as they were loaded. A
// threadgroup makes pieces of 256 keys: it finds their slots, its simdgroups take turns with 16
// keys, and what they have is added up in order, so that a piece has the same bits in any batch.
// Values are on their way while keys are multiplied, and the next keys while values are. In place
// of a key that the row does not see slot 0 is read, and weighs nothing.
//
// Bound by memory: each key and value is read once for 8 heads, at 5 instructions for 16 bytes;
// codes by what makes halves of them.
// Scores and sums are f32; weights are rounded to the dtype, and it is the rounded ones that are
// summed up, but where they took on steps of values.

#include "kernels/attention/cache_vectors.metal"
#include "kernels/attention/matrix_rows.metal"

// Offsets of the rows of slots; those of none are that of slot 0.
HEARTH_INLINE long slot_offset(int slot, constant PagedOperand& rows) {
  return long(metal::max(slot, 0)) * rows.row;
}

// Begins to read a row: kCount vectors of it, and its step.
template <bool kWhole, int kCount, typename Vector, typename M>
HEARTH_INLINE void load_row(thread Vector* to, thread float& row_step, device const M* rows,
                            int slot, constant PagedOperand& operand, uint column, uint step,
                            uint last) {
  device const M* row = rows + slot_offset(slot, operand);
  row_step = Vector::row_step(row);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    uint at = column + uint(i) * step;
    to[i].load(row, int(kWhole ? at : metal::min(at, last)));
  }
}

// Vectors of Q as those of D.
template <typename Q, typename D>
struct QueryOf {
  static HEARTH_INLINE Packet<16> from(Packet<16> query) {
    const float kMost = 65504.0f;
    Packet<16> made;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float x = Q::get(query.word, i);
      D::put(made.word, i, x > kMost ? kMost : x < -kMost ? -kMost : x);
    }
    return made;
  }
};
template <typename D>
struct QueryOf<D, D> {
  static HEARTH_INLINE Packet<16> from(Packet<16> query) { return query; }
};

// K and V are caches of paged_codes.metal: floats of D in vectors, or codes.
//
// d and dv are multiples of 8 and at most kColumns, or equal to it with kWhole; vectors begin at
// multiples of 16 bytes. kQueries, a power of two up to 8, is how many `shared` has room for.
template <typename Q, typename D, typename K, typename V, int kColumns, int kQueries, bool kWhole,
          bool kSoftcap>
void paged_matrix(device const typename Q::memory* q, device const typename K::memory* keys,
                  device const typename V::memory* values, device const int* pages,
                  device const int* units, device float* parts, device float* row_stats,
                  constant PagedAttentionParams& p, threadgroup float* shared,
                  threadgroup int* slots, Ctx ctx) {
  const int kKeyVectors = kColumns / 32, kChunks = kColumns / kChunk;
  const int kHop = kPagedSimdgroups * kTileKeys;
  typedef CacheVector<D, K> KeyVector;
  typedef CacheVector<D, V> ValueVector;
  const bool kKeySteps = KeyVector::row_steps != 0, kValueSteps = ValueVector::row_steps != 0;
  // Codes take more registers on their way: the last keys are read when values make room.
  const bool kLate = KeyVector::split != 0;
  // How far weights may be above 1: steps take all that their dtype has.
  const float kAbove = kValueSteps ? 0.0f : 10.0f;
  long unit = long(ctx.tg.x);
  device const int* listed = units + unit * kPagedEntry;
  int sequence = listed[0], row = listed[1], position = listed[2];
  if (sequence < 0 || p.page_count <= 0) return;
  uint blocks = uint(p.blocks), group = uint(p.group);
  uint kv_head = blocks == 1u ? ctx.tg.y : ctx.tg.y / blocks;
  uint first = blocks == 1u ? 0u : ctx.tg.y % blocks * uint(kQueries);
  uint queries = metal::min(group - first, uint(kQueries));
  int begin = paged_begin(position, p), end = position + 1;
  uint g = ctx.lane / 4u, t = ctx.lane % 4u;
  uint last_key_column = uint(p.d) - 8u, last_value_column = uint(p.dv) - 8u;
  device const typename K::memory* key_rows = keys + p.keys.base + long(kv_head) * p.keys.head;
  device const typename V::memory* value_rows =
      values + p.values.base + long(kv_head) * p.values.head;

  bool exists = g < queries;
  long head = long(kv_head * group + first + (exists ? g : 0u));
  Packet<16> query[kKeyVectors];
  device const typename Q::memory* query_row = q + p.q.base + long(row) * p.q.row + head * p.q.head;
#pragma unroll
  for (uint i = 0; i < uint(kKeyVectors); ++i) {
    uint at = 8u * t + 32u * i;
    query[i] = QueryOf<Q, D>::from(load_as_split < KeyVector::split !=
                                   0 > (query_row, kWhole ? at : metal::min(at, last_key_column)));
    if (!exists || (!kWhole && 32u * i + 8u * t > last_key_column)) {
#pragma unroll
      for (int w = 0; w < 4; ++w) query[i].word[w] = 0u;
    }
  }
  float scale = Number<float>::of(p.scale), softcap = Number<float>::of(p.softcap);

#pragma unroll 1
  for (int piece = begin / kPieceKeys + int(ctx.tg.z); piece * kPieceKeys < end;
       piece += int(ctx.ntg.z)) {
    int base = piece * kPieceKeys;
    for (int i = int(ctx.tid.x); i < kPieceKeys; i += 32 * kPagedSimdgroups) {
      int key = base + i;
      slots[i] = key >= begin && key < end ? paged_slot(pages, sequence, key, p) : -1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    int count = metal::min(end - base, int(kPieceKeys)), from = int(ctx.sg) * kTileKeys;
    while (from + kTileKeys <= begin - base) from += kHop;
    KeyVector key_row[2][kKeyVectors];
    ValueVector value_row[4][kChunks];
    float key_step[2], value_step[4];
    if (from < count) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        load_row<kWhole, kKeyVectors>(key_row[h], key_step[h], key_rows,
                                      slots[from + 8 * h + int(g)], p.keys, 8u * t, 32u,
                                      last_key_column);
      }
    }
    float4 sum[4 * kChunks];
#pragma unroll
    for (int i = 0; i < 4 * kChunks; ++i) sum[i] = float4(0.0f, 0.0f, 0.0f, 0.0f);
    float best = -INFINITY, total = 0.0f;
#pragma unroll 1
    for (; from < count; from += kHop) {
      bool lacks = false;
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        int slot = slots[from + 8 * (r / 2) + r % 2 + 2 * int(t)];
        lacks = lacks || slot < 0;
        load_row<kWhole, kChunks>(value_row[r], value_step[r], value_rows, slot, p.values, 8u * g,
                                  uint(kChunk), last_value_column);
      }
      float score[4];
      float top = -INFINITY;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float4 dot = float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int i = 0; i < kKeyVectors; ++i) {
          Packet<16> key = key_row[h][i].get(t);
#pragma unroll
          for (int w = 0; w < 4; w += 2) {
            dot = tile_product<D>(uint4(query[i].word[w], 0u, query[i].word[w + 1], 0u),
                                  uint2(key.word[w], key.word[w + 1]), dot, ctx.lane);
          }
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float product = e == 0 ? dot.x : dot.y;
          if (kKeySteps) product *= simd_shuffle(key_step[h], ushort(8u * t + 4u * uint(e)));
          float one = slots[from + 8 * h + 2 * int(t) + e] >= 0
                          ? paged_score<float, kSoftcap>(product, scale, softcap)
                          : -INFINITY;
          score[2 * h + e] = one;
          top = metal::max(top, one);
        }
      }
      int next_from = from + kHop;
      if (next_from < count) {
#pragma unroll
        for (int h = 0; h < (kLate ? 1 : 2); ++h) {
          load_row<kWhole, kKeyVectors>(key_row[h], key_step[h], key_rows,
                                        slots[next_from + 8 * h + int(g)], p.keys, 8u * t, 32u,
                                        last_key_column);
        }
      }
      top = metal::max(top, simd_shuffle_xor(top, ushort(1)));
      top = metal::max(top, simd_shuffle_xor(top, ushort(2)));
      float next = metal::max(best, top - kAbove);
      float shift = next == -INFINITY ? 0.0f : next;
      float shrink = metal::fast::exp2(best - shift);
      best = next;
      if (simd_any(shrink != 1.0f)) {
        total = total * shrink;
        float even = simd_shuffle(shrink, ushort(8u * t));
        float odd = simd_shuffle(shrink, ushort(8u * t + 4u));
#pragma unroll
        for (int i = 0; i < 4 * kChunks; ++i) {
          sum[i] = float4(sum[i].x * even, sum[i].y * odd, sum[i].z * even, sum[i].w * odd);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) score[i] = metal::fast::exp2(score[i] - shift);
      // What slot 0 has may be no number, whose product with 0 is none either.
      if (simd_any(lacks)) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          if (slots[from + 8 * (r / 2) + r % 2 + 2 * int(t)] < 0) {
            value_step[r] = 0.0f;
#pragma unroll
            for (int c = 0; c < kChunks; ++c) value_row[r][c].clear();
          }
        }
      }
      if (kValueSteps) {
        total = total + ((score[0] + score[1]) + (score[2] + score[3]));
#pragma unroll
        for (int i = 0; i < 4; ++i) score[i] *= value_step[i];
      }
      uint2 weights =
          uint2(rounded_pair<D>(score[0], score[1]), rounded_pair<D>(score[2], score[3]));
      if (!kValueSteps) total = total + ((score[0] + score[1]) + (score[2] + score[3]));
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        Packet<16> value[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) value[r] = value_row[r][c].get(g % 4u);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          uint a = value[0].word[j], b = value[1].word[j];
          uint far_a = value[2].word[j], far_b = value[3].word[j];
          uint4 four = uint4(lower_halves(a, b), upper_halves(a, b), lower_halves(far_a, far_b),
                             upper_halves(far_a, far_b));
          sum[4 * c + j] = tile_product<D>(four, weights, sum[4 * c + j], ctx.lane);
        }
        if (kLate && c == 0 && next_from < count) {
          load_row<kWhole, kKeyVectors>(key_row[1], key_step[1], key_rows,
                                        slots[next_from + 8 + int(g)], p.keys, 8u * t, 32u,
                                        last_key_column);
        }
      }
    }
    long line = (unit * p.heads + long(kv_head * group + first)) * p.pieces + long(piece);
    join_simdgroups<kPagedSimdgroups, kChunks, kChunks, kQueries, kWhole, ValueVector::split != 0>(
        sum, best, total, queries, parts, row_stats, line, p.pieces, uint(p.dv), shared, ctx);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
