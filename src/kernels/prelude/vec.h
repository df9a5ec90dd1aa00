// Short vectors: float4, uint3, vec<half, 4>. Sizes and alignments are Metal's (three elements take
// the room of four). Elements are x y z w, or [i].
#pragma once

#include "kernels/prelude/half.h"

namespace metal {

template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

// Elements of a vector by their numbers, to read and to write: what texts of Metal's own have as
// swizzles, v.yx and v.yx = w.
template <class V, int... kLanes>
struct vec_lanes;
#define HEARTH_SWIZZLES(V)                                                 \
  typedef T element_type;                                                  \
  template <int... kLanes>                                                 \
  HEARTH_INLINE constexpr vec<T, int(sizeof...(kLanes))> swizzle() const { \
    return vec<T, int(sizeof...(kLanes))>(element[kLanes]...);             \
  }                                                                        \
  template <int... kLanes>                                                 \
  HEARTH_INLINE constexpr vec_lanes<V, kLanes...> lanes() {                \
    return {*this};                                                        \
  }

// One number fills all elements; a vector of another type is converted by its name.
#define HEARTH_VEC_COMMON(N)                                                              \
  vec() = default;                                                                        \
  template <class S, class = enable_if_t<is_arithmetic_v<S>>>                             \
  HEARTH_INLINE constexpr vec(S all) : vec(T(all), every_element()) {}                    \
  template <class U>                                                                      \
  explicit HEARTH_INLINE constexpr vec(vec<U, N> other) : vec(other, converted()) {}      \
  template <class U, class = enable_if_t<!is_same_v<T, U>>>                               \
  explicit HEARTH_INLINE constexpr vec(packed_vec<U, N> other) : vec(vec<U, N>(other)) {} \
  HEARTH_SWIZZLES(vec)                                                                    \
  HEARTH_INLINE constexpr T& operator[](int i) { return element[i]; }                     \
  HEARTH_INLINE constexpr const T& operator[](int i) const { return element[i]; }

struct every_element {};
struct converted {};

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
  union {
    T element[2];
    struct {
      T x, y;
    };
    struct {
      T r, g;
    };
  };
  HEARTH_INLINE constexpr vec(T first, T second) : element{first, second} {}
  HEARTH_VEC_COMMON(2)

 private:
  HEARTH_INLINE constexpr vec(T all, every_element) : element{all, all} {}
  template <class U>
  HEARTH_INLINE constexpr vec(vec<U, 2> other, converted) : element{T(other[0]), T(other[1])} {}
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
  union {
    T element[3];
    struct {
      T x, y, z;
    };
    struct {
      T r, g, b;
    };
  };
  HEARTH_INLINE constexpr vec(T first, T second, T third) : element{first, second, third} {}
  HEARTH_INLINE constexpr vec(vec<T, 2> first, T second) : element{first[0], first[1], second} {}
  HEARTH_INLINE constexpr vec(T first, vec<T, 2> second) : element{first, second[0], second[1]} {}
  HEARTH_VEC_COMMON(3)

 private:
  HEARTH_INLINE constexpr vec(T all, every_element) : element{all, all, all} {}
  template <class U>
  HEARTH_INLINE constexpr vec(vec<U, 3> other, converted)
      : element{T(other[0]), T(other[1]), T(other[2])} {}
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  union {
    T element[4];
    struct {
      T x, y, z, w;
    };
    struct {
      T r, g, b, a;
    };
  };
  HEARTH_INLINE constexpr vec(T first, T second, T third, T fourth)
      : element{first, second, third, fourth} {}
  HEARTH_INLINE constexpr vec(vec<T, 2> first, vec<T, 2> second)
      : element{first[0], first[1], second[0], second[1]} {}
  HEARTH_INLINE constexpr vec(vec<T, 2> first, T second, T third)
      : element{first[0], first[1], second, third} {}
  HEARTH_INLINE constexpr vec(vec<T, 3> first, T second)
      : element{first[0], first[1], first[2], second} {}
  HEARTH_INLINE constexpr vec(T first, vec<T, 3> second)
      : element{first, second[0], second[1], second[2]} {}
  // Templates, so that no list in braces is one of two.
  template <class V, class = enable_if_t<is_same_v<V, vec<T, 2>>>>
  HEARTH_INLINE constexpr vec(T first, V second, T third)
      : element{first, second[0], second[1], third} {}
  template <class V, class = enable_if_t<is_same_v<V, vec<T, 2>>>>
  HEARTH_INLINE constexpr vec(T first, T second, V third)
      : element{first, second, third[0], third[1]} {}
  HEARTH_VEC_COMMON(4)

