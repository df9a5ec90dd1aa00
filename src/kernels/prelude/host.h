// The dialect for a host compiler (g++ or clang, C++20), without any header: what the simulator
// runs. Barriers and what a simdgroup shares go through the table of simulator_abi.h. Compile with
//   -std=c++20 -ffp-contract=off -fwrapv -fsigned-char -fno-strict-aliasing
// so that nothing is contracted, and kernels may read floats in vectors of words. Where the
// compiler has _Float16 and can round it after each operation (-fexcess-precision=16 of g++,
// -ffloat16-excess-precision=none of clang), also with that and -DHEARTH_HAS_FLOAT16=1.
#pragma once

#include "kernels/prelude/simulator_abi.h"

#define HEARTH_INLINE inline __attribute__((always_inline))
#define HEARTH_LIBM(name) __builtin_##name
#define HEARTH_FAST_EXP2(x) __builtin_exp2f(x)
#define HEARTH_CLZ(x) __builtin_clz(x)
#define HEARTH_CLZL(x) __builtin_clzl(x)
#define HEARTH_POPCOUNT(x) __builtin_popcount(x)
#define HEARTH_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define HEARTH_MULHIL(a, b) ulong((unsigned __int128)(a) * (b) >> 64)

#include "kernels/prelude/math.h"

// Weak: libraries of several kernels have one.
extern "C" __attribute__((weak, visibility("default"))) const HearthSimulator* hearth_simulator;
const HearthSimulator* hearth_simulator = nullptr;

namespace metal {

HEARTH_INLINE void threadgroup_barrier(mem_flags flags) {
  hearth_simulator->threadgroup_barrier(uint(flags));
}
HEARTH_INLINE void simdgroup_barrier(mem_flags flags) {
  hearth_simulator->simdgroup_barrier(uint(flags));
}

// A variable that a kernel declares for its threadgroup.
template <uint kNumber, class T>
HEARTH_INLINE T& threadgroup_variable() {
  return *static_cast<T*>(hearth_simulator->threadgroup_variable(kNumber, sizeof(T)));
}

// What the lanes of a simdgroup handed over.
template <class T>
struct Lanes {
  static_assert(sizeof(T) <= 16, "simd functions take at most 16 bytes");
  const char* values;
  uint active = 0;

