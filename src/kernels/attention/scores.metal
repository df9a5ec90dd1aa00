// What the kernels of attention share: where operands lie, which keys a row sees, and how a product
// of q and k becomes a score. Scores are kept times log2(e), so that weights are powers of two.
// Text of the kernel dialect.

#include "kernels/attention/params.h"
#include "kernels/blocks/elements.h"
#include "kernels/blocks/number.h"

inline long place_of(constant AttentionOperand& x, long item, long head, long row) {
  return x.base + item * x.item + head * x.head + row * x.row;
}

inline long existing_keys(device const ulong* dynamics, constant AttentionParams& p) {
  if (p.dynamic < 0) return p.keys;
  long length = long(dynamics[p.dynamic]);
  return length < 0 ? 0 : length > p.keys ? p.keys : length;
}

// Keys that row `row` sees are those before this one.
inline long visible_keys(long row, long length, constant AttentionParams& p) {
  if (p.causal == 0) return length;
  long visible = row + 1 + length - p.rows;
  return visible < 0 ? 0 : visible > length ? length : visible;
}

// A number for an item, as an end of the keys that there are; `none` without such numbers.
inline long bound_of(device const int* from, constant AttentionBounds& b, long item, long none,
                     long length) {
  if (b.words == 0) return none;
  device const int* at = from + b.base + item * b.item;
  long value = b.words == 1 ? long(at[0]) : long((ulong(uint(at[1])) << 32) | ulong(uint(at[0])));
  return value < 0 ? 0 : value > length ? length : value;
}

// Keys that an item has: those from `start` to `length`. Without kRange all that exist.
template <bool kRange>
struct ItemKeys {
  long length, start;
  inline ItemKeys(device const int* lengths, device const int* starts, long item,
                  device const ulong* dynamics, constant AttentionParams& p) {
    long all = existing_keys(dynamics, p);
    length = kRange ? bound_of(lengths, p.lengths, item, all, all) : all;
    start = kRange ? bound_of(starts, p.starts, item, 0, all) : 0;
  }
  // Keys that row `row` sees begin here.
  inline long hidden(long row, constant AttentionParams& p) const {
    if (!kRange || p.window == 0) return start;
    long first = row + 1 + length - p.rows - p.window;
    return first < start ? start : first;
  }
};

// What the sink of a head adds to a sum whose weights are 2^(score - best).
template <typename D>
inline typename D::value sink_weight(device const typename D::memory* sinks, long head,
                                     typename D::value best, typename D::value log2e,
                                     constant AttentionParams& p) {
  typedef typename D::value C;
  if (p.sinks == 0) return C(0.0f);
  return metal::exp2(D::load(sinks[p.sink.base + head * p.sink.column]) * log2e - best);
}

// What turns products into scores, out of constant memory once.
template <typename C>
struct ScoreScale {
  C scale, softcap, log2e;
  inline ScoreScale(constant AttentionParams& p)
      : scale(Number<C>::of(p.scale)),
        softcap(Number<C>::of(p.softcap)),
        log2e(Number<C>::of(p.log2e)) {}
};

// The score of a key that the row sees. `product` is q k^T; `slope` gets the derivative of the
// softcap.
template <typename D, bool kSoftcap, bool kMask, bool kBias>
inline typename D::value score_of(typename D::value product,
                                  thread const ScoreScale<typename D::value>& scale,
                                  device const uchar* mask, device const typename D::memory* bias,
                                  long item, long head, long row, long key,
                                  constant AttentionParams& p, thread typename D::value& slope) {
  typedef typename D::value C;
  C score = product * scale.scale;
  slope = C(1.0f);
  if (kSoftcap) {
    C t = metal::tanh(score);
    slope = C(1.0f) - t * t;
    score = scale.softcap * t;
  }
  if (kBias) {
    score = score +
            D::load(bias[place_of(p.bias, item, head, row) + key * p.bias.column]) * scale.log2e;
  }
  if (kMask) {
    if (mask[place_of(p.mask, item, head, row) + key * p.mask.column] != 0) score = C(-INFINITY);
  }
  return score;
}
