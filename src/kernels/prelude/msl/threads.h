// What Metal's library has of simdgroups, quadgroups and atomics beyond the dialect, and its
// macros. Included in namespace metal, after the target's prelude.

// Simdgroups and quadgroups.
template <class T>
HEARTH_INLINE T simd_prefix_inclusive_product(T value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const T before = simd_shuffle_up(value, ushort(distance));
    if (lane_index() >= uint(distance)) value = T(before * value);
  }
  return value;
}
template <class T>
HEARTH_INLINE T simd_prefix_exclusive_product(T value) {
  const T before = simd_shuffle_up(simd_prefix_inclusive_product(value), ushort(1));
  return lane_index() == 0u ? T(1) : before;
}
HEARTH_INLINE simd_vote simd_active_threads_mask() { return simd_ballot(true); }
HEARTH_INLINE bool quad_is_first() { return lane_index() % 4u == 0u; }
template <class T>
HEARTH_INLINE T quad_shuffle(T value, ushort lane) {
  return quad_broadcast(value, lane);
}
template <class T>
HEARTH_INLINE T quad_broadcast_first(T value) {
  return quad_broadcast(value, ushort(0));
}
template <class T>
HEARTH_INLINE T quad_shuffle_up(T value, ushort delta) {
  const uint lane = lane_index() % 4u;
  return quad_broadcast(value, ushort(lane < uint(delta) ? lane : lane - uint(delta)));
}
template <class T>
HEARTH_INLINE T quad_shuffle_down(T value, ushort delta) {
  const uint lane = lane_index() % 4u;
  return quad_broadcast(value, ushort(lane + uint(delta) > 3u ? lane : lane + uint(delta)));
}

// Atomics. Every fence and every barrier orders for the whole device.
enum thread_scope {
  thread_scope_thread,
  thread_scope_simdgroup,
  thread_scope_threadgroup,
  thread_scope_device
};
enum memory_scope { memory_scope_device, memory_scope_threadgroup, memory_scope_simdgroup };
HEARTH_INLINE void atomic_thread_fence(mem_flags, memory_order,
                                       thread_scope = thread_scope_device) {
  HEARTH_FENCE();
}
template <class Scope>
HEARTH_INLINE void threadgroup_barrier(mem_flags flags, Scope) {
  threadgroup_barrier(flags);
}
template <class Scope>
HEARTH_INLINE void simdgroup_barrier(mem_flags flags, Scope) {
  simdgroup_barrier(flags);
}
typedef atomic<bool> atomic_bool;
typedef atomic<long> atomic_long;
typedef atomic<ulong> atomic_ulong;
template <class T>
HEARTH_INLINE void atomic_min_explicit(volatile atomic<T>* object, typename identity<T>::type value,
                                       memory_order order) {
  atomic_fetch_min_explicit(object, value, order);
}
template <class T>
HEARTH_INLINE void atomic_max_explicit(volatile atomic<T>* object, typename identity<T>::type value,
                                       memory_order order) {
  atomic_fetch_max_explicit(object, value, order);
}

// Memory that other devices see: a word of the language, which all memory here is as.
#define coherent(scope)
#undef assert
#define assert(condition) ((void)0)
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define LONG_MAX (metal::numeric_limits<long>::max())
#define LONG_MIN (metal::numeric_limits<long>::lowest())
#define ULONG_MAX (metal::numeric_limits<metal::ulong>::max())
#define HALF_MIN (metal::numeric_limits<metal::half>::min())
#define HALF_EPSILON (metal::numeric_limits<metal::half>::epsilon())
#define HUGE_VALH (metal::numeric_limits<metal::half>::infinity())
#define HUGE_VALBF (metal::numeric_limits<metal::bfloat>::infinity())
#define BFLT_MAX (metal::numeric_limits<metal::bfloat>::max())
#define BFLT_MIN (metal::numeric_limits<metal::bfloat>::min())
#define BFLT_EPSILON (metal::numeric_limits<metal::bfloat>::epsilon())
#define M_PI_H half(M_PI_F)
#define M_E_H half(M_E_F)
#define M_SQRT2_H half(M_SQRT2_F)
#define M_LN2_H half(M_LN2_F)
#define M_LOG2E_H half(M_LOG2E_F)