 private:
  HEARTH_INLINE constexpr vec(T all, every_element) : element{all, all, all, all} {}
  template <class U>
  HEARTH_INLINE constexpr vec(vec<U, 4> other, converted)
      : element{T(other[0]), T(other[1]), T(other[2]), T(other[3])} {}
};
#undef HEARTH_VEC_COMMON

// Elements one after the other, aligned as one of them: packed_float3 takes 12 bytes.
#define HEARTH_PACKED_VEC(N, ...)                                                          \
  template <class T>                                                                       \
  struct packed_vec<T, N> {                                                                \
    union {                                                                                \
      T element[N];                                                                        \
      struct {                                                                             \
        T __VA_ARGS__;                                                                     \
      };                                                                                   \
    };                                                                                     \
    packed_vec() = default;                                                                \
    template <class... S, class = enable_if_t<sizeof...(S) == N - 1>>                      \
    HEARTH_INLINE constexpr packed_vec(T first, S... rest) : element{first, T(rest)...} {} \
    HEARTH_INLINE constexpr packed_vec(vec<T, N> from) {                                   \
      for (int i = 0; i < N; ++i) element[i] = from[i];                                    \
    }                                                                                      \
    HEARTH_INLINE constexpr operator vec<T, N>() const {                                   \
      vec<T, N> all(0);                                                                    \
      for (int i = 0; i < N; ++i) all[i] = element[i];                                     \
      return all;                                                                          \
    }                                                                                      \
    HEARTH_SWIZZLES(packed_vec)                                                            \
    HEARTH_INLINE constexpr T& operator[](int i) { return element[i]; }                    \
    HEARTH_INLINE constexpr const T& operator[](int i) const { return element[i]; }        \
  };
HEARTH_PACKED_VEC(2, x, y)
HEARTH_PACKED_VEC(3, x, y, z)
HEARTH_PACKED_VEC(4, x, y, z, w)
#undef HEARTH_PACKED_VEC

#define HEARTH_VEC_OPERATOR(op)                                                                   \
  template <class T, int N>                                                                       \
  HEARTH_INLINE constexpr vec<T, N> operator op(vec<T, N> a, vec<T, N> b) {                       \
    for (int i = 0; i < N; ++i) a[i] = T(a[i] op b[i]);                                           \
    return a;                                                                                     \
  }                                                                                               \
  template <class T, int N>                                                                       \
  HEARTH_INLINE constexpr vec<T, N> operator op(vec<T, N> a, typename identity<T>::type b) {      \
    return a op vec<T, N>(b);                                                                     \
  }                                                                                               \
  template <class T, int N>                                                                       \
  HEARTH_INLINE constexpr vec<T, N> operator op(typename identity<T>::type a, vec<T, N> b) {      \
    return vec<T, N>(a) op b;                                                                     \
  }                                                                                               \
  template <class T, int N>                                                                       \
  HEARTH_INLINE constexpr vec<T, N>& operator op##=(vec<T, N>& a, vec<T, N> b) {                  \
    return a = a op b;                                                                            \
  }                                                                                               \
  template <class T, int N>                                                                       \
  HEARTH_INLINE constexpr vec<T, N>& operator op##=(vec<T, N>& a, typename identity<T>::type b) { \
    return a = a op vec<T, N>(b);                                                                 \
  }
