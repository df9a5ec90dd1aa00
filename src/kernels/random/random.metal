// Random tensors by counting, and arange. Text of the kernel dialect; the definition of every value
// is core/philox.h of Hearth: Philox4x32-10, seed and counter fixed when the op was recorded.
//
// Floats of up to 32 bits: a thread makes the elements of kThreadBlocks blocks of four words, which
// share what follows from the seed and the parameters, and stores 16 bytes at once where the output
// is aligned (kPacked); what a threadgroup stores in a turn lies together. Others: one block a
// thread. Bound by memory and the ten rounds; normal values by arithmetic.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/formulas/formulas.h"
#include "kernels/random/params.h"

struct Words {
  uint word[4];
};

HEARTH_INLINE Words philox(ulong seed, ulong block, ulong counter) {
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
HEARTH_INLINE float unit(uint word) { return float(int(word >> 8)) * 5.9604644775390625e-8f; }

// The float below `x`, which is finite.
inline float float_below(float x) {
  int bits = as_type<int>(x);
  if ((bits & 0x7fffffff) == 0) return as_type<float>(int(0x80000001));
  return as_type<float>(bits < 0 ? bits + 1 : bits - 1);
}

// Stores elements [kCount * block, + kCount), as far as they exist.
template <typename D, int kCount, bool kPacked>
HEARTH_INLINE void store_block(device typename D::memory* y, ulong block, ulong count,
                               thread const typename D::value* values) {
  const int kSize = int(sizeof(typename D::memory));
  const int kEach = kCount * kSize <= 16 ? kCount : 16 / kSize;
  ulong first = block * ulong(kCount);
  if (kPacked && first + ulong(kCount) <= count) {
#pragma unroll
    for (int begin = 0; begin < kCount; begin += kEach) {
      Packet<kEach * kSize> packet;
#pragma unroll
      for (int i = 0; i < kEach; ++i) D::put(packet.word, i, values[begin + i]);
      packet.write(y + first + ulong(begin));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (first + ulong(i) < count) y[first + ulong(i)] = D::store(values[i]);
    }
  }
}

// What a thread makes: kThreadBlocks blocks, those of 16 bytes at a time, in turns of its
// threadgroup.
template <typename D>
struct Turn {
  enum {
    blocks = sizeof(typename D::memory) >= 4 ? 1 : 4 / int(sizeof(typename D::memory)),
    turns = int(kThreadBlocks) / blocks,
    elements = 4 * blocks
  };
  // The number of a thread's elements in a turn, among those of all threads.
  static HEARTH_INLINE ulong of(int turn, Ctx ctx) {
    return (ulong(ctx.tg.x) * ulong(int(turns)) + ulong(turn)) * ulong(ctx.ntid.x) +
           ulong(ctx.tid.x);
  }
};

template <typename D, bool kPacked>
void random_bits(device typename D::memory* y, device const ulong* dynamics,
                 constant RandomParams& p, Ctx ctx) {
  typedef typename D::memory T;
  const int kCount = sizeof(T) == 8 ? 2 : 4;
  ulong block = ctx.gid.x;
  if (block * kCount >= ulong(p.count)) return;
  Words words = philox(dynamics[p.dynamic], block, dynamics[p.dynamic + 1]);
  typename D::value values[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = D::load(sizeof(T) == 8 ? T(pair_of(words, i & 1)) : T(words.word[i]));
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
  typedef Turn<D> Each;
  ulong seed = dynamics[p.dynamic], counter = dynamics[p.dynamic + 1];
  float low = dynamic_float(dynamics[p.dynamic + 2]);
  float high = dynamic_float(dynamics[p.dynamic + 3]);
  float range = high - low;
  float below = metal::max(low, float_below(high));
#pragma unroll
  for (int turn = 0; turn < int(Each::turns); ++turn) {
    ulong at = Each::of(turn, ctx);
    if (at * ulong(int(Each::elements)) >= ulong(p.count)) return;
    float values[Each::elements];
#pragma unroll
    for (int b = 0; b < int(Each::blocks); ++b) {
      Words words = philox(seed, at * ulong(int(Each::blocks)) + ulong(b), counter);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float product = unit(words.word[i]) * range;
        float value = low + product;
        values[4 * b + i] = float(rounded_below<T>(value < high ? value : below, low, high));
      }
    }
    store_block<D, Each::elements, kPacked>(y, at, ulong(p.count), values);
  }
}

template <typename D, bool kPacked>
void random_normal(device typename D::memory* y, device const ulong* dynamics,
                   constant RandomParams& p, Ctx ctx) {
  typedef Turn<D> Each;
  ulong seed = dynamics[p.dynamic], counter = dynamics[p.dynamic + 1];
  float mean = dynamic_float(dynamics[p.dynamic + 2]);
  float deviation = dynamic_float(dynamics[p.dynamic + 3]);
#pragma unroll
  for (int turn = 0; turn < int(Each::turns); ++turn) {
    ulong at = Each::of(turn, ctx);
    if (at * ulong(int(Each::elements)) >= ulong(p.count)) return;
    float values[Each::elements];
#pragma unroll
    for (int b = 0; b < int(Each::blocks); ++b) {
      Words words = philox(seed, at * ulong(int(Each::blocks)) + ulong(b), counter);
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        float u = float((words.word[i] >> 8) + 1) * 5.9604644775390625e-8f;  // (0, 1]
        float radius = formula::root(-2.0f * formula::log_moderate(u));
        float angle = 6.28318531f * unit(words.word[i + 1]);
        values[4 * b + i] = mean + deviation * (radius * formula::cos_moderate(angle));
        values[4 * b + i + 1] = mean + deviation * (radius * formula::sin_moderate(angle));
      }
    }
    store_block<D, Each::elements, kPacked>(y, at, ulong(p.count), values);
  }
}

