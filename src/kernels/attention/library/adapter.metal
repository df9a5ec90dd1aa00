// What a library's attention has no word for, before and after it. Text of the kernel dialect.
//
// attention_bias: mask, bias and which keys a row sees as one bias, the lowest number that serves
// where it does not see a key; 8 keys a thread, rows of `step` elements.
//
// attention_values: values that exist, and 0 for the others, whatever their memory holds; 16 bytes
// a thread. Also how many keys and rows each item has, as the library reads it.
//
// attention_odd_rows: rows that the library has no word for, worked out anew: rows whose sum is not
// a number or next to LeastBias. Rows that see no key become 0, and so do their sums. A row a
// thread, and for one of those its simdgroup.
//
// attention_sinks: the share of a sink taken from rows; a simdgroup a row.
//
// Bound by memory. A library's running maximum of -inf may give NaN, so that no bias made here is
// lower than LeastBias: beside any other score its weight is 0. A bias that the library reads as it
// was given may say -inf, and odd rows come of it.

#include "kernels/attention/params.h"
#include "kernels/attention/scores.metal"

// Of bf16, products with log2(e) are finite, too.
template <typename D>
struct LeastBias {
  static HEARTH_INLINE float value() { return -1e30f; }
};
template <>
struct LeastBias<F16> {
  static HEARTH_INLINE float value() { return -65504.0f; }
};

template <typename D, bool kMask, bool kBias>
void attention_bias(device const uchar* mask, device const typename D::memory* bias,
                    device const int* lengths, device const int* starts,
                    device const ulong* dynamics, device typename D::memory* out,
                    constant LibraryAttentionParams& p, Ctx ctx) {
  constant AttentionParams& a = p.attention;
  long packets = p.step / 8, at = long(ctx.gid.x);
  if (at >= p.items * p.heads * a.rows * packets) return;
  long line = at / packets, key = (at - line * packets) * 8;
  long row = line % a.rows, head = line / a.rows % p.heads, item = line / a.rows / p.heads;
  ItemKeys<true> there(lengths, starts, item, dynamics, a);
  long visible = visible_keys(row, there.length, a), hidden = there.hidden(row, a);
  Packet<16> packet;
#pragma unroll
  for (int i = 0; i < 8; ++i, ++key) {
    float value = LeastBias<D>::value();
    bool sees = key < visible && key >= hidden;
    if (kMask && sees) sees = mask[place_of(a.mask, item, head, row) + key * a.mask.column] == 0;
    if (sees) {
      float given =
          kBias ? D::load(bias[place_of(a.bias, item, head, row) + key * a.bias.column]) : 0.0f;
      value = given < value ? value : given;  // NaN stays
    }
    D::put(packet.word, i, value);
  }
  packet.write(out + at * 8);
}

// V is 8 elements.
template <typename V>
void attention_values(device const V* v, device const int* lengths, device const int* starts,
                      device const ulong* dynamics, device V* out, device int* keys,
                      device int* rows, constant LibraryAttentionParams& p, Ctx ctx) {
  constant AttentionParams& a = p.attention;
  long packets = a.dv / 8, at = long(ctx.gid.x);
  if (at < p.items) {
    // Of no keys the library would write nothing; of one it writes a row that is odd, or 0.
    keys[at] = int(metal::max(ItemKeys<true>(lengths, starts, at, dynamics, a).length, long(1)));
    rows[at] = int(a.rows);
  }
  if (at >= p.items * p.heads * a.keys * packets) return;
  long line = at / packets, column = at - line * packets;
  long key = line % a.keys, head = line / a.keys % p.heads, item = line / a.keys / p.heads;
  V value = V(0u);
  ItemKeys<true> there(lengths, starts, item, dynamics, a);
  if (key < there.length && key >= there.start)
    value = v[place_of(a.v, item, head, key) / 8 + column];
  out[at] = value;
}

// The score of a key that the row sees; rows of q and k are vectors of 8.
template <typename D>
inline float product_of(device const typename D::memory* q, device const typename D::memory* k,
                        long d) {
  float sum = 0.0f;
  for (long column = 0; column < d; column += 8) {
    Packet<16> left = Packet<16>::read(q + column), right = Packet<16>::read(k + column);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum = metal::fma(D::get(left.word, i), D::get(right.word, i), sum);
    }
  }
  return sum;
}

