// What becomes of an element that values go to: rules for the kernels of this folder. Text of the
// kernel dialect.
//
// `sum` is what the element has come to, in the type that such are kept in: f32 for the small
// floats; an integer that wraps, of the dtype's sign where numbers are compared. Truth values have
// the larger one for or, the smaller one for and. combine() is associative but for rounding, and
// none() changes no value.

// The ends of a type.
template <typename A>
struct Ends {
  static HEARTH_INLINE A low() { return metal::numeric_limits<A>::lowest(); }
  static HEARTH_INLINE A high() { return metal::numeric_limits<A>::max(); }
};
template <>
struct Ends<float> {
  static HEARTH_INLINE float low() { return -INFINITY; }
  static HEARTH_INLINE float high() { return INFINITY; }
};
#if HEARTH_HAS_F64
template <>
struct Ends<double> {
  static HEARTH_INLINE double low() { return -double(INFINITY); }
  static HEARTH_INLINE double high() { return double(INFINITY); }
};
#endif

struct UpdateAssign {
  template <typename A>
  static HEARTH_INLINE A none() {
    return A(0);
  }
  template <typename A>
  static HEARTH_INLINE A combine(A, A value) {
    return value;
  }
};
struct UpdateAdd {
  template <typename A>
  static HEARTH_INLINE A none() {
    return A(0);
  }
  template <typename A>
  static HEARTH_INLINE A combine(A sum, A value) {
    return A(sum + value);
  }
};
struct UpdateMul {
  template <typename A>
  static HEARTH_INLINE A none() {
    return A(1);
  }
  template <typename A>
  static HEARTH_INLINE A combine(A sum, A value) {
    return A(sum * value);
  }
};
// As the ops minimum and maximum: NaN if either is.
struct UpdateMin {
  template <typename A>
  static HEARTH_INLINE A none() {
    return Ends<A>::high();
  }
  template <typename A>
  static HEARTH_INLINE A combine(A sum, A value) {
    return sum < value || sum != sum ? sum : value;
  }
};
struct UpdateMax {
  template <typename A>
  static HEARTH_INLINE A none() {
    return Ends<A>::low();
  }
  template <typename A>
  static HEARTH_INLINE A combine(A sum, A value) {
    return sum > value || sum != sum ? sum : value;
  }
};
