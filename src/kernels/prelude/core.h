// What the targets without address spaces (cuda, host) share of the dialect: names of scalar types,
// bit casts, limits, keywords of memory and order.
//
// The dialect is a subset of the Metal Shading Language; its names live in namespace metal, and a
// kernel's text is put into a namespace inside it, so that they hide what the compiler declares
// globally. The including target defines
//   HEARTH_INLINE        what stands before a function
//   HEARTH_LIBM(name)    the platform's function of C's name: HEARTH_LIBM(expf)
//   HEARTH_FAST_EXP2(x)  2^x to about 22 bits
//   HEARTH_CLZ(x), HEARTH_CLZL(x), HEARTH_POPCOUNT(x)
//                        the compiler's own, of 32, 64 and 32 bits, x not 0
//   HEARTH_MULHIL(a, b)  the upper half of the product of two ulong
#pragma once

#include "kernels/prelude/type_traits.h"

#define METAL_FUNC HEARTH_INLINE
#define __METAL_VERSION__ 310
#define __HAVE_BFLOAT__ 1

namespace metal {

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
typedef ulong size_t;
typedef long ptrdiff_t;

static_assert(sizeof(long) == 8, "the dialect's long has 64 bits");
static_assert(char(-1) < char(0), "the dialect's char is signed: compile with -fsigned-char");

// The value of type D with the bits of `value`.
template <class D, class S>
HEARTH_INLINE constexpr D as_type(S value) {
  static_assert(sizeof(D) == sizeof(S), "as_type: sizes differ");
  return __builtin_bit_cast(D, value);
}

// Metal's header has it by this name, which texts specialise for types of their own.
template <class T>
struct _numeric_limits_impl;
template <class T>
struct numeric_limits : _numeric_limits_impl<T> {};
#define HEARTH_LIMITS(T, low, high)                \
  template <>                                      \
  struct numeric_limits<T> {                       \
    static constexpr T min() { return T(low); }    \
    static constexpr T lowest() { return T(low); } \
    static constexpr T max() { return T(high); }   \
  };
HEARTH_LIMITS(char, -128, 127)
HEARTH_LIMITS(uchar, 0, 255)
HEARTH_LIMITS(short, -32768, 32767)
HEARTH_LIMITS(ushort, 0, 65535)
HEARTH_LIMITS(int, -2147483647 - 1, 2147483647)
HEARTH_LIMITS(uint, 0, 4294967295u)
HEARTH_LIMITS(long, -9223372036854775807l - 1, 9223372036854775807l)
HEARTH_LIMITS(ulong, 0, 18446744073709551615ul)
#undef HEARTH_LIMITS

template <>
struct numeric_limits<float> {
  static constexpr float min() { return 1.17549435e-38f; }
  static constexpr float lowest() { return -3.40282347e+38f; }
  static constexpr float max() { return 3.40282347e+38f; }
  static constexpr float epsilon() { return 1.19209290e-7f; }
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000); }
  static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000); }
};
#if HEARTH_HAS_F64
template <>
struct numeric_limits<double> {
  static constexpr double min() { return 2.2250738585072014e-308; }
  static constexpr double lowest() { return -1.7976931348623157e+308; }
  static constexpr double max() { return 1.7976931348623157e+308; }
  static constexpr double epsilon() { return 2.2204460492503131e-16; }
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000); }
};
#endif

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
HEARTH_INLINE mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }

// A value that all threads of a simdgroup share: a hint to Metal's compiler.
template <class T>
using uniform = T;
template <class T>
HEARTH_INLINE constexpr T make_uniform(T value) {
  return value;
}

enum memory_order {
  memory_order_relaxed,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst
};

// Trivial, so that threadgroup arrays and casts of plain memory can have them.
template <class T>
struct atomic {
  T value;
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;

}  // namespace metal

#undef INFINITY
#undef NAN
#undef FLT_MAX
#undef FLT_MIN
#undef FLT_EPSILON
#undef INT_MAX
#undef INT_MIN
#undef UINT_MAX
#define INFINITY (metal::numeric_limits<float>::infinity())
#define NAN (metal::numeric_limits<float>::quiet_NaN())
#define FLT_MAX (metal::numeric_limits<float>::max())
#define FLT_MIN (metal::numeric_limits<float>::min())
#define FLT_EPSILON (metal::numeric_limits<float>::epsilon())
#define INT_MAX (metal::numeric_limits<int>::max())
#define INT_MIN (metal::numeric_limits<int>::min())
#define M_PI_F 3.14159265358979323846f
#define M_PI_4_F 0.785398163397448309616f
#define M_PI_2_F 1.57079632679489661923f
#define M_1_PI_F 0.318309886183790671538f
#define M_2_PI_F 0.636619772367581343076f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.707106781186547524401f
#define M_E_F 2.71828182845904523536f
#define M_LOG10E_F 0.434294481903251827651f
#define M_LN10_F 2.30258509299404568402f
#define M_LN2_F 0.693147180559945309417f
#define M_LOG2E_F 1.44269504088896340736f
#define MAXFLOAT FLT_MAX
#define HUGE_VALF INFINITY
#define UINT_MAX (metal::numeric_limits<metal::uint>::max())