HEARTH_VEC_OPERATOR(+)
HEARTH_VEC_OPERATOR(-)
HEARTH_VEC_OPERATOR(*)
HEARTH_VEC_OPERATOR(/)
HEARTH_VEC_OPERATOR(&)
HEARTH_VEC_OPERATOR(|)
HEARTH_VEC_OPERATOR(^)
HEARTH_VEC_OPERATOR(<<)
HEARTH_VEC_OPERATOR(>>)
HEARTH_VEC_OPERATOR(%)
#undef HEARTH_VEC_OPERATOR

template <class V, int... kLanes>
struct vec_lanes {
  V& to;
  template <class W>
  HEARTH_INLINE constexpr void operator=(const W& from) {
    const vec<typename V::element_type, int(sizeof...(kLanes))> all(from);
    int i = 0;
    ((to[kLanes] = all[i++]), ...);
  }
#define HEARTH_LANES_OPERATOR(op)                            \
  template <class W>                                         \
  HEARTH_INLINE constexpr void operator op##=(const W& by) { \
    *this = to.template swizzle<kLanes...>() op by;          \
  }
  HEARTH_LANES_OPERATOR(+)
  HEARTH_LANES_OPERATOR(-)
  HEARTH_LANES_OPERATOR(*)
  HEARTH_LANES_OPERATOR(/)
  HEARTH_LANES_OPERATOR(&)
  HEARTH_LANES_OPERATOR(|)
  HEARTH_LANES_OPERATOR(^)
#undef HEARTH_LANES_OPERATOR
};

#define HEARTH_VEC_COMPARISON(op)                                                               \
  template <class T, int N>                                                                     \
  HEARTH_INLINE constexpr vec<bool, N> operator op(vec<T, N> a, vec<T, N> b) {                  \
    vec<bool, N> result(false);                                                                 \
    for (int i = 0; i < N; ++i) result[i] = a[i] op b[i];                                       \
    return result;                                                                              \
  }                                                                                             \
  template <class T, int N>                                                                     \
  HEARTH_INLINE constexpr vec<bool, N> operator op(vec<T, N> a, typename identity<T>::type b) { \
    return a op vec<T, N>(b);                                                                   \
  }
HEARTH_VEC_COMPARISON(==)
HEARTH_VEC_COMPARISON(!=)
HEARTH_VEC_COMPARISON(<)
HEARTH_VEC_COMPARISON(<=)
HEARTH_VEC_COMPARISON(>)
HEARTH_VEC_COMPARISON(>=)
#undef HEARTH_VEC_COMPARISON

template <int N>
HEARTH_INLINE constexpr bool any(vec<bool, N> values) {
  bool result = false;
  for (int i = 0; i < N; ++i) result = result || values[i];
  return result;
}
template <int N>
HEARTH_INLINE constexpr bool all(vec<bool, N> values) {
  bool result = true;
  for (int i = 0; i < N; ++i) result = result && values[i];
  return result;
}

template <class T, int N>
HEARTH_INLINE constexpr vec<T, N> operator-(vec<T, N> a) {
  for (int i = 0; i < N; ++i) a[i] = -a[i];
  return a;
}

template <class T, int N>
HEARTH_INLINE constexpr T dot(vec<T, N> a, vec<T, N> b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < N; ++i) sum = sum + a[i] * b[i];
  return sum;
}

#include "kernels/prelude/vec_names.h"
#define HEARTH_PACKED_NAMES(T)            \
  typedef packed_vec<T, 2> packed_##T##2; \
  typedef packed_vec<T, 3> packed_##T##3; \
  typedef packed_vec<T, 4> packed_##T##4;
