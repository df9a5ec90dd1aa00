// What a library's attention has no word for, before and after it. Text of the kernel dialect.
//
//   attention_bias     mask, bias and which keys a row sees as one bias, the lowest number that serves
//                      where it does not see a key; 8 keys a thread, rows of `step` elements
//   attention_values   values that exist, and 0 for the others, whatever their memory holds; 16 bytes
//                      a thread. Also how many keys and rows each item has, as the library reads it
//   attention_unseeing rows that see no key become 0, and so do their sums; a row a thread, and a
//                      simdgroup for one whose sum says that it may be such a row
//
// Bound by memory. A library's running maximum of -inf would give NaN, so that no bias is lower than
// Lowest: beside any other score its weight is 0.

#include "kernels/attention_scores.h"

struct LibraryAttentionParams {
  AttentionParams attention;
  long items, heads;  // of what is written
  long step;
};

// Of bf16, products with log2(e) are finite, too.
template <typename D>
struct Lowest {
  static HEARTH_INLINE float value() { return -1e30f; }
};
template <>
struct Lowest<F16> {
  static HEARTH_INLINE float value() { return -65504.0f; }
};

template <typename D, bool kMask, bool kBias>
void attention_bias(device const uchar* mask, device const typename D::memory* bias,
                    device const ulong* dynamics, device typename D::memory* out,
                    constant LibraryAttentionParams& p, Ctx ctx) {
  constant AttentionParams& a = p.attention;
  long packets = p.step / 8, at = long(ctx.gid.x);
  if (at >= p.items * p.heads * a.rows * packets) return;
  long line = at / packets, key = (at - line * packets) * 8;
  long row = line % a.rows, head = line / a.rows % p.heads, item = line / a.rows / p.heads;
  long visible = visible_keys(row, existing_keys(dynamics, a), a);
  Packet<16> packet;
#pragma unroll
  for (int i = 0; i < 8; ++i, ++key) {
    float value = Lowest<D>::value();
    bool sees = key < visible;
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
void attention_values(device const V* v, device const ulong* dynamics, device V* out,
                      device int* keys, device int* rows, constant LibraryAttentionParams& p,
                      Ctx ctx) {
  constant AttentionParams& a = p.attention;
  long packets = a.dv / 8, at = long(ctx.gid.x);
  long length = existing_keys(dynamics, a);
  if (at < p.items) {
    keys[at] = int(length);
    rows[at] = int(a.rows);
  }
  if (at >= p.items * p.heads * a.keys * packets) return;
  long line = at / packets, column = at - line * packets;
  long key = line % a.keys, head = line / a.keys % p.heads, item = line / a.keys / p.heads;
  V value = V(0u);
  if (key < length) value = v[place_of(a.v, item, head, key) / 8 + column];
  out[at] = value;
}

template <typename D, bool kMask, bool kBias>
void attention_unseeing(device const uchar* mask, device const typename D::memory* bias,
                        device const ulong* dynamics, device typename D::memory* out,
                        device float* sums, constant LibraryAttentionParams& p, Ctx ctx) {
  constant AttentionParams& a = p.attention;
  long lines = p.items * p.heads * a.rows, mine = long(ctx.gid.x);
  bool is_odd = mine < lines && !(metal::fabs(sums[mine]) < -0.5f * Lowest<F16>::value());
  if (!simd_any(is_odd)) return;
  long length = existing_keys(dynamics, a);
  for (uint i = 0; i < 32u; ++i) {
    if (simd_shuffle(is_odd ? 1u : 0u, ushort(i)) == 0u) continue;
    long line = mine - long(ctx.lane) + long(i);
    long row = line % a.rows, head = line / a.rows % p.heads, item = line / a.rows / p.heads;
    long visible = visible_keys(row, length, a);
    bool sees = false;
    for (long key = long(ctx.lane); key < visible && !sees; key += 32) {
      sees = true;
      if (kMask) sees = mask[place_of(a.mask, item, head, row) + key * a.mask.column] == 0;
      if (kBias) {
        long at = place_of(a.bias, item, head, row) + key * a.bias.column;
        sees = sees && D::load(bias[at]) != -INFINITY;
      }
    }
    if (simd_any(sees)) continue;
    for (long column = long(ctx.lane); column < a.dv; column += 32) {
      out[line * a.dv + column] = D::store(0.0f);
    }
    if (ctx.lane == i) sums[line] = 0.0f;
  }
}
