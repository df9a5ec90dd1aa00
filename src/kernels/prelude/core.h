// What the targets without address spaces (cuda, host) share of the dialect: names of scalar types,
// bit casts, limits, keywords of memory and order.
//
// The dialect is a subset of the Metal Shading Language; its names live in namespace metal, and a
// kernel's text is put into a namespace inside it, so that they hide what the compiler declares
// globally. The including target defines
//   HEARTH_INLINE        what stands before a function
//   HEARTH_LIBM(name)    the platform's function of C's name: HEARTH_LIBM(expf)
//   HEARTH_CLZ(x), HEARTH_CLZL(x), HEARTH_POPCOUNT(x)
//                        the compiler's own, of 32, 64 and 32 bits, x not 0
#pragma once

namespace metal {

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

static_assert(sizeof(long) == 8, "the dialect's long has 64 bits");
static_assert(char(-1) < char(0), "the dialect's char is signed: compile with -fsigned-char");

// The value of type D with the bits of `value`.
template <class D, class S>
HEARTH_INLINE D as_type(S value) {
  static_assert(sizeof(D) == sizeof(S), "as_type: sizes differ");
  return __builtin_bit_cast(D, value);
}

// A parameter of this type takes no part in deduction.
template <class T>
struct identity {
  typedef T type;
};

template <class T>
struct numeric_limits;
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

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
HEARTH_INLINE mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }

enum memory_order { memory_order_relaxed };

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
#define UINT_MAX (metal::numeric_limits<metal::uint>::max())