HEARTH_PACKED_NAMES(float)
HEARTH_PACKED_NAMES(half)
HEARTH_PACKED_NAMES(bfloat)
HEARTH_PACKED_NAMES(char)
HEARTH_PACKED_NAMES(uchar)
HEARTH_PACKED_NAMES(short)
HEARTH_PACKED_NAMES(ushort)
HEARTH_PACKED_NAMES(int)
HEARTH_PACKED_NAMES(uint)
#undef HEARTH_PACKED_NAMES

// Columns, as in Metal: m[column][row].
template <class T, int kColumns, int kRows>
struct matrix {
  vec<T, kRows> columns[kColumns];
  matrix() = default;
  template <class... V, class = enable_if_t<sizeof...(V) == kColumns - 1>>
  HEARTH_INLINE constexpr matrix(vec<T, kRows> first, V... rest) : columns{first, rest...} {}
  explicit HEARTH_INLINE constexpr matrix(T diagonal) : columns{} {
    for (int c = 0; c < kColumns; ++c) {
      for (int r = 0; r < kRows; ++r) columns[c][r] = r == c ? diagonal : T(0);
    }
  }
  template <class... S, class = enable_if_t<sizeof...(S) == kColumns * kRows - 1>>
  HEARTH_INLINE constexpr matrix(T first, S... rest) : columns{} {
    const T all[] = {first, T(rest)...};
    for (int i = 0; i < kColumns * kRows; ++i) columns[i / kRows][i % kRows] = all[i];
  }
  template <class U>
  explicit HEARTH_INLINE constexpr matrix(matrix<U, kColumns, kRows> other) : columns{} {
    for (int i = 0; i < kColumns; ++i) columns[i] = vec<T, kRows>(other[i]);
  }
  HEARTH_INLINE constexpr vec<T, kRows>& operator[](int i) { return columns[i]; }
  HEARTH_INLINE constexpr const vec<T, kRows>& operator[](int i) const { return columns[i]; }
};
template <class T, int C, int R>
HEARTH_INLINE constexpr vec<T, R> operator*(matrix<T, C, R> m, vec<T, C> v) {
  vec<T, R> sum = m[0] * v[0];
  for (int i = 1; i < C; ++i) sum += m[i] * v[i];
  return sum;
}
template <class T, int C, int R>
HEARTH_INLINE constexpr vec<T, C> operator*(vec<T, R> v, matrix<T, C, R> m) {
  vec<T, C> result(0);
  for (int i = 0; i < C; ++i) result[i] = dot(v, m[i]);
  return result;
}
template <class T, int C, int R>
HEARTH_INLINE constexpr matrix<T, C, R> operator*(typename identity<T>::type factor,
                                                  matrix<T, C, R> m) {
  for (int i = 0; i < C; ++i) m[i] = m[i] * factor;
  return m;
}
template <class T, int C, int R>
HEARTH_INLINE constexpr matrix<T, C, R> operator*(matrix<T, C, R> m,
                                                  typename identity<T>::type factor) {
  return factor * m;
}
#define HEARTH_MATRIX_NAMES(T)    \
  typedef matrix<T, 2, 2> T##2x2; \
  typedef matrix<T, 2, 4> T##2x4; \
  typedef matrix<T, 4, 2> T##4x2; \
  typedef matrix<T, 3, 3> T##3x3; \
  typedef matrix<T, 4, 4> T##4x4;
HEARTH_MATRIX_NAMES(float)
HEARTH_MATRIX_NAMES(half)
HEARTH_MATRIX_NAMES(bfloat)
#undef HEARTH_MATRIX_NAMES

// How many elements a type has.
template <class T>
struct vec_elements : integral_constant<uint, 1> {};
template <class T, int N>
struct vec_elements<vec<T, N>> : integral_constant<uint, uint(N)> {};

template <class T, size_t kCount>
struct array {
  T element[kCount];
  HEARTH_INLINE constexpr size_t size() const { return kCount; }
  HEARTH_INLINE constexpr T& operator[](size_t i) { return element[i]; }
  HEARTH_INLINE constexpr const T& operator[](size_t i) const { return element[i]; }
};

}  // namespace metal
