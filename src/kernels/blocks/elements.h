// What generated region kernels are made of: dtypes in memory and in registers, 16-byte packets,
// casts, divisions by extents, exchange between lanes. Text of the kernel dialect.
//
// A dtype is a struct: `memory` is what memory holds, `value` what is computed in (f32 for small
// floats, i32 for integers below 32 bits and bool, i64 for u32). load and store convert; narrowing
// integers wrap, small floats round to nearest even. get and put do the same for element i of a
// packet's words, where i is known when the kernel is compiled.

#include "kernels/blocks/dynamics.h"

// Everything is inlined: what looks like memory here is registers then.

struct Elements1 {
  static HEARTH_INLINE uint get(thread const uint* word, int i) {
    return (word[i >> 2] >> (8 * (i & 3))) & 255u;
  }
  static HEARTH_INLINE void put(thread uint* word, int i, uint bits) {
    int shift = 8 * (i & 3);
    word[i >> 2] = (shift == 0 ? 0u : word[i >> 2]) | ((bits & 255u) << shift);
  }
};
struct Elements2 {
  static HEARTH_INLINE uint get(thread const uint* word, int i) {
    return (word[i >> 1] >> (16 * (i & 1))) & 65535u;
  }
  static HEARTH_INLINE void put(thread uint* word, int i, uint bits) {
    int shift = 16 * (i & 1);
    word[i >> 1] = (shift == 0 ? 0u : word[i >> 1]) | ((bits & 65535u) << shift);
  }
};
struct Elements4 {
  static HEARTH_INLINE uint get(thread const uint* word, int i) { return word[i]; }
  static HEARTH_INLINE void put(thread uint* word, int i, uint bits) { word[i] = bits; }
};
struct Elements8 {
  static HEARTH_INLINE ulong get(thread const uint* word, int i) {
    return ulong(word[2 * i]) | (ulong(word[2 * i + 1]) << 32);
  }
  static HEARTH_INLINE void put(thread uint* word, int i, ulong bits) {
    word[2 * i] = uint(bits);
    word[2 * i + 1] = uint(bits >> 32);
  }
};

// The bits of an element as an integer of its size, for casts between it and a packet's words.
#define HEARTH_DTYPE(name, M, V, elements, bits, loaded, stored)   \
  struct name {                                                    \
    typedef M memory;                                              \
    typedef V value;                                               \
    typedef elements packed;                                       \
    static HEARTH_INLINE V load(M x) { return loaded; }            \
    static HEARTH_INLINE M store(V x) { return stored; }           \
    static HEARTH_INLINE V get(thread const uint* word, int i) {   \
      return load(as_type<M>(bits(elements::get(word, i))));       \
    }                                                              \
    static HEARTH_INLINE void put(thread uint* word, int i, V x) { \
      elements::put(word, i, as_type<bits>(store(x)));             \
    }                                                              \
  };
HEARTH_DTYPE(F32, float, float, Elements4, uint, x, x)
HEARTH_DTYPE(F16, half, float, Elements2, ushort, float(x), half(x))
HEARTH_DTYPE(BF16, bfloat, float, Elements2, ushort, float(x), bfloat(x))
HEARTH_DTYPE(I64, long, long, Elements8, ulong, x, x)
HEARTH_DTYPE(I32, int, int, Elements4, uint, x, x)
HEARTH_DTYPE(I16, short, int, Elements2, ushort, int(x), short(x))
HEARTH_DTYPE(I8, char, int, Elements1, uchar, int(x), char(x))
HEARTH_DTYPE(U64, ulong, ulong, Elements8, ulong, x, x)
HEARTH_DTYPE(U32, uint, long, Elements4, uint, long(x), uint(x))
HEARTH_DTYPE(U16, ushort, int, Elements2, ushort, int(x), ushort(x))
HEARTH_DTYPE(U8, uchar, int, Elements1, uchar, int(x), uchar(x))
// Any byte but 0 is true.
HEARTH_DTYPE(Bool, uchar, int, Elements1, uchar, (x != 0 ? 1 : 0), uchar(x))
#if HEARTH_HAS_F64
HEARTH_DTYPE(F64, double, double, Elements8, ulong, x, x)
#endif
#undef HEARTH_DTYPE

