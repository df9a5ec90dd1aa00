// What a precise sum of f32 accumulates: a pair of floats, the sum and what rounding took from it,
// about 48 bits. Text of the kernel dialect, in front of the reductions, which see it as any other
// accumulator. Nothing may be contracted or taken in another order by a compiler.
//
// Two pairs are added with the error of both parts (Joldes, Muller, Popescu, "Tight and rigorous
// error bounds for basic building blocks of double-word arithmetic", 2017, algorithm 6:
// AccurateDWPlusDW, relative error below 3 * 2^-48). Of what is no number or infinite only the sum
// counts.

struct Accumulator {
  float high, low;
};
typedef float2 Kept;

HEARTH_INLINE Accumulator sum_pair(float high, float low) {
  Accumulator x;
  x.high = high;
  x.low = low;
  return x;
}
HEARTH_INLINE Accumulator region_identity() { return sum_pair(0.0f, 0.0f); }
HEARTH_INLINE Accumulator region_lift(float value, position) { return sum_pair(value, 0.0f); }

// a + b and its error, of any two and of |a| >= |b|.
HEARTH_INLINE Accumulator exact_sum(float a, float b) {
  float sum = a + b, other = sum - a;
  return sum_pair(sum, (a - (sum - other)) + (b - other));
}
HEARTH_INLINE Accumulator exact_ordered_sum(float a, float b) {
  float sum = a + b;
  return sum_pair(sum, b - (sum - a));
}

HEARTH_INLINE Accumulator region_combine(Accumulator a, Accumulator b) {
  Accumulator high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  Accumulator sum = exact_ordered_sum(high.high, high.low + low.high);
  Accumulator whole = exact_ordered_sum(sum.high, low.low + sum.low);
  bool finite = metal::fabs(sum.high) < INFINITY;
  return sum_pair(finite ? whole.high : high.high, finite ? whole.low : 0.0f);
}

HEARTH_INLINE Accumulator shuffle_xor(Accumulator x, ushort mask) {
  return sum_pair(shuffle_xor(x.high, mask), shuffle_xor(x.low, mask));
}
HEARTH_INLINE Kept region_keep(Accumulator x) { return float2(x.high, x.low); }
HEARTH_INLINE Accumulator region_kept(Kept x) { return sum_pair(x.x, x.y); }

// What is stored: partial results as they are, results rounded, which the first of a pair is.
struct Partial {
  typedef Kept memory;
  static HEARTH_INLINE Kept store(Accumulator x) { return region_keep(x); }
};
struct Rounded {
  typedef float memory;
  static HEARTH_INLINE float store(Accumulator x) { return x.high; }
};
