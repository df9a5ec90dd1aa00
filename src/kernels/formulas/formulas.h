// The scalar formulas for plain values: float, int, uint, long, ulong, and double where there is
// one. A kernel text that includes this calls formula::exp(x), formula::add(a, b)... and gets the
// bits that every other device computes, but for those of approximate.h.
//
// The vocabulary of scalar_ops.h on one value. Masks are bools. The word of a float is unsigned, so
// that its arithmetic wraps; shift_right and to_real read it as signed. C++14, no header.

namespace formula {

template <class T>
struct kind {
  enum { real = 0, real32 = 0, real64 = 0, integer = 0 };
};
template <>
struct kind<float> {
  enum { real = 1, real32 = 1, real64 = 0, integer = 0 };
};
#if HEARTH_HAS_F64
template <>
struct kind<double> {
  enum { real = 1, real32 = 0, real64 = 1, integer = 0 };
};
#endif
#define HEARTH_INTEGER_KIND(T)                              \
  template <>                                               \
  struct kind<T> {                                          \
    enum { real = 0, real32 = 0, real64 = 0, integer = 1 }; \
  };
HEARTH_INTEGER_KIND(int)
HEARTH_INTEGER_KIND(uint)
HEARTH_INTEGER_KIND(long)
HEARTH_INTEGER_KIND(ulong)
#undef HEARTH_INTEGER_KIND

template <bool condition>
struct only_if {};
template <>
struct only_if<true> {
  typedef int type;
};

#define HEARTH_FN HEARTH_INLINE
#define HEARTH_KIND(T, which) class T, typename only_if<kind<T>::which != 0>::type = 0
#define HEARTH_ANY(T) class T
#define HEARTH_REAL(T) HEARTH_KIND(T, real)
#define HEARTH_REAL32(T) HEARTH_KIND(T, real32)
#define HEARTH_REAL64(T) HEARTH_KIND(T, real64)
#define HEARTH_INT(T) HEARTH_KIND(T, integer)
#define HEARTH_INF INFINITY
#define HEARTH_NAN NAN

template <HEARTH_ANY(T)>
HEARTH_FN T where(bool mask, T a, T b) {
  return mask ? a : b;
}

template <HEARTH_REAL(T)>
HEARTH_FN T abs(T x) {
  return metal::fabs(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T sqrt(T x) {
  return metal::sqrt(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T floor(T x) {
  return metal::floor(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T ceil(T x) {
  return metal::ceil(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T rint(T x) {
  return metal::rint(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T copysign(T x, T sign_of) {
  return metal::copysign(x, sign_of);
}
template <HEARTH_REAL(T)>
HEARTH_FN T fma(T a, T b, T c) {
  return metal::fma(a, b, c);
}
template <HEARTH_REAL(T)>
HEARTH_FN T at_most(T limit, T x) {
  return limit < x ? limit : x;
}
template <HEARTH_REAL(T)>
HEARTH_FN T at_least(T limit, T x) {
  return limit > x ? limit : x;
}

HEARTH_FN uint bits(float x) { return as_type<uint>(x); }
HEARTH_FN float real_of(uint word) { return as_type<float>(word); }
HEARTH_FN float to_real(uint word) { return float(int(word)); }
template <int count>
HEARTH_FN uint shift_left(uint word) {
  return word << count;
}
template <int count>
HEARTH_FN uint shift_right(uint word) {
  return uint(int(word) >> count);
}
HEARTH_FN uint same_bits(uint, uint value) { return value; }

// Of integral n: adding 1.5 2^23 leaves n in the last bits. No n, NaN included, is out of range.
HEARTH_FN uint to_word(float n) { return bits(n + 12582912.0f) - bits(12582912.0f); }
HEARTH_FN float power_of_word(uint n) { return real_of(shift_left<23>(n + 127u)); }

#if HEARTH_HAS_F64
HEARTH_FN ulong bits(double x) { return as_type<ulong>(x); }
HEARTH_FN double real_of(ulong word) { return as_type<double>(word); }
HEARTH_FN double to_real(ulong word) { return double(long(word)); }
template <int count>
HEARTH_FN ulong shift_left(ulong word) {
  return word << count;
}
template <int count>
HEARTH_FN ulong shift_right(ulong word) {
  return ulong(long(word) >> count);
}
HEARTH_FN ulong same_bits(ulong, ulong value) { return value; }
HEARTH_FN ulong to_word(double n) {
  return bits(n + 6755399441055744.0) - bits(6755399441055744.0);
}
HEARTH_FN double power_of_word(ulong n) { return real_of(shift_left<52>(n + 1023u)); }
HEARTH_FN double pow_platform(double x, double y) { return metal::pow(x, y); }
#endif

// In two halves, each a normal power; only the second product may round.
template <HEARTH_REAL(T)>
HEARTH_FN T scale(T x, T n) {
  auto word = to_word(n);
  auto first = shift_right<1>(word);
  return x * power_of_word(first) * power_of_word(word - first);
}
template <HEARTH_REAL(T)>
HEARTH_FN T power_of_two(T n) {
  return power_of_word(to_word(n));
}

// Defined in far.h, with the formulas that they fall back on.
inline float sin_beyond(float y, float x, float limit);
inline float cos_beyond(float y, float x, float limit);
inline float remainder_beyond(float r, float x, float y, float q);
#if HEARTH_HAS_F64
inline double sin_beyond(double y, double x, double limit);
inline double cos_beyond(double y, double x, double limit);
inline double remainder_beyond(double r, double x, double y, double q);
#endif

}  // namespace formula

#include "kernels/formulas/integers.h"
namespace formula {
#if HEARTH_HAS_APPROXIMATIONS
#include "kernels/formulas/approximate.h"
#endif
#include "kernels/formulas/scalar_ops.h"
}  // namespace formula
#include "kernels/formulas/far.h"

#undef HEARTH_FN
#undef HEARTH_KIND
#undef HEARTH_ANY
#undef HEARTH_REAL
#undef HEARTH_REAL32
#undef HEARTH_REAL64
#undef HEARTH_INT
#undef HEARTH_INF
#undef HEARTH_NAN
