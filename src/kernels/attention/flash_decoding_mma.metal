// attention for few queries, as flash_decoding.metal, of f16 and bf16 by tensor cores:
// out = softmax(scores(q k^T)) v. Text of the kernel dialect.
//
// Up to 8 queries that read the same keys are the rows of a tile (kernels/blocks/mma.h), keys its
// columns. No operand is exchanged between lanes: columns may come in any order in q k^T and keys
// in any order in v^T w^T, so a lane loads 16 bytes of a row and multiplies them as they are. For
// q k^T, lane 4 g + t loads columns 8t to 8t + 7 of every 32 of key g; two of its words are the
// inner elements of one product. The scores of keys 2t and 2t + 1 come out where weights go in as b
// of the second product; for that, lane 4 g + t loads columns 8g to 8g + 7 of every 64 of the
// values 2t, 2t + 1, 2t + 8 and 2t + 9, and pairs up the halves of two rows' words.
//
// Threadgroups share keys as in split_kv.metal; within a split simdgroups take turns with 16
// keys. Values are on their way while keys are multiplied, and the next keys while values are. A
// row or column that is not there is read as the last one, and weighs nothing.
//
// Bound by memory: each key and value is read once for 8 queries, at 5 instructions for 16 bytes.
// Scores and sums are f32; weights are rounded to the dtype, and it is the rounded ones that are
// summed up. They reach to 2^10, so that those of f16 begin at 2^-34 of the largest.

#include "kernels/attention/matrix_rows.metal"
#include "kernels/attention/split_kv.metal"

// d and dv are multiples of 8 and at most kColumns, or equal to it with kWhole; vectors begin at
// multiples of 16 bytes. kQueries, a power of two up to 8, is how many `shared` has room for:
// kMatrixSimdgroups * kQueries * (64 kPass + 6) floats.
template <typename D, int kColumns, int kPass, int kQueries, bool kWhole, bool kSoftcap, bool kMask,
          bool kBias, bool kRange>
void flash_decoding_mma(device const typename D::memory* q, device const typename D::memory* k,
                        device const typename D::memory* v, device const uchar* mask,
                        device const typename D::memory* bias, device const int* lengths,
                        device const int* starts, device const ulong* dynamics, device float* parts,
                        device float* row_stats, constant FlashDecodingParams& few,
                        threadgroup float* shared, Ctx ctx) {
  const int kKeyVectors = kColumns / 32, kChunks = kColumns / kChunk;
  const uint kHop = kMatrixSimdgroups * kTileKeys;
  constant AttentionParams& p = few.attention;
  uint blocks = uint(few.blocks);
  long item = long(blocks == 1u ? ctx.tg.z : ctx.tg.z / blocks);
  ItemKeys<kRange> there(lengths, starts, item, dynamics, p);
  uint length = uint(there.length), split = split_length(shared_keys(there, p), few);
  uint begin = uint(there.hidden(0, p)) + ctx.tg.x * split;
  if (begin >= length) return;
  uint end = metal::min(begin + split, length), key = begin + ctx.sg * uint(kTileKeys);

  uint g = ctx.lane / 4u, t = ctx.lane % 4u;
  uint kv_head = ctx.tg.y;
  uint block = blocks == 1u ? 0u : ctx.tg.z % blocks;
  uint last_key_column = uint(p.d) - 8u, last_value_column = uint(p.dv) - 8u;
  device const typename D::memory* key_rows = k + place_of(p.k, item, long(kv_head), 0);
  device const typename D::memory* value_rows = v + place_of(p.v, item, long(kv_head), 0);
  Packet<16> query[kKeyVectors], keys[2][kKeyVectors], values[4][kChunks];
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    long at = long(metal::min(key + 8u * h + g, end - 1u));
    load_vectors<kWhole, kKeyVectors>(keys[h], key_rows + at * p.k.row, 8u * t, 32u,
                                      last_key_column);
  }

  uint rows = uint(p.rows), group = uint(few.group), first = block * kQueries;
  uint queries = metal::min(group * rows - first, uint(kQueries));
  bool exists = g < queries;
  uint index = first + (exists ? g : 0u), in_group = rows == 1u ? index : index / rows;
  long head = long(kv_head * group + in_group), row = long(index - in_group * rows);
  uint visible = exists ? metal::min(uint(visible_keys(row, long(length), p)), end) : 0u;
  uint hidden = kRange ? uint(there.hidden(row, p)) : 0u;
  load_vectors<kWhole, kKeyVectors>(query, q + place_of(p.q, item, head, row), 8u * t, 32u,
                                    last_key_column);
