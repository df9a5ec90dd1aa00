// What scans combine. Text of the kernel dialect.
//
// A rule has the State of some elements that follow each other, none() of no elements, lift() of
// one, and combine(), which is associative. A Carry is that of all elements before those at hand;
// sums of floats keep there what rounding takes, so that their error does not grow. States are
// exchanged as `words` words of 32 bits, carries as `carry_words`.

#include "kernels/blocks/rows.h"

HEARTH_INLINE void put_words(thread uint* word, float x) { word[0] = as_type<uint>(x); }
HEARTH_INLINE void put_words(thread uint* word, int x) { word[0] = as_type<uint>(x); }
HEARTH_INLINE void put_words(thread uint* word, ulong x) {
  word[0] = uint(x);
  word[1] = uint(x >> 32);
}
HEARTH_INLINE void put_words(thread uint* word, long x) { put_words(word, ulong(x)); }
HEARTH_INLINE void take_words(thread const uint* word, thread float& x) {
  x = as_type<float>(word[0]);
}
HEARTH_INLINE void take_words(thread const uint* word, thread int& x) { x = as_type<int>(word[0]); }
HEARTH_INLINE void take_words(thread const uint* word, thread ulong& x) {
  x = ulong(word[0]) | (ulong(word[1]) << 32);
}
HEARTH_INLINE void take_words(thread const uint* word, thread long& x) {
  x = long(ulong(word[0]) | (ulong(word[1]) << 32));
}
#if HEARTH_HAS_F64
HEARTH_INLINE void put_words(thread uint* word, double x) { put_words(word, as_type<ulong>(x)); }
HEARTH_INLINE void take_words(thread const uint* word, thread double& x) {
  x = as_type<double>(ulong(word[0]) | (ulong(word[1]) << 32));
}
#endif

// Integers wrap through unsigned ones.
template <typename V>
struct ScanValue;
template <>
struct ScanValue<int> {
  typedef uint bits;
  enum { words = 1, real = 0 };
};
template <>
struct ScanValue<long> {
  typedef ulong bits;
  enum { words = 2, real = 0 };
};
template <>
struct ScanValue<ulong> {
  typedef ulong bits;
  enum { words = 2, real = 0 };
};
template <>
struct ScanValue<float> {
  typedef float bits;
  enum { words = 1, real = 1 };
};
#if HEARTH_HAS_F64
template <>
struct ScanValue<double> {
  typedef double bits;
  enum { words = 2, real = 1 };
};
#endif

// A rule whose carry is a state.
#define HEARTH_SCAN_CARRY                                                                   \
  typedef State Carry;                                                                      \
  enum { carry_words = words };                                                             \
  static HEARTH_INLINE Carry start() { return none(); }                                     \
  static HEARTH_INLINE void join(thread Carry& carry, State next) {                         \
    carry = combine(carry, next);                                                           \
  }                                                                                         \
  static HEARTH_INLINE void join_carry(thread Carry& carry, Carry next) {                   \
    carry = combine(carry, next);                                                           \
  }                                                                                         \
  static HEARTH_INLINE void put_carry(thread uint* word, Carry carry) { put(word, carry); } \
  static HEARTH_INLINE Carry take_carry(thread const uint* word) { return take(word); }

// A rule whose state is a value.
#define HEARTH_SCAN_PLAIN                                                           \
  typedef V State;                                                                  \
  enum { words = ScanValue<V>::words, paired = 0, indexed = 0 };                    \
  static HEARTH_INLINE State lift(V x, V, int) { return x; }                        \
  static HEARTH_INLINE void put(thread uint* word, State x) { put_words(word, x); } \
  static HEARTH_INLINE State take(thread const uint* word) {                        \
    State x;                                                                        \
    take_words(word, x);                                                            \
    return x;                                                                       \
  }                                                                                 \
  static HEARTH_INLINE V second_rest() { return V(0); }                             \
  static HEARTH_INLINE long place(Carry, State) { return 0; }

// ---- Sums