// What one load or store moves.
template <int kBytes>
struct Packet;
template <>
struct Packet<16> {
  uint word[4];
  static HEARTH_INLINE Packet read(device const void* from) {
    uint4 words = *(device const uint4*)from;
    Packet p;
    p.word[0] = words.x;
    p.word[1] = words.y;
    p.word[2] = words.z;
    p.word[3] = words.w;
    return p;
  }
  HEARTH_INLINE void write(device void* to) const {
    *(device uint4*)to = uint4(word[0], word[1], word[2], word[3]);
  }
};
template <>
struct Packet<8> {
  uint word[2];
  static HEARTH_INLINE Packet read(device const void* from) {
    uint2 words = *(device const uint2*)from;
    Packet p;
    p.word[0] = words.x;
    p.word[1] = words.y;
    return p;
  }
  HEARTH_INLINE void write(device void* to) const { *(device uint2*)to = uint2(word[0], word[1]); }
};
#define HEARTH_SMALL_PACKET(bytes, T)                                                \
  template <>                                                                        \
  struct Packet<bytes> {                                                             \
    uint word[1];                                                                    \
    static HEARTH_INLINE Packet read(device const void* from) {                      \
      Packet p;                                                                      \
      p.word[0] = uint(*(device const T*)from);                                      \
      return p;                                                                      \
    }                                                                                \
    HEARTH_INLINE void write(device void* to) const { *(device T*)to = T(word[0]); } \
  };
HEARTH_SMALL_PACKET(4, uint)
HEARTH_SMALL_PACKET(2, ushort)
HEARTH_SMALL_PACKET(1, uchar)
#undef HEARTH_SMALL_PACKET

// n / d for n < 2^31 and d in [1, 2^31): with l = ceil(log2 d), magic is ceil(2^(31 + l) / d) and
// shift is 31 + l.
HEARTH_INLINE uint divided(uint n, uint magic, uint shift) {
  return uint((ulong(n) * magic) >> shift);
}

// Floats to integers: truncated, saturated, 0 for NaN. Each limit is the first value that is too
// large, a power of two and exact.
template <class T>
HEARTH_INLINE int int_of(T x) {
  bool below = !(x > T(-2147483648.0f)), above = x >= T(2147483648.0f);
  int outside = above ? 2147483647 : x == x ? -2147483647 - 1 : 0;
  return below || above ? outside : int(x);
}
template <class T>
HEARTH_INLINE long long_of(T x) {
  bool below = !(x > T(-9223372036854775808.0f)), above = x >= T(9223372036854775808.0f);
  ulong low = ulong(1) << 63;
  long outside = above ? long(low - 1) : x == x ? long(low) : long(0);
  return below || above ? outside : long(x);
}
template <class T>
HEARTH_INLINE ulong ulong_of(T x) {
  bool below = !(x > T(0.0f)), above = x >= T(18446744073709551616.0f);
  return below || above ? (above ? ~ulong(0) : ulong(0)) : ulong(x);
}
template <class T>
HEARTH_INLINE T between(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}

// Integers and doubles to a float that is yet to be rounded to a shorter one, see float_bits_of().
HEARTH_INLINE float odd_float_of(ulong magnitude, bool negative) {
  uint shift = 0;
  while ((magnitude >> shift) >= (ulong(1) << 24)) ++shift;
  ulong kept = magnitude >> shift;
  if (shift > 0) {
    kept |= (kept << shift) != magnitude ? 1u : 0u;
  }
  float scaled = float(uint(kept)) * as_type<float>((127u + shift) << 23);
  return negative ? -scaled : scaled;
}
HEARTH_INLINE float odd_float(ulong x) { return odd_float_of(x, false); }
HEARTH_INLINE float odd_float(long x) {
  return odd_float_of(x < 0 ? ulong(0) - ulong(x) : ulong(x), x < 0);
}
HEARTH_INLINE float odd_float(int x) { return odd_float(long(x)); }
#if HEARTH_HAS_F64
HEARTH_INLINE float odd_float(double x) {
  return as_type<float>(float_bits_of(as_type<ulong>(x), true));
}
#endif

// The value of the lane whose index differs in the bits of `mask`; all lanes must call it. 64-bit
// values go in two halves: not every GPU exchanges 64 bits.
HEARTH_INLINE float shuffle_xor(float x, ushort mask) { return simd_shuffle_xor(x, mask); }
HEARTH_INLINE int shuffle_xor(int x, ushort mask) { return simd_shuffle_xor(x, mask); }
HEARTH_INLINE uint shuffle_xor(uint x, ushort mask) { return simd_shuffle_xor(x, mask); }
HEARTH_INLINE ulong shuffle_xor(ulong x, ushort mask) {
  uint low = simd_shuffle_xor(uint(x), mask), high = simd_shuffle_xor(uint(x >> 32), mask);
  return ulong(low) | (ulong(high) << 32);
}
HEARTH_INLINE long shuffle_xor(long x, ushort mask) { return long(shuffle_xor(ulong(x), mask)); }
#if HEARTH_HAS_F64
HEARTH_INLINE double shuffle_xor(double x, ushort mask) {
  return as_type<double>(shuffle_xor(as_type<ulong>(x), mask));
}
#endif
