// Short vectors: float4, uint3, vec<half, 4>. Sizes and alignments are Metal's (three elements take
// the room of four). Elements are x y z w, or [i].
#pragma once

#include "kernels/prelude/half.h"

namespace metal {

template <class T, int N>
struct vec;

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
  union {
    struct {
      T x, y;
    };
    T element[2];
  };
  vec() = default;
  explicit HEARTH_INLINE vec(T all) : x(all), y(all) {}
  HEARTH_INLINE vec(T first, T second) : x(first), y(second) {}
  template <class U>
  explicit HEARTH_INLINE vec(vec<U, 2> other) : x(T(other.x)), y(T(other.y)) {}
  HEARTH_INLINE T& operator[](int i) { return element[i]; }
  HEARTH_INLINE const T& operator[](int i) const { return element[i]; }
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
  union {
    struct {
      T x, y, z;
    };
    T element[3];
  };
  vec() = default;
  explicit HEARTH_INLINE vec(T all) : x(all), y(all), z(all) {}
  HEARTH_INLINE vec(T first, T second, T third) : x(first), y(second), z(third) {}
  template <class U>
  explicit HEARTH_INLINE vec(vec<U, 3> other) : x(T(other.x)), y(T(other.y)), z(T(other.z)) {}
  HEARTH_INLINE T& operator[](int i) { return element[i]; }
  HEARTH_INLINE const T& operator[](int i) const { return element[i]; }
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  union {
    struct {
      T x, y, z, w;
    };
    T element[4];
  };
  vec() = default;
  explicit HEARTH_INLINE vec(T all) : x(all), y(all), z(all), w(all) {}
  HEARTH_INLINE vec(T first, T second, T third, T fourth)
      : x(first), y(second), z(third), w(fourth) {}
  template <class U>
  explicit HEARTH_INLINE vec(vec<U, 4> other)
      : x(T(other.x)), y(T(other.y)), z(T(other.z)), w(T(other.w)) {}
  HEARTH_INLINE T& operator[](int i) { return element[i]; }
  HEARTH_INLINE const T& operator[](int i) const { return element[i]; }
};

#define HEARTH_VEC_OPERATOR(op)                                                         \
  template <class T, int N>                                                             \
  HEARTH_INLINE vec<T, N> operator op(vec<T, N> a, vec<T, N> b) {                       \
    for (int i = 0; i < N; ++i) a[i] = T(a[i] op b[i]);                                 \
    return a;                                                                           \
  }                                                                                     \
  template <class T, int N>                                                             \
  HEARTH_INLINE vec<T, N> operator op(vec<T, N> a, typename identity<T>::type b) {      \
    return a op vec<T, N>(b);                                                           \
  }                                                                                     \
  template <class T, int N>                                                             \
  HEARTH_INLINE vec<T, N> operator op(typename identity<T>::type a, vec<T, N> b) {      \
    return vec<T, N>(a) op b;                                                           \
  }                                                                                     \
  template <class T, int N>                                                             \
  HEARTH_INLINE vec<T, N>& operator op##=(vec<T, N>& a, vec<T, N> b) {                  \
    return a = a op b;                                                                  \
  }                                                                                     \
  template <class T, int N>                                                             \
  HEARTH_INLINE vec<T, N>& operator op##=(vec<T, N>& a, typename identity<T>::type b) { \
    return a = a op vec<T, N>(b);                                                       \
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
#undef HEARTH_VEC_OPERATOR

template <class T, int N>
HEARTH_INLINE vec<T, N> operator-(vec<T, N> a) {
  for (int i = 0; i < N; ++i) a[i] = -a[i];
  return a;
}

template <class T, int N>
HEARTH_INLINE T dot(vec<T, N> a, vec<T, N> b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < N; ++i) sum = sum + a[i] * b[i];
  return sum;
}

#include "kernels/prelude/vec_names.h"

}  // namespace metal
