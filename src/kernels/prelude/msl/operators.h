// Operators and names of vectors and matrices that kernels of the dialect do not use and other
// people's texts do. Included in namespace metal, after the target's prelude.

// Vectors.
template <class T, int N>
HEARTH_INLINE constexpr vec<T, N> operator~(vec<T, N> a) {
  for (int i = 0; i < N; ++i) a[i] = T(~a[i]);
  return a;
}
template <class T, int N>
HEARTH_INLINE constexpr vec<bool, N> operator!(vec<T, N> a) {
  return a == vec<T, N>(T(0));
}
template <class T, int N>
HEARTH_INLINE constexpr vec<T, N> operator+(vec<T, N> a) {
  return a;
}
#define HEARTH_VEC_STEP(op)                                              \
  template <class T, int N>                                              \
  HEARTH_INLINE constexpr vec<T, N>& operator op##op(vec<T, N>& a) {     \
    return a = a op vec<T, N>(T(1));                                     \
  }                                                                      \
  template <class T, int N>                                              \
  HEARTH_INLINE constexpr vec<T, N> operator op##op(vec<T, N>& a, int) { \
    const vec<T, N> before = a;                                          \
    a = a op vec<T, N>(T(1));                                            \
    return before;                                                       \
  }
HEARTH_VEC_STEP(+)
HEARTH_VEC_STEP(-)
#undef HEARTH_VEC_STEP
#define HEARTH_VEC_SHIFT(op)                                                \
  template <class T, class U, int N, class = enable_if_t<!is_same_v<T, U>>> \
  HEARTH_INLINE constexpr vec<T, N> operator op(vec<T, N> a, vec<U, N> b) { \
    for (int i = 0; i < N; ++i) a[i] = T(a[i] op b[i]);                     \
    return a;                                                               \
  }
HEARTH_VEC_SHIFT(<<)
HEARTH_VEC_SHIFT(>>)
#undef HEARTH_VEC_SHIFT
#define HEARTH_VEC_LOGIC(op)                                                   \
  template <class T, class U, int N>                                           \
  HEARTH_INLINE constexpr vec<bool, N> operator op(vec<T, N> a, vec<U, N> b) { \
    vec<bool, N> made(false);                                                  \
    for (int i = 0; i < N; ++i) made[i] = a[i] op b[i];                        \
    return made;                                                               \
  }
HEARTH_VEC_LOGIC(&&)
HEARTH_VEC_LOGIC(||)
#undef HEARTH_VEC_LOGIC
#define HEARTH_SCALAR_COMPARISON(op)                                                            \
  template <class T, int N>                                                                     \
  HEARTH_INLINE constexpr vec<bool, N> operator op(typename identity<T>::type a, vec<T, N> b) { \
    return vec<T, N>(a) op b;                                                                   \
  }
HEARTH_SCALAR_COMPARISON(==)
HEARTH_SCALAR_COMPARISON(!=)
HEARTH_SCALAR_COMPARISON(<)
HEARTH_SCALAR_COMPARISON(<=)
HEARTH_SCALAR_COMPARISON(>)
HEARTH_SCALAR_COMPARISON(>=)
#undef HEARTH_SCALAR_COMPARISON

// Packed vectors compute as vectors.
#define HEARTH_PACKED_OPERATOR(op)                                                                 \
  template <class T, int N>                                                                        \
  HEARTH_INLINE constexpr vec<T, N> operator op(packed_vec<T, N> a, packed_vec<T, N> b) {          \
    return vec<T, N>(a) op vec<T, N>(b);                                                           \
  }                                                                                                \
  template <class T, int N>                                                                        \
  HEARTH_INLINE constexpr vec<T, N> operator op(packed_vec<T, N> a,                                \
                                                typename identity<vec<T, N>>::type b) {            \
    return vec<T, N>(a) op b;                                                                      \
  }                                                                                                \
  template <class T, int N>                                                                        \
  HEARTH_INLINE constexpr vec<T, N> operator op(typename identity<vec<T, N>>::type a,              \
                                                packed_vec<T, N> b) {                              \
    return a op vec<T, N>(b);                                                                      \
  }                                                                                                \
  template <class T, int N>                                                                        \
  HEARTH_INLINE constexpr packed_vec<T, N>& operator op##=(packed_vec<T, N>& a,                    \
                                                           typename identity<vec<T, N>>::type b) { \
    return a = packed_vec<T, N>(vec<T, N>(a) op b);                                                \
  }