#pragma unroll
  for (uint i = 0; i < kKeyVectors; ++i) {
    if (!exists || (!kWhole && 32u * i + 8u * t > last_key_column)) {
#pragma unroll
      for (int w = 0; w < 4; ++w) query[i].word[w] = 0u;
    }
  }
  ScoreScale<float> scale(p);
  float4 sum[4 * kChunks];
#pragma unroll
  for (int i = 0; i < 4 * kChunks; ++i) sum[i] = float4(0.0f, 0.0f, 0.0f, 0.0f);
  float best = -INFINITY, total = 0.0f;

#pragma unroll 1
  for (; key < end; key += kHop) {
#pragma unroll
    for (uint r = 0; r < 4; ++r) {
      long at = long(metal::min(key + 8u * (r / 2u) + r % 2u + 2u * t, end - 1u));
      load_vectors<kWhole, kChunks>(values[r], value_rows + at * p.v.row, 8u * g, uint(kChunk),
                                    last_value_column);
    }
    float score[4];
    float top = -INFINITY;
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      float4 dot = float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < kKeyVectors; ++i) {
#pragma unroll
        for (int w = 0; w < 4; w += 2) {
          dot = tile_product<D>(uint4(query[i].word[w], 0u, query[i].word[w + 1], 0u),
                                uint2(keys[h][i].word[w], keys[h][i].word[w + 1]), dot, ctx.lane);
        }
      }
#pragma unroll
      for (uint e = 0; e < 2; ++e) {
        uint at = key + 8u * h + 2u * t + e;
        float one = -INFINITY;
        if (at < visible && (!kRange || at >= hidden)) {
          float slope;
          one = score_of<D, kSoftcap, kMask, kBias>(e == 0u ? dot.x : dot.y, scale, mask, bias,
                                                    item, head, row, long(at), p, slope);
        }
        score[2u * h + e] = one;
        top = metal::max(top, one);
      }
    }
    if (key + kHop < end) {
#pragma unroll
      for (uint h = 0; h < 2; ++h) {
        long at = long(metal::min(key + kHop + 8u * h + g, end - 1u));
        load_vectors<kWhole, kKeyVectors>(keys[h], key_rows + at * p.k.row, 8u * t, 32u,
                                          last_key_column);
      }
    }
    top = metal::max(top, simd_shuffle_xor(top, ushort(1)));
    top = metal::max(top, simd_shuffle_xor(top, ushort(2)));
    float next = metal::max(best, top - 10.0f);
    float shift = next == -INFINITY ? 0.0f : next, shrink = metal::fast::exp2(best - shift);
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
    uint2 weights = uint2(rounded_pair<D>(score[0], score[1]), rounded_pair<D>(score[2], score[3]));
    total = total + ((score[0] + score[1]) + (score[2] + score[3]));
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint a = values[0][c].word[j], b = values[1][c].word[j];
        uint far_a = values[2][c].word[j], far_b = values[3][c].word[j];
        uint4 four = uint4(lower_halves(a, b), upper_halves(a, b), lower_halves(far_a, far_b),
                           upper_halves(far_a, far_b));
        sum[4 * c + j] = tile_product<D>(four, weights, sum[4 * c + j], ctx.lane);
      }
    }
  }
  long line =
      ((item * p.heads + long(kv_head * group)) * p.rows + long(first)) * few.splits.extent +
      long(ctx.tg.x);
  join_simdgroups<kMatrixSimdgroups, kChunks, kPass, kQueries, kWhole>(
      sum, best, total, queries, parts, row_stats, line, few.splits.extent, uint(p.dv), shared,
      ctx);
}
