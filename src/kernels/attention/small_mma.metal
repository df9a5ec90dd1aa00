// attention of few rows and few keys, of f16 and bf16 by tensor cores:
// out = softmax(scores(q k^T)) v. Text of the kernel dialect.
//
// A threadgroup has a head, each of its simdgroups 16 rows, and goes through the keys 16 at a time.
// Operands lie as in flash_decoding_mma.metal, so that lanes load 16 bytes of a row and exchange
// none: for q k^T, lane 4 g + t holds columns 8t to 8t + 7 of every 32 of rows g and g + 8 and of
// key g. The weights of rows g and g + 8 for keys 2t, 2t + 1, 2t + 8 and 2t + 9 come out where they
// go in as a of the second product, whose columns 8g to 8g + 7 the lane loads of those keys'
// values; it ends up with columns 16t to 16t + 15 of its two rows. A row or column that is not
// there is read as the last one, and weighs nothing.
//
// Bound by memory: keys and values are read once from it, and from a cache by the other simdgroups.
// Scores and sums are f32; weights are rounded to the dtype, and it is the rounded ones that are
// summed up.

#include "kernels/attention/flash_decoding_mma.metal"

// The largest score of one row, over the lanes that hold it, and what older weights shrink by.
inline float shrink_to(thread float& best, float top) {
  top = metal::max(top, simd_shuffle_xor(top, ushort(1)));
  top = metal::max(top, simd_shuffle_xor(top, ushort(2)));
  top = metal::max(top, best);
  float shrink = top == -INFINITY ? 1.0f : metal::fast::exp2(best - top);
  best = top;
  return shrink;
}

// d and dv are multiples of 8 and at most kShortColumns; rows begin at multiples of 16 bytes.
template <typename D>
void attention_small_mma(device const typename D::memory* q, device const typename D::memory* k,
                         device const typename D::memory* v, device const ulong* dynamics,
                         device typename D::memory* out, constant AttentionParams& p, Ctx ctx) {
  const int kVectors = kShortColumns / 32, kTiles = kShortColumns / 8;
  uint g = ctx.lane / 4u, t = ctx.lane % 4u, rows = uint(p.rows), first = ctx.sg * kShortRows;
  if (first >= rows) return;
  uint head = ctx.tg.x % uint(p.heads), item = ctx.tg.x / uint(p.heads);
  long kv_head = long(head / uint(p.heads / p.kv_heads));
  long length = existing_keys(dynamics, p);
  uint last_key_column = uint(p.d) - 8u, last_value_column = uint(p.dv) - 8u;
  device const typename D::memory* key_rows = k + place_of(p.k, long(item), kv_head, 0);
  device const typename D::memory* value_rows = v + place_of(p.v, long(item), kv_head, 0);
  uint end = uint(visible_keys(long(metal::min(first + kShortRows, rows) - 1u), length, p));

  Packet<16> query[2][kVectors];
  uint visible[2];
#pragma unroll
  for (uint r = 0; r < 2; ++r) {
    long row = long(metal::min(first + 8u * r + g, rows - 1u));
    visible[r] = uint(visible_keys(row, length, p));
    load_vectors<false, kVectors>(query[r], q + place_of(p.q, long(item), long(head), row), 8u * t,
                                  32u, last_key_column);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (32u * uint(i) + 8u * t > last_key_column) {
#pragma unroll
        for (int w = 0; w < 4; ++w) query[r][i].word[w] = 0u;
      }
    }
  }
  float scale = Number<float>::of(p.scale);
  float4 sum[kTiles];
#pragma unroll
  for (int j = 0; j < kTiles; ++j) sum[j] = float4(0.0f, 0.0f, 0.0f, 0.0f);
  float best[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};

  for (uint key = 0; key < end; key += kTileKeys) {
    Packet<16> keys[2][kVectors], values[4][1];
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      long at = long(metal::min(key + 8u * h + g, end - 1u));
      load_vectors<false, kVectors>(keys[h], key_rows + at * p.k.row, 8u * t, 32u, last_key_column);
    }
#pragma unroll
    for (uint r = 0; r < 4; ++r) {
      long at = long(metal::min(key + 8u * (r / 2u) + r % 2u + 2u * t, end - 1u));
      load_vectors<false, 1>(values[r], value_rows + at * p.v.row, 8u * g, 0u, last_value_column);
    }
    float score[2][4], shrink[2];
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      float4 dot = float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
#pragma unroll
        for (int w = 0; w < 4; w += 2) {
          dot = tile_product<D>(uint4(query[0][i].word[w], query[1][i].word[w],
                                      query[0][i].word[w + 1], query[1][i].word[w + 1]),
                                uint2(keys[h][i].word[w], keys[h][i].word[w + 1]), dot, ctx.lane);
        }
      }
      uint at = key + 8u * h + 2u * t;
      score[0][2u * h] = at < visible[0] ? dot.x * scale : -INFINITY;
      score[0][2u * h + 1u] = at + 1u < visible[0] ? dot.y * scale : -INFINITY;
      score[1][2u * h] = at < visible[1] ? dot.z * scale : -INFINITY;
      score[1][2u * h + 1u] = at + 1u < visible[1] ? dot.w * scale : -INFINITY;
    }
    uint weights[2][2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top =
          metal::max(metal::max(score[r][0], score[r][1]), metal::max(score[r][2], score[r][3]));
      shrink[r] = shrink_to(best[r], top);
      float shift = best[r] == -INFINITY ? 0.0f : best[r];
#pragma unroll
      for (int i = 0; i < 4; ++i) score[r][i] = metal::fast::exp2(score[r][i] - shift);
      weights[r][0] = rounded_pair<D>(score[r][0], score[r][1]);
      weights[r][1] = rounded_pair<D>(score[r][2], score[r][3]);
      total[r] = total[r] * shrink[r] + ((score[r][0] + score[r][1]) + (score[r][2] + score[r][3]));
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      uint a = values[0][0].word[j / 2], b = values[1][0].word[j / 2];
      uint far_a = values[2][0].word[j / 2], far_b = values[3][0].word[j / 2];
      uint2 pairs = j % 2 == 0 ? uint2(lower_halves(a, b), lower_halves(far_a, far_b))
                               : uint2(upper_halves(a, b), upper_halves(far_a, far_b));
      float4 older = float4(sum[j].x * shrink[0], sum[j].y * shrink[0], sum[j].z * shrink[1],
                            sum[j].w * shrink[1]);
      sum[j] = tile_product<D>(uint4(weights[0][0], weights[1][0], weights[0][1], weights[1][1]),
                               pairs, older, ctx.lane);
    }
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float whole = total[r] + simd_shuffle_xor(total[r], ushort(1));
    whole = whole + simd_shuffle_xor(whole, ushort(2));
    float share = whole == 0.0f ? 0.0f : 1.0f / whole;
    uint row = first + 8u * uint(r) + g;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      Packet<16> packet;
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        float one = r == 0 ? (side == 0 ? sum[j].x : sum[j].y) : (side == 0 ? sum[j].z : sum[j].w);
        D::put(packet.word, j, one * share);
      }
      uint column = 16u * t + 8u * uint(side);
      if (row < rows && column < uint(p.dv)) {
        packet.write(out + (long(ctx.tg.x) * p.rows + long(row)) * p.dv + long(column));
      }
    }
  }
}