HEARTH_PACKED_OPERATOR(+)
HEARTH_PACKED_OPERATOR(-)
HEARTH_PACKED_OPERATOR(*)
HEARTH_PACKED_OPERATOR(/)
#undef HEARTH_PACKED_OPERATOR
#define HEARTH_SIMD_NAMES(T)                    \
  typedef vec<T, 2> vector_##T##2, simd_##T##2; \
  typedef vec<T, 3> vector_##T##3, simd_##T##3; \
  typedef vec<T, 4> vector_##T##4, simd_##T##4;
HEARTH_SIMD_NAMES(float)
HEARTH_SIMD_NAMES(half)
HEARTH_SIMD_NAMES(char)
HEARTH_SIMD_NAMES(uchar)
HEARTH_SIMD_NAMES(short)
HEARTH_SIMD_NAMES(ushort)
HEARTH_SIMD_NAMES(int)
HEARTH_SIMD_NAMES(uint)
HEARTH_SIMD_NAMES(long)
HEARTH_SIMD_NAMES(ulong)
#undef HEARTH_SIMD_NAMES
#define HEARTH_PACKED_NAMES(T)            \
  typedef packed_vec<T, 2> packed_##T##2; \
  typedef packed_vec<T, 3> packed_##T##3; \
  typedef packed_vec<T, 4> packed_##T##4;
HEARTH_PACKED_NAMES(bool)
HEARTH_PACKED_NAMES(long)
HEARTH_PACKED_NAMES(ulong)
#undef HEARTH_PACKED_NAMES

// Matrices.
#define HEARTH_MATRIX_OPERATOR(op)                                                                 \
  template <class T, int C, int R>                                                                 \
  HEARTH_INLINE constexpr matrix<T, C, R> operator op(matrix<T, C, R> a, matrix<T, C, R> b) {      \
    for (int i = 0; i < C; ++i) a[i] = a[i] op b[i];                                               \
    return a;                                                                                      \
  }                                                                                                \
  template <class T, int C, int R>                                                                 \
  HEARTH_INLINE constexpr matrix<T, C, R>& operator op##=(matrix<T, C, R>& a, matrix<T, C, R> b) { \
    return a = a op b;                                                                             \
  }
HEARTH_MATRIX_OPERATOR(+)
HEARTH_MATRIX_OPERATOR(-)
#undef HEARTH_MATRIX_OPERATOR
template <class T, int C, int R>
HEARTH_INLINE constexpr matrix<T, C, R> operator-(matrix<T, C, R> a) {
  return a * T(-1);
}
template <class T, int C, int R>
HEARTH_INLINE constexpr matrix<T, C, R>& operator*=(matrix<T, C, R>& a,
                                                    typename identity<T>::type b) {
  return a = a * b;
}
template <class T, int C, int R>
HEARTH_INLINE constexpr matrix<T, C, R> operator/(matrix<T, C, R> a, typename identity<T>::type b) {
  for (int i = 0; i < C; ++i) a[i] = a[i] / b;
  return a;
}
template <class T, int C, int R>
HEARTH_INLINE constexpr matrix<T, C, R>& operator/=(matrix<T, C, R>& a,
                                                    typename identity<T>::type b) {
  return a = a / b;
}
template <class T, int K, int R, int C>
HEARTH_INLINE constexpr matrix<T, C, R> operator*(matrix<T, K, R> a, matrix<T, C, K> b) {
  matrix<T, C, R> product(T(0));
  for (int i = 0; i < C; ++i) product[i] = a * b[i];
  return product;
}
template <class T, int K>
HEARTH_INLINE constexpr matrix<T, K, K>& operator*=(matrix<T, K, K>& a, matrix<T, K, K> b) {
  return a = a * b;
}
#define HEARTH_MATRIX_NAMES(T)    \
  typedef matrix<T, 2, 3> T##2x3; \
  typedef matrix<T, 3, 2> T##3x2; \
  typedef matrix<T, 3, 4> T##3x4; \
  typedef matrix<T, 4, 3> T##4x3;
HEARTH_MATRIX_NAMES(float)
HEARTH_MATRIX_NAMES(half)
#undef HEARTH_MATRIX_NAMES