// One row by a simdgroup: 32 keys at a time, then 32 columns of the sum. dv is at most 256.
// `writer` is the lane that has read its sum.
template <typename D, bool kMask, bool kBias>
inline void attention_row(device const typename D::memory* q, device const typename D::memory* k,
                          device const typename D::memory* v, device const uchar* mask,
                          device const typename D::memory* bias, device typename D::memory* out,
                          device float* sums, uint line, uint writer, device const int* lengths,
                          device const int* starts, device const ulong* dynamics,
                          constant LibraryAttentionParams& p, thread const Ctx& ctx) {
  const int kHeld = 8;
  constant AttentionParams& a = p.attention;
  uint matrix = line / uint(a.rows), row = line - matrix * uint(a.rows);
  uint item = matrix / uint(p.heads), head = matrix - item * uint(p.heads);
  ItemKeys<true> there(lengths, starts, item, dynamics, a);
  long kv_head = head / (a.heads / a.kv_heads), visible = visible_keys(row, there.length, a);
  long hidden = there.hidden(row, a);
  q += place_of(a.q, item, head, row);
  k += place_of(a.k, item, kv_head, 0);
  v += place_of(a.v, item, kv_head, 0);
  ScoreScale<float> scale(a);
  float top = -INFINITY, total = 0.0f, held[kHeld];
#pragma unroll
  for (int u = 0; u < kHeld; ++u) held[u] = 0.0f;
  for (long first = hidden; first < visible; first += 32) {
    long key = first + long(ctx.lane);
    bool sees = key < visible;
    if (kMask && sees) sees = mask[place_of(a.mask, item, head, row) + key * a.mask.column] == 0;
    if (kBias && sees) {
      sees = D::load(bias[place_of(a.bias, item, head, row) + key * a.bias.column]) != -INFINITY;
    }
    if (!simd_any(sees)) continue;
    float score = -INFINITY;
    if (sees) {
      float slope;
      score = score_of<D, false, false, kBias>(product_of<D>(q, k + key * a.k.row, a.d), scale,
                                               mask, bias, item, head, row, key, a, slope);
    }
    float best = score;
#pragma unroll
    for (uint distance = 16u; distance > 0u; distance /= 2u) {
      best = metal::max(best, shuffle_xor(best, ushort(distance)));
    }
    best = metal::max(best, top);
    float weight = sees ? metal::exp2(score - best) : 0.0f, sum = weight;
    float keep = total == 0.0f ? 0.0f : metal::exp2(top - best);
#pragma unroll
    for (uint distance = 16u; distance > 0u; distance /= 2u) {
      sum += shuffle_xor(sum, ushort(distance));
    }
    total = total * keep + sum;
    top = best;
#pragma unroll
    for (int u = 0; u < kHeld; ++u) held[u] *= keep;
    for (uint i = 0; i < 32u; ++i) {
      float share = simd_shuffle(weight, ushort(i));
      if (share == 0.0f) continue;
      device const typename D::memory* values = v + (first + long(i)) * a.v.row;
#pragma unroll
      for (int u = 0; u < kHeld; ++u) {
        long column = long(u) * 32 + long(ctx.lane);
        if (column < a.dv) held[u] = metal::fma(share, D::load(values[column]), held[u]);
      }
    }
  }
  bool is_blind = total == 0.0f;
#pragma unroll
  for (int u = 0; u < kHeld; ++u) {
    long column = long(u) * 32 + long(ctx.lane);
    if (column < a.dv)
      out[long(line) * a.dv + column] = D::store(is_blind ? 0.0f : held[u] / total);
  }
  if (ctx.lane == writer) {
    sums[line] = is_blind ? 0.0f : top / scale.log2e + metal::log(total);
  }
}

template <typename D, bool kMask, bool kBias>
void attention_odd_rows(device const typename D::memory* q, device const typename D::memory* k,
                        device const typename D::memory* v, device const uchar* mask,
                        device const typename D::memory* bias, device const int* lengths,
                        device const int* starts, device const ulong* dynamics,
                        device typename D::memory* out, device float* sums,
                        constant LibraryAttentionParams& p, Ctx ctx) {
  constant AttentionParams& a = p.attention;
  uint mine = ctx.gid.x;
  bool is_odd = long(mine) < p.items * p.heads * a.rows &&
                !(metal::fabs(sums[mine]) < -0.5f * LeastBias<F16>::value());
  if (!simd_any(is_odd)) return;
  for (uint i = 0; i < 32u; ++i) {
    if (simd_shuffle(is_odd ? 1u : 0u, ushort(i)) == 0u) continue;
    attention_row<D, kMask, kBias>(q, k, v, mask, bias, out, sums, mine - ctx.lane + i, i, lengths,
                                   starts, dynamics, p, ctx);
  }
}

template <typename D>
void attention_sinks(device const typename D::memory* sinks, device typename D::memory* out,
                     device const float* sums, constant LibraryAttentionParams& p, Ctx ctx) {
  constant AttentionParams& a = p.attention;
  long line = long(ctx.gid.x) / 32;
  if (line >= p.items * p.heads * a.rows) return;
  long head = line / a.rows % p.heads;
  float sum = sums[line], sink = D::load(sinks[a.sink.base + head * a.sink.column]);
  // e^sum / (e^sum + e^sink), where the exponent is negative.
  float distance = sink - sum, far = metal::exp(-metal::fabs(distance));
  float share = distance > 0.0f ? far / (1.0f + far) : 1.0f / (1.0f + far);
  for (long column = long(ctx.lane); column < a.dv; column += 32) {
    device typename D::memory* at = out + line * a.dv + column;
    *at = D::store(D::load(*at) * share);
  }
}
