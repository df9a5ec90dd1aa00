// Vectors of metal_bfloat.h's bfloat, which Metal makes of its own types only: bfloat2 to bfloat4,
// packed_bfloat2 to packed_bfloat4 and vec<bfloat, N>, computed element by element. vec<T, N> is an
// alias from there on, so that a template cannot deduce T and N from an argument.
#if __METAL_VERSION__ < 310

#define HEARTH_BFLOAT_ELEMENTS(space)                                     \
  inline space hearth_bfloat& operator[](int i) space { return (&x)[i]; } \
  inline space const hearth_bfloat& operator[](int i) const space { return (&x)[i]; }
#define HEARTH_BFLOAT_VECTOR(type, kBytes, N, ...)                                            \
  struct alignas(kBytes) type {                                                               \
    hearth_bfloat __VA_ARGS__;                                                                \
    HEARTH_BFLOAT_ELEMENTS(thread)                                                            \
    HEARTH_BFLOAT_ELEMENTS(device)                                                            \
    HEARTH_BFLOAT_ELEMENTS(threadgroup)                                                       \
    inline constant const hearth_bfloat& operator[](int i) const constant { return (&x)[i]; } \
    type() = default;                                                                         \
    type() threadgroup = default;                                                             \
    explicit inline operator vec<float, N>() const thread {                                   \
      vec<float, N> made;                                                                     \
      for (int i = 0; i < N; ++i) made[i] = float((*this)[i]);                                \
      return made;                                                                            \
    }                                                                                         \
    HEARTH_BFLOAT_MADE_OF_##N(type)                                                           \
  };                                                                                          \
  HEARTH_BFLOAT_VECTOR_OPERATOR(type, N, +)                                                   \
  HEARTH_BFLOAT_VECTOR_OPERATOR(type, N, -)                                                   \
  HEARTH_BFLOAT_VECTOR_OPERATOR(type, N, *)                                                   \
  HEARTH_BFLOAT_VECTOR_OPERATOR(type, N, /)
#define HEARTH_BFLOAT_MADE_OF_2(type)                               \
  inline type(hearth_bfloat all) : x(all), y(all) {}                \
  inline type(hearth_bfloat x_, hearth_bfloat y_) : x(x_), y(y_) {} \
  explicit inline type(vec<float, 2> from) : x(from[0]), y(from[1]) {}
#define HEARTH_BFLOAT_MADE_OF_3(type)                                                        \
  inline type(hearth_bfloat all) : x(all), y(all), z(all) {}                                 \
  inline type(hearth_bfloat x_, hearth_bfloat y_, hearth_bfloat z_) : x(x_), y(y_), z(z_) {} \
  explicit inline type(vec<float, 3> from) : x(from[0]), y(from[1]), z(from[2]) {}
#define HEARTH_BFLOAT_MADE_OF_4(type)                                                 \
  inline type(hearth_bfloat all) : x(all), y(all), z(all), w(all) {}                  \
  inline type(hearth_bfloat x_, hearth_bfloat y_, hearth_bfloat z_, hearth_bfloat w_) \
      : x(x_), y(y_), z(z_), w(w_) {}                                                 \
  explicit inline type(vec<float, 4> from) : x(from[0]), y(from[1]), z(from[2]), w(from[3]) {}
#define HEARTH_BFLOAT_VECTOR_OPERATOR(type, N, op)                          \
  inline type operator op(type a, type b) {                                 \
    for (int i = 0; i < N; ++i) a[i] = a[i] op b[i];                        \
    return a;                                                               \
  }                                                                         \
  inline type operator op(type a, hearth_bfloat b) { return a op type(b); } \
  inline type operator op(hearth_bfloat a, type b) { return type(a) op b; }
HEARTH_BFLOAT_VECTOR(hearth_bfloat2, 4, 2, x, y)
HEARTH_BFLOAT_VECTOR(hearth_bfloat3, 8, 3, x, y, z)
HEARTH_BFLOAT_VECTOR(hearth_bfloat4, 8, 4, x, y, z, w)
HEARTH_BFLOAT_VECTOR(hearth_packed_bfloat2, 2, 2, x, y)
HEARTH_BFLOAT_VECTOR(hearth_packed_bfloat3, 2, 3, x, y, z)
HEARTH_BFLOAT_VECTOR(hearth_packed_bfloat4, 2, 4, x, y, z, w)
#undef HEARTH_BFLOAT_VECTOR
#undef HEARTH_BFLOAT_VECTOR_OPERATOR
#undef HEARTH_BFLOAT_MADE_OF_2
#undef HEARTH_BFLOAT_MADE_OF_3
#undef HEARTH_BFLOAT_MADE_OF_4
#undef HEARTH_BFLOAT_ELEMENTS

template <class T, int N>
struct hearth_vec_of {
  typedef vec<T, N> type;
};
template <>
struct hearth_vec_of<hearth_bfloat, 2> {
  typedef hearth_bfloat2 type;
};
template <>
struct hearth_vec_of<hearth_bfloat, 3> {
  typedef hearth_bfloat3 type;
};
template <>
struct hearth_vec_of<hearth_bfloat, 4> {
  typedef hearth_bfloat4 type;
};
template <class T, int N>
using hearth_vec = typename hearth_vec_of<T, N>::type;

#define vec hearth_vec
#define bfloat2 hearth_bfloat2
#define bfloat3 hearth_bfloat3
#define bfloat4 hearth_bfloat4
#define packed_bfloat2 hearth_packed_bfloat2
#define packed_bfloat3 hearth_packed_bfloat3
#define packed_bfloat4 hearth_packed_bfloat4

#endif
