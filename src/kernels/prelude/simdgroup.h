// What the lanes of a simdgroup do together, over simd_shuffle and its like: the rest of
// metal_simdgroup, quadgroups, and 8 x 8 matrices. Included in namespace metal by a target that has
// lane_index().
//
// A matrix is kept as Apple GPUs keep it: two neighbouring elements of a row to a lane. Its product
// is made of what lanes read of each other (Lanes<T>, of the target), so it is right on every
// target and fast on none: kernels for tensor cores are written for them.

template <class T>
HEARTH_INLINE T simd_shuffle_and_fill_up(T value, T fill, ushort delta) {
  const T other = simd_shuffle_up(value, delta);
  return lane_index() < uint(delta) ? fill : other;
}
template <class T>
HEARTH_INLINE T simd_shuffle_and_fill_down(T value, T fill, ushort delta) {
  const T other = simd_shuffle_down(value, delta);
  return lane_index() + uint(delta) >= 32u ? fill : other;
}
template <class T>
HEARTH_INLINE T simd_shuffle_rotate_up(T value, ushort delta) {
  return simd_shuffle(value, ushort((lane_index() - uint(delta)) & 31u));
}
template <class T>
HEARTH_INLINE T simd_shuffle_rotate_down(T value, ushort delta) {
  return simd_shuffle(value, ushort((lane_index() + uint(delta)) & 31u));
}
template <class T>
HEARTH_INLINE T simd_broadcast_first(T value) {
  return simd_broadcast(value, ushort(0));
}
HEARTH_INLINE bool simd_is_first() { return lane_index() == 0u; }

// A bit for each lane.
struct simd_vote {
  typedef ulong vote_t;
  vote_t votes;
  HEARTH_INLINE explicit operator vote_t() const { return votes; }
  HEARTH_INLINE bool any() const { return votes != 0ul; }
};
HEARTH_INLINE simd_vote simd_ballot(bool condition) { return {ulong(ballot(condition))}; }

// Four neighbouring lanes.
template <class T>
HEARTH_INLINE T quad_shuffle_xor(T value, ushort mask) {
  return simd_shuffle_xor(value, mask);
}
template <class T>
HEARTH_INLINE T quad_broadcast(T value, ushort lane) {
  return simd_shuffle(value, ushort((lane_index() & ~3u) + uint(lane)));
}
#define HEARTH_QUAD_REDUCTION(name, combined)                 \
  template <class T>                                          \
  HEARTH_INLINE T name(T a) {                                 \
    for (uint distance = 2u; distance > 0u; distance /= 2u) { \
      const T b = simd_shuffle_xor(a, ushort(distance));      \
      a = T(combined);                                        \
    }                                                         \
    return a;                                                 \
  }
HEARTH_QUAD_REDUCTION(quad_sum, a + b)
HEARTH_QUAD_REDUCTION(quad_product, a* b)
HEARTH_QUAD_REDUCTION(quad_min, min(a, b))
HEARTH_QUAD_REDUCTION(quad_max, max(a, b))
#undef HEARTH_QUAD_REDUCTION

template <class T, int kRows, int kColumns>
struct simdgroup_matrix {
  static_assert(kRows == 8 && kColumns == 8, "simdgroup matrices are 8 x 8");
  vec<T, 2> elements;

  simdgroup_matrix() = default;
  // `diagonal` on the diagonal, 0 elsewhere.
  explicit HEARTH_INLINE simdgroup_matrix(T diagonal) {
    elements =
        vec<T, 2>(row() == column() ? diagonal : T(0), row() == column() + 1u ? diagonal : T(0));
  }
  HEARTH_INLINE vec<T, 2>& thread_elements() { return elements; }
  HEARTH_INLINE const vec<T, 2>& thread_elements() const { return elements; }

  // Where the first of a lane's two elements lies.
  static HEARTH_INLINE uint row() {
    const uint lane = lane_index();
    return ((lane >> 2) & 4u) + ((lane >> 1) & 3u);
  }
  static HEARTH_INLINE uint column() {
    const uint lane = lane_index();
    return ((lane >> 1) & 4u) + ((lane & 1u) << 1);
  }
  // The lane of the elements (row, column) and (row, column + 1), `column` even.
  static HEARTH_INLINE ushort lane_of(uint row, uint column) {
    return ushort(((row & 4u) << 2) | ((column & 4u) << 1) | ((row & 3u) << 1) |
                  ((column >> 1) & 1u));
  }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int R, int C = R>
HEARTH_INLINE simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(
    typename identity<T>::type value) {
  simdgroup_matrix<T, R, C> all;
  all.elements = vec<T, 2>(value, value);
  return all;
}

// `origin` is (column, row).
template <class T, class M, int R, int C>
HEARTH_INLINE void simdgroup_load(simdgroup_matrix<T, R, C>& matrix, const M* source,
                                  ulong row_length = C, vec<ulong, 2> origin = vec<ulong, 2>(0ul),
                                  bool transposed = false) {
  const M* from = source + origin.y * row_length + origin.x;
  const ulong row = matrix.row(), column = matrix.column();
  for (ulong i = 0; i < 2; ++i) {
    matrix.elements[int(i)] =
        T(transposed ? from[(column + i) * row_length + row] : from[row * row_length + column + i]);
  }
}
template <class T, class M, int R, int C>
HEARTH_INLINE void simdgroup_store(simdgroup_matrix<T, R, C> matrix, M* target,
                                   ulong row_length = C, vec<ulong, 2> origin = vec<ulong, 2>(0ul),
                                   bool transposed = false) {
  M* to = target + origin.y * row_length + origin.x;
  const ulong row = matrix.row(), column = matrix.column();
  for (ulong i = 0; i < 2; ++i) {
    (transposed ? to[(column + i) * row_length + row] : to[row * row_length + column + i]) =
        M(matrix.elements[int(i)]);
  }
}

template <class T, int K>
using square_matrix = simdgroup_matrix<T, K, K>;

// What a lane has of both factors.
template <class A, class B>
struct LaneFactors {
  vec<A, 2> a;
  vec<B, 2> b;
};

// d = a b + c, summed in float, in the order of the inner axis.
template <class D, class A, class B, class C, int K>
HEARTH_INLINE void simdgroup_multiply_accumulate(square_matrix<D, K>& d, square_matrix<A, K> a,
                                                 square_matrix<B, K> b, square_matrix<C, K> c) {
  const Lanes<LaneFactors<A, B>> lanes({a.elements, b.elements});
  const uint row = a.row(), column = a.column();
  vec<float, 2> sum(float(c.elements.x), float(c.elements.y));
  for (uint k = 0; k < 8u; ++k) {
    const vec<A, 2> left = lanes.of(a.lane_of(row, k)).a;
    const vec<B, 2> right = lanes.of(b.lane_of(k, column)).b;
    const float factor = float((k & 1u) == 0u ? left.x : left.y);
    sum.x = fma(factor, float(right.x), sum.x);
    sum.y = fma(factor, float(right.y), sum.y);
  }
  d.elements = vec<D, 2>(D(sum.x), D(sum.y));
}
template <class D, class A, class B, int K>
HEARTH_INLINE void simdgroup_multiply(square_matrix<D, K>& d, square_matrix<A, K> a,
                                      square_matrix<B, K> b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, K, K>(0.0f));
}
template <class A, class B, int K>
HEARTH_INLINE square_matrix<A, K> operator*(square_matrix<A, K> a, square_matrix<B, K> b) {
  square_matrix<A, K> product;
  simdgroup_multiply(product, a, b);
  return product;
}
