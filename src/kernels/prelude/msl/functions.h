// Functions of Metal's library that other people's texts call and kernels of the dialect do not:
// integers, comparisons, geometry, matrices, packed colours. Included in namespace metal, after
// the target's prelude.

#define HEARTH_INTEGER template <class T, class = enable_if_t<is_integral_v<T>>>
// math.h has the 32-bit ones.
#define HEARTH_OTHER_INTEGER \
  template <class T, class = enable_if_t<is_integral_v<T> && sizeof(T) != 4>>
template <class T>
constexpr uint bits_of = 8u * uint(sizeof(T));

HEARTH_INTEGER HEARTH_INLINE make_unsigned_t<T> absdiff(T x, T y) {
  using U = make_unsigned_t<T>;
  return x < y ? U(U(y) - U(x)) : U(U(x) - U(y));
}
HEARTH_INTEGER HEARTH_INLINE T addsat(T x, T y) {
  const T low = numeric_limits<T>::lowest(), high = numeric_limits<T>::max();
  if (y > T(0)) return x > T(high - y) ? high : T(x + y);
  return x < T(low - y) ? low : T(x + y);
}
HEARTH_INTEGER HEARTH_INLINE T subsat(T x, T y) {
  const T low = numeric_limits<T>::lowest(), high = numeric_limits<T>::max();
  if (y > T(0)) return x < T(low + y) ? low : T(x - y);
  return x > T(high + y) ? high : T(x - y);
}
// Half of the sum, rounded down, and rounded up.
HEARTH_INTEGER HEARTH_INLINE T hadd(T x, T y) { return T((x >> 1) + (y >> 1) + (x & y & 1)); }
HEARTH_INTEGER HEARTH_INLINE T rhadd(T x, T y) { return T((x >> 1) + (y >> 1) + ((x | y) & 1)); }
HEARTH_INTEGER HEARTH_INLINE T mul24(T x, T y) { return T(x * y); }
HEARTH_INTEGER HEARTH_INLINE T mad24(T x, T y, T z) { return T(x * y + z); }
HEARTH_INTEGER HEARTH_INLINE T madhi(T x, T y, T z) { return T(mulhi(x, y) + z); }
HEARTH_INTEGER HEARTH_INLINE T abs(T x) { return x < T(0) ? T(T(0) - x) : x; }

#define HEARTH_COUNT_BITS(name, of_wide)                                                          \
  template <class T,                                                                              \
            class = enable_if_t<is_integral_v<T> && !is_same_v<T, uint> && !is_same_v<T, ulong>>> \
  HEARTH_INLINE T name(T x) {                                                                     \
    const ulong wide = ulong(make_unsigned_t<T>(x));                                              \
    return T(of_wide);                                                                            \
  }
HEARTH_COUNT_BITS(popcount, popcount(wide))
HEARTH_COUNT_BITS(clz, clz(wide) - (64u - bits_of<T>))
HEARTH_COUNT_BITS(ctz, wide == 0ul ? bits_of<T> : uint(ctz(wide)))
#undef HEARTH_COUNT_BITS
HEARTH_OTHER_INTEGER HEARTH_INLINE T rotate(T x, typename identity<T>::type count) {
  const make_unsigned_t<T> u = make_unsigned_t<T>(x);
  const uint n = uint(count) & (bits_of<T> - 1u);
  return n == 0u ? x : T((u << n) | (u >> (bits_of<T> - n)));
}
HEARTH_OTHER_INTEGER HEARTH_INLINE T reverse_bits(T x) {
  const ulong u = make_unsigned_t<T>(x);
  const ulong all = (ulong(reverse_bits(uint(u))) << 32) | reverse_bits(uint(u >> 32));
  return T(all >> (64u - bits_of<T>));
}
HEARTH_OTHER_INTEGER HEARTH_INLINE T extract_bits(T x, uint offset, uint bits) {
  return bits == 0u
             ? T(0)
             : T(T(make_unsigned_t<T>(x) << (bits_of<T> - bits - offset)) >> (bits_of<T> - bits));
}
HEARTH_OTHER_INTEGER HEARTH_INLINE T insert_bits(T base, typename identity<T>::type x, uint offset,
                                                 uint bits) {
  const ulong mask = bits == 0u ? 0ul : (~0ul >> (64u - bits)) << offset;
  return T((ulong(base) & ~mask) | ((ulong(x) << offset) & mask));
}
#undef HEARTH_OTHER_INTEGER
#undef HEARTH_INTEGER

// The least, the most and the middle one of three.
#define HEARTH_OF_THREE(least, most, middle, min, max) \
  template <class T>                                   \
  HEARTH_INLINE T least(T x, T y, T z) {               \
    return min(x, min(y, z));                          \
  }                                                    \
  template <class T>                                   \
  HEARTH_INLINE T most(T x, T y, T z) {                \
    return max(x, max(y, z));                          \
  }                                                    \
  template <class T>                                   \
  HEARTH_INLINE T middle(T x, T y, T z) {              \
    return max(min(x, y), min(max(x, y), z));          \
  }
