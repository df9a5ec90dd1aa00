// Part of formulas.h: integers. Signed arithmetic wraps through unsigned arithmetic, since an
// overflow of plain ints is undefined.

namespace formula {

template <class T>
struct unsigned_of {
  typedef T type;
};
template <>
struct unsigned_of<int> {
  typedef uint type;
};
template <>
struct unsigned_of<long> {
  typedef ulong type;
};

// Found before the templates of scalar_ops.h, whose plain operators are right for all other types.
#define HEARTH_WRAPPING(T, U)                            \
  HEARTH_FN T neg(T x) { return T(U(0) - U(x)); }        \
  HEARTH_FN T abs(T x) { return x < T(0) ? neg(x) : x; } \
  HEARTH_FN T square(T x) { return T(U(x) * U(x)); }     \
  HEARTH_FN T add(T a, T b) { return T(U(a) + U(b)); }   \
  HEARTH_FN T sub(T a, T b) { return T(U(a) - U(b)); }   \
  HEARTH_FN T mul(T a, T b) { return T(U(a) * U(b)); }
HEARTH_WRAPPING(int, uint)
HEARTH_WRAPPING(long, ulong)
#undef HEARTH_WRAPPING

// Of truths, 0 or 1. By tests, which compilers fold where several elements of a word are combined;
// by bits, which are fewer instructions otherwise.
template <HEARTH_INT(T)>
HEARTH_FN T either_bits(T a, T b) {
  return a | b;
}
template <HEARTH_INT(T)>
HEARTH_FN T both_bits(T a, T b) {
  return a & b;
}
template <HEARTH_INT(T)>
HEARTH_FN T either(T a, T b) {
  return T(((a != T(0)) | (b != T(0))) ? 1 : 0);
}
template <HEARTH_INT(T)>
HEARTH_FN T both(T a, T b) {
  return T(((a != T(0)) & (b != T(0))) ? 1 : 0);
}

template <HEARTH_INT(T)>
HEARTH_FN bool is_minus_one(T x) {
  return T(-1) < T(0) && x == T(-1);
}

template <HEARTH_INT(T)>
HEARTH_FN T quotient(T a, T b) {
  if (b == T(0)) return T(0);
  if (is_minus_one(b))
    return T(typename unsigned_of<T>::type(0) - typename unsigned_of<T>::type(a));
  return a / b;
}
template <HEARTH_INT(T)>
HEARTH_FN T modulus(T a, T b) {
  if (b == T(0) || is_minus_one(b)) return T(0);
  T r = a % b;
  return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
}
// Whether a value can be shifted by n: negative counts are large as unsigned ones.
template <HEARTH_INT(T)>
HEARTH_FN bool is_shift(T n) {
  return typename unsigned_of<T>::type(n) < typename unsigned_of<T>::type(8 * sizeof(T));
}
template <HEARTH_INT(T)>
HEARTH_FN T shifted_left(T a, T n) {
  return is_shift(n) ? T(typename unsigned_of<T>::type(a) << n) : T(0);
}
template <HEARTH_INT(T)>
HEARTH_FN T shifted_right(T a, T n) {
  return is_shift(n) ? T(a >> n) : a < T(0) ? T(-1) : T(0);
}
template <HEARTH_INT(T)>
HEARTH_FN T power(T a, T b) {
  typedef typename unsigned_of<T>::type U;
  if (b < T(0)) {
    if (a == T(1)) return a;
    if (is_minus_one(a)) return (b & T(1)) != T(0) ? a : T(1);
    return T(0);
  }
  U result = U(1);
  U base = U(a);
  for (U left = U(b); left != U(0); left >>= 1) {
    if ((left & U(1)) != U(0)) result *= base;
    base *= base;
  }
  return T(result);
}

}  // namespace formula