  explicit Lanes(const T& mine) {
    values =
        static_cast<const char*>(hearth_simulator->simd_exchange(&mine, uint(sizeof(T)), &active));
  }
  bool has(uint lane) const { return lane < 32u && ((active >> lane) & 1u) != 0u; }
  T of(uint lane) const {
    T value;
    __builtin_memcpy(&value, values + 16 * lane, sizeof(T));
    return value;
  }
  // Of a lane that is not there: undefined in Metal, one's own value on NVIDIA and here.
  T of(uint lane, const T& mine) const { return has(lane) ? of(lane) : mine; }
};

template <class T>
inline T simd_shuffle(T value, ushort lane) {
  return Lanes<T>(value).of(lane, value);
}
template <class T>
inline T simd_broadcast(T value, ushort lane) {
  return Lanes<T>(value).of(lane, value);
}
template <class T>
inline T simd_shuffle_xor(T value, ushort mask) {
  return Lanes<T>(value).of(hearth_simulator->lane() ^ mask, value);
}
template <class T>
inline T simd_shuffle_up(T value, ushort delta) {
  return Lanes<T>(value).of(hearth_simulator->lane() - delta, value);
}
template <class T>
inline T simd_shuffle_down(T value, ushort delta) {
  return Lanes<T>(value).of(hearth_simulator->lane() + delta, value);
}

// Pairs 16 lanes apart first, then 8, 4, 2, 1: the bits that NVIDIA's butterfly gives.
template <class T, class Combine>
inline T reduce_lanes(T value, Combine combine) {
  const Lanes<T> lanes(value);
  T values[32];
  uint there = lanes.active;
  for (uint lane = 0; lane < 32; ++lane) {
    if (lanes.has(lane)) values[lane] = lanes.of(lane);
  }
  for (uint distance = 16; distance > 0; distance /= 2) {
    for (uint lane = 0; lane < distance; ++lane) {
      const uint other = lane + distance;
      if (((there >> other) & 1u) == 0u) continue;
      values[lane] =
          ((there >> lane) & 1u) != 0u ? combine(values[lane], values[other]) : values[other];
      there |= 1u << lane;
    }
  }
  return values[0];
}
#define HEARTH_SIMD_REDUCTION(name, combined)                         \
  template <class T>                                                  \
  inline T name(T value) {                                            \
    return reduce_lanes(value, [](T a, T b) { return T(combined); }); \
  }
HEARTH_SIMD_REDUCTION(simd_sum, a + b)
HEARTH_SIMD_REDUCTION(simd_product, a* b)
HEARTH_SIMD_REDUCTION(simd_min, min(a, b))
HEARTH_SIMD_REDUCTION(simd_max, max(a, b))
HEARTH_SIMD_REDUCTION(simd_and, a& b)
HEARTH_SIMD_REDUCTION(simd_or, a | b)
HEARTH_SIMD_REDUCTION(simd_xor, a ^ b)
#undef HEARTH_SIMD_REDUCTION
inline uint ballot(bool condition) {
  return simd_or(condition ? 1u << hearth_simulator->lane() : 0u);
}
inline bool simd_any(bool condition) { return simd_or(uint(condition)) != 0u; }
inline bool simd_all(bool condition) { return simd_and(uint(condition)) != 0u; }

// Sums over distances 1, 2, 4, 8, 16, in NVIDIA's order.
template <class T>
inline T simd_prefix_inclusive_sum(T value) {
  const Lanes<T> lanes(value);
  T values[32];
  for (uint lane = 0; lane < 32; ++lane) values[lane] = lanes.has(lane) ? lanes.of(lane) : T(0);
  for (uint distance = 1; distance < 32; distance *= 2) {
    for (uint lane = 31; lane >= distance; --lane) {
      values[lane] = T(values[lane - distance] + values[lane]);
    }
  }
  return values[hearth_simulator->lane()];
}
template <class T>
inline T simd_prefix_exclusive_sum(T value) {
  const T before = simd_shuffle_up(simd_prefix_inclusive_sum(value), 1);
  return hearth_simulator->lane() == 0 ? T(0) : before;
}

// Relaxed atomics on int and uint; addition and exchange on float, too.
template <class T>
HEARTH_INLINE T atomic_load_explicit(const volatile atomic<T>* object, memory_order) {
  T value;
  __atomic_load(&object->value, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
HEARTH_INLINE void atomic_store_explicit(volatile atomic<T>* object,
                                         typename identity<T>::type value, memory_order) {
  __atomic_store(&object->value, &value, __ATOMIC_RELAXED);
}
template <class T>
HEARTH_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object, T* expected,
                                                         typename identity<T>::type desired,
                                                         memory_order, memory_order) {
  return __atomic_compare_exchange(&object->value, expected, &desired, true, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED);
}
#define HEARTH_ATOMIC(name, combined)                                                       \
  template <class T>                                                                        \
  HEARTH_INLINE T name(volatile atomic<T>* object, typename identity<T>::type b,            \
                       memory_order order) {                                                \
    T a = atomic_load_explicit(object, order);                                              \
    while (!atomic_compare_exchange_weak_explicit(object, &a, T(combined), order, order)) { \
    }                                                                                       \
    return a;                                                                               \
  }
HEARTH_ATOMIC(atomic_fetch_add_explicit, a + b)
HEARTH_ATOMIC(atomic_fetch_min_explicit, min(a, b))
HEARTH_ATOMIC(atomic_fetch_max_explicit, max(a, b))
HEARTH_ATOMIC(atomic_fetch_sub_explicit, a - b)
HEARTH_ATOMIC(atomic_fetch_xor_explicit, a ^ b)
HEARTH_ATOMIC(atomic_fetch_and_explicit, a& b)
HEARTH_ATOMIC(atomic_fetch_or_explicit, a | b)
HEARTH_ATOMIC(atomic_exchange_explicit, b)
#undef HEARTH_ATOMIC

HEARTH_INLINE uint lane_index() { return hearth_simulator->lane(); }

#include "kernels/prelude/ctx.h"
#include "kernels/prelude/simdgroup.h"

HEARTH_INLINE uint3 uint3_of(const HearthUint3& value) { return uint3(value.x, value.y, value.z); }
HEARTH_INLINE Ctx ctx_of(const HearthContext& context) {
  return {uint3_of(context.tg),
          uint3_of(context.tid),
          uint3_of(context.gid),
          uint3_of(context.ntid),
          uint3_of(context.ntg),
          context.lane,
          context.sg,
          context.nsg};
}

}  // namespace metal

#define device
#define thread
#define threadgroup
#define constant const
