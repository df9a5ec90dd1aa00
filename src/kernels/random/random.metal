// Random tensors by counting, and arange. Text of the kernel dialect; the definition of every value
// is core/philox.h of Hearth: Philox4x32-10, seed and counter fixed when the op was recorded.
//
// A thread makes the elements of one block of four words, and stores them at once where the output
// is aligned (kPacked): lanes that store one element each of four would write every sector four
// times. Bound by memory; normal values by arithmetic as much.

#include "kernels/blocks/elements.h"
#include "kernels/formulas/formulas.h"
#include "kernels/random/params.h"

struct Words {
  uint word[4];
};

inline Words philox(ulong seed, ulong block, ulong counter) {
  uint x0 = uint(block), x1 = uint(block >> 32);
  uint x2 = uint(counter), x3 = uint(counter >> 32);
  uint k0 = uint(seed), k1 = uint(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    ulong p0 = ulong(0xd2511f53u) * x0;
    ulong p1 = ulong(0xcd9e8d57u) * x2;
    x0 = uint(p1 >> 32) ^ x1 ^ k0;
    x1 = uint(p1);
    x2 = uint(p0 >> 32) ^ x3 ^ k1;
    x3 = uint(p0);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  Words words;
  words.word[0] = x0;
  words.word[1] = x1;
  words.word[2] = x2;
  words.word[3] = x3;
  return words;
}

inline ulong pair_of(Words words, int i) {
  return ulong(words.word[2 * i]) | (ulong(words.word[2 * i + 1]) << 32);
}

// [0, 1) from the top 24 bits.
inline float unit(uint word) { return float(int(word >> 8)) * 5.9604644775390625e-8f; }

// The float below `x`, which is finite.
inline float float_below(float x) {
  int bits = as_type<int>(x);
  if ((bits & 0x7fffffff) == 0) return as_type<float>(int(0x80000001));
  return as_type<float>(bits < 0 ? bits + 1 : bits - 1);
}

// Stores elements [kCount * block, + kCount), as far as they exist.
template <typename D, int kCount, bool kPacked>
inline void store_block(device typename D::memory* y, ulong block, ulong count,
                        thread const typename D::memory* values) {
  const int kSize = int(sizeof(typename D::memory));
  const int kEach = kCount * kSize <= 16 ? kCount : 16 / kSize;
  ulong first = block * ulong(kCount);
  if (kPacked && first + ulong(kCount) <= count) {
#pragma unroll
    for (int begin = 0; begin < kCount; begin += kEach) {
      Packet<kEach * kSize> packet;
#pragma unroll
      for (int i = 0; i < kEach; ++i) D::put(packet.word, i, D::load(values[begin + i]));
      packet.write(y + first + ulong(begin));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (first + ulong(i) < count) y[first + ulong(i)] = values[i];
    }
  }
}

template <typename D, bool kPacked>
void random_bits(device typename D::memory* y, device const ulong* dynamics,
                 constant RandomParams& p, Ctx ctx) {
  typedef typename D::memory T;
  const int kCount = sizeof(T) == 8 ? 2 : 4;
  ulong block = ctx.gid.x;
  if (block * kCount >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  T values[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = sizeof(T) == 8 ? T(pair_of(words, i & 1)) : T(words.word[i]);
  }
  store_block<D, kCount, kPacked>(y, block, ulong(p.count), values);
}

// A value rounded to T, below `high` where it was before rounding.
template <typename T>
inline T rounded_below(float value, float low, float high) {
  T rounded = T(value);
  if (float(rounded) < high || !(low < high)) return rounded;
  ushort bits = as_type<ushort>(rounded);
  if ((bits & 0x7fff) == 0) return as_type<T>(ushort(0x8001));
  return as_type<T>(ushort((bits & 0x8000) != 0 ? bits + 1 : bits - 1));
}
template <>
inline float rounded_below<float>(float value, float, float) {
  return value;
}

template <typename D, bool kPacked>
void random_uniform(device typename D::memory* y, device const ulong* dynamics,
                    constant RandomParams& p, Ctx ctx) {
  typedef typename D::memory T;
  ulong block = ctx.gid.x;
  if (block * 4 >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  float low = dynamic_float(dynamics[p.dynamic + 2]);
  float high = dynamic_float(dynamics[p.dynamic + 3]);
  float range = high - low;
  float below = metal::max(low, float_below(high));
  T values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float product = unit(words.word[i]) * range;
    float value = low + product;
    values[i] = rounded_below<T>(value < high ? value : below, low, high);
  }
  store_block<D, 4, kPacked>(y, block, ulong(p.count), values);
}

template <typename D, bool kPacked>
void random_normal(device typename D::memory* y, device const ulong* dynamics,
                   constant RandomParams& p, Ctx ctx) {
  typedef typename D::memory T;
  ulong block = ctx.gid.x;
  if (block * 4 >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  float mean = dynamic_float(dynamics[p.dynamic + 2]);
  float deviation = dynamic_float(dynamics[p.dynamic + 3]);
  T values[4];
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    float u = float((words.word[i] >> 8) + 1) * 5.9604644775390625e-8f;  // (0, 1]
    float radius = formula::root(-2.0f * formula::log_moderate(u));
    float angle = 6.28318531f * unit(words.word[i + 1]);
    values[i] = T(mean + deviation * (radius * formula::cos_moderate(angle)));
    values[i + 1] = T(mean + deviation * (radius * formula::sin_moderate(angle)));
  }
  store_block<D, 4, kPacked>(y, block, ulong(p.count), values);
}

inline int exponent_of(ulong bits) { return int((bits >> 52) & 0x7ff); }

// ceil(p * 2^scale) for p in [0, 1], given as the bits of an f64; at most 2^52.
inline ulong probability_limit(ulong bits, int scale) {
  int exponent = exponent_of(bits);
  ulong mantissa = (bits & 0xfffffffffffffl) | (exponent != 0 ? 0x10000000000000l : 0l);
  if (mantissa == 0) return 0;
  int shift = 1075 - scale - metal::max(exponent, 1);
  if (shift >= 64) return 1;
  ulong whole = mantissa >> shift;
  return whole + ((whole << shift) != mantissa ? 1 : 0);
}

template <typename D, bool kPacked>
void random_bernoulli(device typename D::memory* y, device const ulong* dynamics,
                      constant RandomParams& p, Ctx ctx) {
  typedef typename D::memory T;
  ulong block = ctx.gid.x;
  if (block * 4 >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  ulong probability = dynamics[p.dynamic + 2];
  bool rare = exponent_of(probability) < 1011;  // below 2^-12
  ulong limit = probability_limit(probability, rare ? 64 : 24);
  uint first = rare ? uint(limit >> 32) : uint(limit);
  int shift = rare ? 0 : 8;
  bool undecided = false;
  T values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[i] = (words.word[i] >> shift) < first ? T(1.0f) : T(0.0f);
    undecided = undecided || words.word[i] == first;
  }
  if (rare && undecided) {
    Words second =
        philox(dynamics[p.dynamic], block | 0x8000000000000000ul, dynamics[p.dynamic + 1]);
    for (int i = 0; i < 4; ++i) {
      if (words.word[i] == first && second.word[i] < uint(limit)) values[i] = T(1.0f);
    }
  }
  store_block<D, 4, kPacked>(y, block, ulong(p.count), values);
}

// The high half of a 128-bit product.
inline ulong product_high(ulong x, ulong y) {
  ulong a = x >> 32, b = x & 0xffffffffu;
  ulong c = y >> 32, d = y & 0xffffffffu;
  ulong middle = b * c + ((b * d) >> 32);
  ulong cross = a * d + (middle & 0xffffffffu);
  return a * c + (middle >> 32) + (cross >> 32);
}

// By way of V: int types take the number as it is, floats round it.
template <typename D, typename V, bool kPacked>
void random_integers(device typename D::memory* y, device const ulong* dynamics,
                     constant RandomParams& p, Ctx ctx) {
  typedef typename D::memory T;
  ulong block = ctx.gid.x;
  if (block * 2 >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  ulong low = dynamics[p.dynamic + 2];
  ulong range = dynamics[p.dynamic + 3] - low;
  T values[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    values[i] = T(V(long(low + product_high(pair_of(words, i), range))));
  }
  store_block<D, 2, kPacked>(y, block, ulong(p.count), values);
}

template <typename T>
void arange_int(device T* y, device const ulong* dynamics, constant RandomParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i < ulong(p.count)) y[i] = T(dynamics[p.dynamic] + i * dynamics[p.dynamic + 1]);
}

template <typename T>
void arange_float(device T* y, device const ulong* dynamics, constant RandomParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count)) return;
  float first = dynamic_float(dynamics[p.dynamic]);
  y[i] = T(metal::fma(float(i), dynamic_float(dynamics[p.dynamic + 1]), first));
}