HEARTH_OF_THREE(min3, max3, median3, min, max)
HEARTH_OF_THREE(fmin3, fmax3, fmedian3, fmin, fmax)
#undef HEARTH_OF_THREE
HEARTH_INLINE float exp10(float x) { return pow(10.0f, x); }
// The nearest quarter of a turn is taken off first, exactly.
HEARTH_INLINE float sinpi(float x) {
  const float quarters = rint(2.0f * x);
  const float rest = M_PI_F * (x - 0.5f * quarters);
  const int turn = int(quarters - 4.0f * floor(0.25f * quarters));
  const float value = (turn & 1) != 0 ? cos(rest) : sin(rest);
  return turn >= 2 ? -value : value;
}
HEARTH_INLINE float cospi(float x) {
  const float quarters = rint(2.0f * x);
  const float rest = M_PI_F * (x - 0.5f * quarters);
  const int turn = int(quarters - 4.0f * floor(0.25f * quarters));
  const float value = (turn & 1) != 0 ? -sin(rest) : cos(rest);
  return turn >= 2 ? -value : value;
}
HEARTH_INLINE float tanpi(float x) { return sinpi(x) / cospi(x); }
HEARTH_INLINE int ilogb(float x) { return HEARTH_LIBM(ilogbf)(x); }
HEARTH_INLINE float nextafter(float x, float y) { return HEARTH_LIBM(nextafterf)(x, y); }
HEARTH_INLINE float frexp(float x, int& exponent) { return HEARTH_LIBM(frexpf)(x, &exponent); }
HEARTH_INLINE float modf(float x, float& whole) {
  whole = trunc(x);
  return isinf(x) ? copysign(0.0f, x) : copysign(x - whole, x);
}
#define HEARTH_16_BIT_TEST(name)                             \
  HEARTH_INLINE bool name(half x) { return name(float(x)); } \
  HEARTH_INLINE bool name(bfloat x) { return name(float(x)); }
HEARTH_16_BIT_TEST(isnan)
HEARTH_16_BIT_TEST(isinf)
HEARTH_16_BIT_TEST(isfinite)
#undef HEARTH_16_BIT_TEST
HEARTH_INLINE bool isnormal(float x) { return fabs(x) >= FLT_MIN && isfinite(x); }
HEARTH_INLINE bool isordered(float x, float y) { return !isnan(x) && !isnan(y); }
HEARTH_INLINE bool isunordered(float x, float y) { return !isordered(x, y); }
HEARTH_INLINE bool any(bool value) { return value; }
HEARTH_INLINE bool all(bool value) { return value; }
#define HEARTH_BY_ELEMENT(R, name)                       \
  template <class T, int N>                              \
  HEARTH_INLINE vec<R, N> name(vec<T, N> x) {            \
    vec<R, N> made;                                      \
    for (int i = 0; i < N; ++i) made[i] = R(name(x[i])); \
    return made;                                         \
  }
HEARTH_BY_ELEMENT(T, exp10)
HEARTH_BY_ELEMENT(T, sinpi)
HEARTH_BY_ELEMENT(T, cospi)
HEARTH_BY_ELEMENT(T, tanpi)
HEARTH_BY_ELEMENT(T, popcount)
HEARTH_BY_ELEMENT(T, clz)
HEARTH_BY_ELEMENT(T, ctz)
HEARTH_BY_ELEMENT(T, reverse_bits)
HEARTH_BY_ELEMENT(bool, isnan)
HEARTH_BY_ELEMENT(bool, isinf)
HEARTH_BY_ELEMENT(bool, isfinite)
HEARTH_BY_ELEMENT(bool, isnormal)
HEARTH_BY_ELEMENT(bool, signbit)
#undef HEARTH_BY_ELEMENT
template <class N, class = enable_if_t<is_integral_v<N>>>
HEARTH_INLINE half pow(half x, N y) {
  return pow(x, half(y));
}
template <class N, class = enable_if_t<is_integral_v<N>>>
HEARTH_INLINE bfloat pow(bfloat x, N y) {
  return pow(x, bfloat(y));
}
template <class T, int N>
HEARTH_INLINE vec<T, N> ldexp(vec<T, N> x, vec<int, N> exponent) {
  for (int i = 0; i < N; ++i) x[i] = T(ldexp(float(x[i]), exponent[i]));
  return x;
}
template <class T, int N>
HEARTH_INLINE vec<T, N> modf(vec<T, N> x, vec<T, N>& whole) {
  whole = trunc(x);
  return x - whole;
}
template <class T, int N>
HEARTH_INLINE vec<T, N> frexp(vec<T, N> x, vec<int, N>& exponent) {
  for (int i = 0; i < N; ++i) x[i] = T(frexp(float(x[i]), exponent[i]));
  return x;
}
template <class T, int N>
HEARTH_INLINE vec<T, N> sincos(vec<T, N> x, vec<T, N>& cosine) {
  cosine = cos(x);
  return sin(x);
}