template <typename V, int kReal = ScanValue<V>::real>
struct ScanSum {
  typedef typename ScanValue<V>::bits bits;
  typedef V Carry;
  HEARTH_SCAN_PLAIN
  enum { carry_words = words };
  static HEARTH_INLINE V rest() { return V(0); }
  static HEARTH_INLINE State none() { return V(0); }
  static HEARTH_INLINE State combine(State a, State b) { return V(bits(a) + bits(b)); }
  static HEARTH_INLINE Carry start() { return V(0); }
  static HEARTH_INLINE void join(thread Carry& carry, State next) { carry = combine(carry, next); }
  static HEARTH_INLINE void join_carry(thread Carry& carry, Carry next) { join(carry, next); }
  static HEARTH_INLINE void put_carry(thread uint* word, Carry carry) { put(word, carry); }
  static HEARTH_INLINE Carry take_carry(thread const uint* word) { return take(word); }
  static HEARTH_INLINE V result(Carry carry, State x) { return combine(carry, x); }
};
// -0 changes no number.
template <typename V>
struct ScanSum<V, 1> {
  typedef LongSum<V> Carry;
  HEARTH_SCAN_PLAIN
  enum { carry_words = 2 * words };
  static HEARTH_INLINE V rest() { return V(-0.0f); }
  static HEARTH_INLINE State none() { return V(-0.0f); }
  static HEARTH_INLINE State combine(State a, State b) { return a + b; }
  static HEARTH_INLINE Carry start() {
    Carry carry;
    carry.high = carry.low = V(-0.0f);
    return carry;
  }
  static HEARTH_INLINE void join(thread Carry& carry, State next) {
    carry.add(next);
    if (!(metal::fabs(carry.high) < V(INFINITY))) carry.low = V(0);
  }
  static HEARTH_INLINE void join_carry(thread Carry& carry, Carry next) {
    join(carry, next.high);
    carry.low += next.low;
  }
  static HEARTH_INLINE void put_carry(thread uint* word, Carry carry) {
    put_words(word, carry.high);
    put_words(word + words, carry.low);
  }
  static HEARTH_INLINE Carry take_carry(thread const uint* word) {
    Carry carry;
    take_words(word, carry.high);
    take_words(word + words, carry.low);
    return carry;
  }
  static HEARTH_INLINE V result(Carry carry, State x) { return carry.high + (x + carry.low); }
};

// ---- Products

// m 2^e with 1 <= |m| < 2, so that nothing overflows or vanishes between elements; 0, infinities
// and NaN have e = 0.
HEARTH_INLINE void split_number(float x, thread float& m, thread int& e) {
  bool tiny = metal::fabs(x) < 1.17549435e-38f;
  uint bits = as_type<uint>(tiny ? x * 16777216.0f : x);
  int exponent = int((bits >> 23) & 255u);
  bool number = exponent != 0 && exponent != 255;
  m = number ? as_type<float>((bits & 0x807fffffu) | 0x3f800000u) : as_type<float>(bits);
  e = number ? exponent - (tiny ? 151 : 127) : 0;
}
HEARTH_INLINE float scale_number(float m, int e) {
  int bounded = metal::clamp(e, -252, 252);
  int half_of = bounded / 2;
  return m * as_type<float>(uint(half_of + 127) << 23) *
         as_type<float>(uint(bounded - half_of + 127) << 23);
}
#if HEARTH_HAS_F64
HEARTH_INLINE void split_number(double x, thread double& m, thread int& e) {
  bool tiny = metal::fabs(x) < numeric_limits<double>::min();
  ulong bits = as_type<ulong>(tiny ? x * double(18014398509481984.0f) : x);
  int exponent = int((bits >> 52) & 2047u);
  bool number = exponent != 0 && exponent != 2047;
  ulong mantissa = (bits & ~(ulong(2047u) << 52)) | (ulong(1023u) << 52);
  m = as_type<double>(number ? mantissa : bits);
  e = number ? exponent - (tiny ? 1077 : 1023) : 0;
}
HEARTH_INLINE double scale_number(double m, int e) {
  int bounded = metal::clamp(e, -2044, 2044);
  int half_of = bounded / 2;
  return m * as_type<double>(ulong(half_of + 1023) << 52) *
         as_type<double>(ulong(bounded - half_of + 1023) << 52);
}
#endif