#if HEARTH_HAS_F64
inline double unit64(ulong pair) { return double(pair >> 11) * 1.1102230246251565e-16; }

inline void random_uniform64(device double* y, device const ulong* dynamics,
                             constant RandomParams& p, Ctx ctx) {
  ulong block = ctx.gid.x;
  if (block * 2 >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  double low = as_type<double>(dynamics[p.dynamic + 2]);
  double high = as_type<double>(dynamics[p.dynamic + 3]);
  long bits = as_type<long>(high);
  double below = high == 0 ? as_type<double>(long(0x8000000000000001ul))
                           : as_type<double>(bits < 0 ? bits + 1 : bits - 1);
  below = low > below ? low : below;
  for (int i = 0; i < 2; ++i) {
    ulong at = block * 2 + i;
    if (at >= ulong(p.count)) return;
    double product = unit64(pair_of(words, i)) * (high - low);
    double value = low + product;
    y[at] = value < high ? value : below;
  }
}

inline void random_normal64(device double* y, device const ulong* dynamics,
                            constant RandomParams& p, Ctx ctx) {
  ulong block = ctx.gid.x;  // two blocks of words make a pair of values for elements 2b and 2b + 1
  if (block * 2 >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  double mean = as_type<double>(dynamics[p.dynamic + 2]);
  double deviation = as_type<double>(dynamics[p.dynamic + 3]);
  double u = double((pair_of(words, 0) >> 11) + 1) * 1.1102230246251565e-16;
  double radius = metal::sqrt(-2.0 * formula::log(u));
  double angle = 6.2831853071795864769 * unit64(pair_of(words, 1));
  ulong at = block * 2;
  y[at] = mean + deviation * (radius * formula::cos(angle));
  if (at + 1 < ulong(p.count)) y[at + 1] = mean + deviation * (radius * formula::sin(angle));
}

inline void arange_double(device double* y, device const ulong* dynamics, constant RandomParams& p,
                          Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count)) return;
  double product = double(i) * as_type<double>(dynamics[p.dynamic + 1]);
  y[i] = as_type<double>(dynamics[p.dynamic]) + product;
}
#endif