template <class T, int N>
HEARTH_INLINE vec<T, N> extract_bits(vec<T, N> x, uint offset, uint bits) {
  for (int i = 0; i < N; ++i) x[i] = extract_bits(x[i], offset, bits);
  return x;
}
template <class T, int N>
HEARTH_INLINE vec<T, N> insert_bits(vec<T, N> base, vec<T, N> x, uint offset, uint bits) {
  for (int i = 0; i < N; ++i) base[i] = T(insert_bits(base[i], x[i], offset, bits));
  return base;
}

// Geometry.
template <class T>
HEARTH_INLINE vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class T, int N>
HEARTH_INLINE T length_squared(vec<T, N> x) {
  return dot(x, x);
}
template <class T, int N>
HEARTH_INLINE T distance(vec<T, N> a, vec<T, N> b) {
  return length(a - b);
}
template <class T, int N>
HEARTH_INLINE T distance_squared(vec<T, N> a, vec<T, N> b) {
  return length_squared(a - b);
}
template <class T, int N>
HEARTH_INLINE vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> reference) {
  return dot(reference, i) < T(0) ? n : -n;
}
template <class T, int N>
HEARTH_INLINE vec<T, N> reflect(vec<T, N> i, vec<T, N> n) {
  return i - n * (T(2) * dot(n, i));
}
template <class T, int N>
HEARTH_INLINE vec<T, N> refract(vec<T, N> i, vec<T, N> n, typename identity<T>::type eta) {
  const T angle = dot(n, i);
  const T k = T(1) - eta * eta * (T(1) - angle * angle);
  return k < T(0) ? vec<T, N>(T(0)) : i * eta - n * (eta * angle + sqrt(k));
}
template <class T, int N>
HEARTH_INLINE vec<T, N> fma(vec<T, N> x, typename identity<T>::type y, vec<T, N> z) {
  return fma(x, vec<T, N>(y), z);
}
template <class T, int N>
HEARTH_INLINE vec<T, N> select(vec<T, N> a, typename identity<T>::type b, vec<bool, N> condition) {
  return select(a, vec<T, N>(b), condition);
}
namespace fast {
using metal::distance;
using metal::length;
using metal::normalize;
using metal::sincos;
}  // namespace fast
namespace precise {
using metal::distance;
using metal::length;
using metal::normalize;
using metal::sincos;
}  // namespace precise

// Matrices.
template <class T, int C, int R>
HEARTH_INLINE matrix<T, R, C> transpose(matrix<T, C, R> m) {
  matrix<T, R, C> turned;
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < R; ++r) turned[r][c] = m[c][r];
  }
  return turned;
}
template <class T>
HEARTH_INLINE T determinant(matrix<T, 2, 2> m) {
  return m[0][0] * m[1][1] - m[1][0] * m[0][1];
}
template <class T>
HEARTH_INLINE T determinant(matrix<T, 3, 3> m) {
  return dot(m[0], cross(m[1], m[2]));
}
template <class T>
HEARTH_INLINE T determinant(matrix<T, 4, 4> m) {
  T sum = T(0);
  for (int c = 0; c < 4; ++c) {
    matrix<T, 3, 3> minor;
    for (int k = 0; k < 3; ++k) {
      for (int r = 0; r < 3; ++r) minor[k][r] = m[k < c ? k : k + 1][r + 1];
    }
    const T part = m[c][0] * determinant(minor);
    sum = c % 2 == 0 ? T(sum + part) : T(sum - part);
  }
  return sum;
}

// Colours: 8 or 16 bits for a number from 0 or -1 to 1.
#define HEARTH_PACKING(name, N, Whole, Part, kLow, kScale)                               \
  HEARTH_INLINE Whole pack_float_to_##name(vec<float, N> x) {                            \
    vec<Part, N> parts;                                                                  \
    for (int i = 0; i < N; ++i) parts[i] = Part(rint(clamp(x[i], kLow, 1.0f) * kScale)); \
    return as_type<Whole>(parts);                                                        \
  }                                                                                      \
  HEARTH_INLINE Whole pack_half_to_##name(vec<half, N> x) {                              \
    return pack_float_to_##name(vec<float, N>(x));                                       \
  }                                                                                      \
  HEARTH_INLINE vec<float, N> unpack_##name##_to_float(Whole x) {                        \
    const vec<Part, N> parts = as_type<vec<Part, N>>(x);                                 \
    vec<float, N> made;                                                                  \
    for (int i = 0; i < N; ++i) made[i] = max(float(parts[i]) / kScale, kLow);           \
    return made;                                                                         \
  }                                                                                      \
  HEARTH_INLINE vec<half, N> unpack_##name##_to_half(Whole x) {                          \
    return vec<half, N>(unpack_##name##_to_float(x));                                    \
  }
HEARTH_PACKING(unorm4x8, 4, uint, uchar, 0.0f, 255.0f)
HEARTH_PACKING(snorm4x8, 4, uint, char, -1.0f, 127.0f)
HEARTH_PACKING(unorm2x16, 2, uint, ushort, 0.0f, 65535.0f)
HEARTH_PACKING(snorm2x16, 2, uint, short, -1.0f, 32767.0f)
#undef HEARTH_PACKING