template <typename V, int kReal = ScanValue<V>::real>
struct ScanProduct {
  typedef typename ScanValue<V>::bits bits;
  typedef V Carry;
  HEARTH_SCAN_PLAIN
  enum { carry_words = words };
  static HEARTH_INLINE V rest() { return V(1); }
  static HEARTH_INLINE State none() { return V(1); }
  static HEARTH_INLINE State combine(State a, State b) { return V(bits(a) * bits(b)); }
  static HEARTH_INLINE Carry start() { return V(1); }
  static HEARTH_INLINE void join(thread Carry& carry, State next) { carry = combine(carry, next); }
  static HEARTH_INLINE void join_carry(thread Carry& carry, Carry next) { join(carry, next); }
  static HEARTH_INLINE void put_carry(thread uint* word, Carry carry) { put(word, carry); }
  static HEARTH_INLINE Carry take_carry(thread const uint* word) { return take(word); }
  static HEARTH_INLINE V result(Carry carry, State x) { return combine(carry, x); }
};
template <typename V>
struct ScaledNumber {
  V m;
  int e;
};
template <typename V>
struct ScanProduct<V, 1> {
  typedef ScaledNumber<V> State;
  enum { words = ScanValue<V>::words + 1, paired = 0, indexed = 0 };
  static HEARTH_INLINE V rest() { return V(1); }
  static HEARTH_INLINE V second_rest() { return V(0); }
  static HEARTH_INLINE State none() {
    State x;
    x.m = V(1);
    x.e = 0;
    return x;
  }
  static HEARTH_INLINE State lift(V value, V, int) {
    State x;
    split_number(value, x.m, x.e);
    return x;
  }
  static HEARTH_INLINE State combine(State a, State b) {
    State x;
    x.m = a.m * b.m;
    bool large = metal::fabs(x.m) >= V(2);
    x.m = large ? x.m * V(0.5f) : x.m;
    x.e = metal::clamp(a.e + b.e + (large ? 1 : 0), -(1 << 28), 1 << 28);
    return x;
  }
  static HEARTH_INLINE void put(thread uint* word, State x) {
    put_words(word, x.m);
    put_words(word + ScanValue<V>::words, x.e);
  }
  static HEARTH_INLINE State take(thread const uint* word) {
    State x;
    take_words(word, x.m);
    take_words(word + ScanValue<V>::words, x.e);
    return x;
  }
  HEARTH_SCAN_CARRY
  static HEARTH_INLINE V result(Carry carry, State x) {
    State all = combine(carry, x);
    return scale_number(all.m, all.e);
  }
  static HEARTH_INLINE long place(Carry, State) { return 0; }
};

// ---- Extremes

// What comes later wins where it equals; a NaN wins over all.
template <typename V, bool kSmallest>
HEARTH_INLINE bool scan_takes(V best, V x) {
  bool worse = kSmallest ? x > best : x < best;
  return !worse && (x != x || best == best);
}
template <typename V>
struct FoundExtreme {
  V best;
  int at;  // below 0: there is none
};
template <typename V, bool kSmallest, bool kIndexed>
struct ScanExtreme {
  typedef FoundExtreme<V> State;
  enum { words = ScanValue<V>::words + 1, paired = 0, indexed = kIndexed ? 1 : 0 };
  static HEARTH_INLINE V rest() { return V(0); }
  static HEARTH_INLINE V second_rest() { return V(0); }
  static HEARTH_INLINE State none() {
    State x;
    x.best = V(0);
    x.at = -1;
    return x;
  }
  static HEARTH_INLINE State lift(V value, V, int at) {
    State x;
    x.best = value;
    x.at = at;
    return x;
  }
  static HEARTH_INLINE State combine(State a, State b) {
    bool takes = b.at >= 0 && (a.at < 0 || scan_takes<V, kSmallest>(a.best, b.best));
    State x;
    x.best = takes ? b.best : a.best;
    x.at = takes ? b.at : a.at;
    return x;
  }
  static HEARTH_INLINE void put(thread uint* word, State x) {
    put_words(word, x.best);
    put_words(word + ScanValue<V>::words, x.at);
  }
  static HEARTH_INLINE State take(thread const uint* word) {
    State x;
    take_words(word, x.best);
    take_words(word + ScanValue<V>::words, x.at);
    return x;
  }
  HEARTH_SCAN_CARRY
  static HEARTH_INLINE V result(Carry carry, State x) { return combine(carry, x).best; }
  static HEARTH_INLINE long place(Carry carry, State x) { return long(combine(carry, x).at); }
};