HEARTH_INLINE int exponent_of(ulong bits) { return int((bits >> 52) & 0x7ff); }

// ceil(p * 2^(1075 - last)) for p in [0, 1], given as the bits of an f64; at most 2^52.
HEARTH_INLINE ulong probability_limit(ulong bits, int last) {
  int exponent = exponent_of(bits);
  ulong mantissa = (bits & 0xfffffffffffffl) | (exponent != 0 ? 0x10000000000000l : 0l);
  if (mantissa == 0) return 0;
  int shift = last - metal::max(exponent, 1);
  if (shift >= 64) return 1;
  ulong whole = mantissa >> shift;
  return whole + ((whole << shift) != mantissa ? 1 : 0);
}

// Which elements of a block get 1, with a probability given as the bits of an f64.
struct Chance {
  ulong limit;
  uint first;
  bool rare;

  HEARTH_INLINE void set(ulong probability) {
    rare = exponent_of(probability) < 1011;                      // below 2^-12
    limit = probability_limit(probability, rare ? 1011 : 1051);  // of 2^64, 2^24
    first = rare ? uint(limit >> 32) : uint(limit);
  }
  HEARTH_INLINE void draw(thread bool* chosen, ulong seed, ulong block, ulong counter) const {
    Words words = philox(seed, block, counter);
    if (!rare) {
#pragma unroll
      for (int i = 0; i < 4; ++i) chosen[i] = (words.word[i] >> 8) < first;
      return;
    }
    bool undecided = false;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      chosen[i] = words.word[i] < first;
      undecided = undecided || words.word[i] == first;
    }
    if (!undecided) return;
    Words second = philox(seed, block | 0x8000000000000000ul, counter);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      chosen[i] = chosen[i] || (words.word[i] == first && second.word[i] < uint(limit));
    }
  }
};