// ---- Sums of powers

template <typename V>
struct PowerSum {
  V top, sum;  // the sum of e^(x - top)
};
template <typename V>
struct ScanLogSum {
  typedef PowerSum<V> State;
  enum { words = 2 * ScanValue<V>::words, paired = 0, indexed = 0 };
  static HEARTH_INLINE V rest() { return V(-INFINITY); }
  static HEARTH_INLINE V second_rest() { return V(0); }
  static HEARTH_INLINE State none() {
    State x;
    x.top = V(-INFINITY);
    x.sum = V(0);
    return x;
  }
  static HEARTH_INLINE State lift(V value, V, int) {
    State x;
    x.top = value;
    x.sum = value == V(-INFINITY) ? V(0) : V(1);
    return x;
  }
  static HEARTH_INLINE State combine(State a, State b) {
    State x;
    x.top = a.top >= b.top ? a.top : b.top;
    V of_a = a.top == x.top ? a.sum : a.sum * metal::exp(a.top - x.top);
    V of_b = b.top == x.top ? b.sum : b.sum * metal::exp(b.top - x.top);
    x.sum = of_a + of_b;
    return x;
  }
  static HEARTH_INLINE void put(thread uint* word, State x) {
    put_words(word, x.top);
    put_words(word + ScanValue<V>::words, x.sum);
  }
  static HEARTH_INLINE State take(thread const uint* word) {
    State x;
    take_words(word, x.top);
    take_words(word + ScanValue<V>::words, x.sum);
    return x;
  }
  HEARTH_SCAN_CARRY
  static HEARTH_INLINE V result(Carry carry, State x) {
    State all = combine(carry, x);
    return all.top + metal::log(all.sum);
  }
  static HEARTH_INLINE long place(Carry, State) { return 0; }
};

// ---- h_i = a_i h_{i-1} + b_i

template <typename V>
struct LinearStep {
  V a, b;
};
template <typename V>
struct ScanLinear {
  typedef LinearStep<V> State;
  enum { words = 2 * ScanValue<V>::words, paired = 1, indexed = 0 };
  static HEARTH_INLINE V rest() { return V(1); }
  static HEARTH_INLINE V second_rest() { return V(0); }
  static HEARTH_INLINE State none() {
    State x;
    x.a = V(1);
    x.b = V(0);
    return x;
  }
  static HEARTH_INLINE State lift(V value, V second, int) {
    State x;
    x.a = value;
    x.b = second;
    return x;
  }
  // A product of factors that has overflowed leaves an h of 0 what it is.
  static HEARTH_INLINE State combine(State first, State next) {
    bool keeps = first.b == V(0) && metal::fabs(next.a) == V(INFINITY);
    State x;
    x.a = first.a * next.a;
    x.b = keeps ? next.b : metal::fma(next.a, first.b, next.b);
    return x;
  }
  static HEARTH_INLINE void put(thread uint* word, State x) {
    put_words(word, x.a);
    put_words(word + ScanValue<V>::words, x.b);
  }
  static HEARTH_INLINE State take(thread const uint* word) {
    State x;
    take_words(word, x.a);
    take_words(word + ScanValue<V>::words, x.b);
    return x;
  }
  HEARTH_SCAN_CARRY
  static HEARTH_INLINE V result(Carry carry, State x) { return combine(carry, x).b; }
  static HEARTH_INLINE long place(Carry, State) { return 0; }
};

// ---- The rules of ops, by the type of values

template <typename V>
using CumSum = ScanSum<V, ScanValue<V>::real>;
template <typename V>
using CumProduct = ScanProduct<V, ScanValue<V>::real>;
template <typename V>
using CumLargest = ScanExtreme<V, false, false>;
template <typename V>
using CumSmallest = ScanExtreme<V, true, false>;
template <typename V>
using CumLargestIndexed = ScanExtreme<V, false, true>;
template <typename V>
using CumSmallestIndexed = ScanExtreme<V, true, true>;
template <typename V>
using CumLogSum = ScanLogSum<V>;
template <typename V>
using CumLinear = ScanLinear<V>;