template <typename D, bool kPacked>
void random_bernoulli(device typename D::memory* y, device const ulong* dynamics,
                      constant RandomParams& p, Ctx ctx) {
  typedef typename D::value V;
  typedef Turn<D> Each;
  ulong seed = dynamics[p.dynamic], counter = dynamics[p.dynamic + 1];
  Chance chance;
  chance.set(dynamics[p.dynamic + 2]);
#pragma unroll
  for (int turn = 0; turn < int(Each::turns); ++turn) {
    ulong at = Each::of(turn, ctx);
    if (at * ulong(int(Each::elements)) >= ulong(p.count)) return;
    V values[Each::elements];
#pragma unroll
    for (int b = 0; b < int(Each::blocks); ++b) {
      bool chosen[4];
      chance.draw(chosen, seed, at * ulong(int(Each::blocks)) + ulong(b), counter);
#pragma unroll
      for (int i = 0; i < 4; ++i) values[4 * b + i] = chosen[i] ? V(1) : V(0);
    }
    store_block<D, Each::elements, kPacked>(y, at, ulong(p.count), values);
  }
}

HEARTH_INLINE float dynamic_number(ulong word, float) { return dynamic_float(word); }
#if HEARTH_HAS_F64
HEARTH_INLINE double dynamic_number(ulong word, double) { return as_type<double>(word); }
#endif

// Elements of x at their places in row-major order, of which a chance takes away some and scales
// the others: both in one pass over x, so that no mask is stored. With kAdded, and `added` is
// added.
template <typename D, typename I, bool kPacked, bool kAdded, int kRank>
void dropout(device const typename D::memory* x, device const typename D::memory* added,
             device typename D::memory* y, device const ulong* dynamics,
             constant DropoutParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  typedef Turn<D> Each;
  const int kCount = Each::elements;
  const int kSize = int(sizeof(typename D::memory));
  const int kEach = kCount * kSize <= 16 ? kCount : 16 / kSize;
  ulong seed = dynamics[p.dynamic], counter = dynamics[p.dynamic + 1];
  Chance chance;
  chance.set(dynamics[p.dynamic + 2]);
  V scale = dynamic_number(dynamics[p.dynamic + 3], V(0));
#pragma unroll
  for (int turn = 0; turn < int(Each::turns); ++turn) {
    ulong at = Each::of(turn, ctx);
    ulong first = at * ulong(kCount);
    if (first >= ulong(p.count)) return;
    bool whole = kPacked && first + ulong(kCount) <= ulong(p.count);
    V values[kCount];
    if (whole) {
#pragma unroll
      for (int begin = 0; begin < kCount; begin += kEach) {
        Packet<kEach * kSize> packet = Packet<kEach * kSize>::read(x + first + ulong(begin));
#pragma unroll
        for (int i = 0; i < kEach; ++i) values[begin + i] = D::get(packet.word, i);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        bool exists = first + ulong(i) < ulong(p.count);
        values[i] = exists ? D::load(x[offset_of<I, kRank>(I(first + ulong(i)), p.x)]) : V(0);
      }
    }
#pragma unroll
    for (int b = 0; b < int(Each::blocks); ++b) {
      bool chosen[4];
      chance.draw(chosen, seed, at * ulong(int(Each::blocks)) + ulong(b), counter);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[4 * b + i] = chosen[i] ? values[4 * b + i] * scale : V(0);
      }
    }
    if (kAdded) {
      if (whole) {
#pragma unroll
        for (int begin = 0; begin < kCount; begin += kEach) {
          Packet<kEach * kSize> packet = Packet<kEach * kSize>::read(added + first + ulong(begin));
#pragma unroll
          for (int i = 0; i < kEach; ++i) values[begin + i] += D::get(packet.word, i);
        }
      } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if (first + ulong(i) < ulong(p.count)) values[i] += D::load(added[first + ulong(i)]);
        }
      }
    }
    store_block<D, kCount, kPacked>(y, at, ulong(p.count), values);
  }
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
  typename D::value values[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    values[i] = D::load(T(V(long(low + product_high(pair_of(words, i), range)))));
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
