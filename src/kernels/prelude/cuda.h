// The dialect for NVRTC, without any header of a toolkit. The program is compiled with
//   -default-device --std=c++20 --fmad=false
// so that functions and tables without annotations belong to the device and nothing is contracted.
// NVRTC's defaults stay: division and square root of float rounded correctly, subnormals kept.
// A simdgroup is a warp; all of its lanes call simd functions together.
#pragma once

// Templates compare unsigned values with zero.
#pragma nv_diag_suppress 186

#define HEARTH_INLINE __forceinline__
#define HEARTH_LIBM(name) ::name
#define HEARTH_FAST_EXP2(x) exp2_approximate(x)
#define HEARTH_FENCE() ::__threadfence_system()
#define HEARTH_CLZ(x) ::__clz(int(x))
#define HEARTH_CLZL(x) ::__clzll((long long)(x))
#define HEARTH_POPCOUNT(x) ::__popc(x)
#define HEARTH_MULHIL(a, b) ulong(::__umul64hi(a, b))

namespace metal {
// What the special function unit computes.
HEARTH_INLINE float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
}  // namespace metal

#include "kernels/prelude/math.h"

namespace metal {

// Both order device memory as well as threadgroup memory, whatever the flags.
HEARTH_INLINE void threadgroup_barrier(mem_flags) { __syncthreads(); }
HEARTH_INLINE void simdgroup_barrier(mem_flags) { __syncwarp(); }

// Likewise, beside exp2_approximate(), for formulas that ask for no more.
#define HEARTH_HAS_APPROXIMATIONS 1
HEARTH_INLINE float reciprocal_approximate(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
HEARTH_INLINE float root_approximate(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
HEARTH_INLINE float saturated_fma(float a, float b, float c) {
  float y;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(a), "f"(b), "f"(c));
  return y;
}

// kernels/blocks/dot4.h.
#define HEARTH_HAS_DOT4 1
HEARTH_INLINE int dot4(uint a, uint b, int sum) {
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
HEARTH_INLINE int dot2(uint pair, uint bytes, int sum) {
  asm("dp2a.lo.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
  return sum;
}

// What every launch begins with. A graph may start it while the launch before it still runs
// (src/devices/cuda/driver/commands/cuda_graph.h): nothing of memory is touched before that one,
// and with it all that it waited for, has ended. Then the next launch may be started.
#if __CUDA_ARCH__ >= 900
HEARTH_INLINE void begin_launch() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#else
HEARTH_INLINE void begin_launch() {}
#endif

HEARTH_INLINE uint lane_index() {
  uint lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Four of the eight bytes of `low` and `high`, by the lowest four nibbles of `which`, which are
// below 8: see kernels/formulas/packed/block.h.
#define HEARTH_HAS_PICK4 1
HEARTH_INLINE uint pick4(uint low, uint high, uint which) {
  uint picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(low), "r"(high), "r"(which));
  return picked;
}
// The same value, which a compiler does not take for a constant: it is made once, and stays in a
// register of each lane. (No processor has such a number.)
HEARTH_INLINE uint kept(uint value) {
  uint processor;
  asm("mov.u32 %0, %%smid;" : "=r"(processor));
  return value + ((processor + lane_index()) >> 31);
}

// Two halves a word, rounded once.
#define HEARTH_HAS_HALF_PAIRS 1
HEARTH_INLINE uint half_differences(uint a, uint b) {
  asm("sub.rn.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
HEARTH_INLINE uint half_products(uint a, uint b) {
  asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}

// What is read once, and shall not take the nearest cache from what is read again.
#define HEARTH_HAS_READ_ONCE 1
HEARTH_INLINE uint4 read_once(const uint4* from) {
  uint4 words;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from));
  return words;
}

template <int kWords>
struct Words {
  uint word[kWords];
};
// `move` moves one 32-bit word between lanes; values of any size go word by word.
template <class T, class Move>
HEARTH_INLINE T move_words(T value, Move move) {
  if constexpr (sizeof(T) == 1) {
    return as_type<T>(uchar(move(uint(as_type<uchar>(value)))));
  } else if constexpr (sizeof(T) == 2) {
    return as_type<T>(ushort(move(uint(as_type<ushort>(value)))));
  } else {
    Words<sizeof(T) / 4> words = as_type<Words<sizeof(T) / 4>>(value);
    for (uint& word : words.word) word = move(word);
    return as_type<T>(words);
  }
}

#define HEARTH_SHUFFLE(name, intrinsic)                                                        \
  template <class T>                                                                           \
  HEARTH_INLINE T name(T value, ushort lane_or_delta) {                                        \
    return move_words(value,                                                                   \
                      [=](uint word) { return intrinsic(0xffffffffu, word, lane_or_delta); }); \
  }
HEARTH_SHUFFLE(simd_shuffle, __shfl_sync)
HEARTH_SHUFFLE(simd_broadcast, __shfl_sync)
HEARTH_SHUFFLE(simd_shuffle_xor, __shfl_xor_sync)
HEARTH_SHUFFLE(simd_shuffle_up, __shfl_up_sync)
HEARTH_SHUFFLE(simd_shuffle_down, __shfl_down_sync)
#undef HEARTH_SHUFFLE
// What the lanes of a simdgroup have.
template <class T>
struct Lanes {
  T mine;
  HEARTH_INLINE explicit Lanes(const T& value) : mine(value) {}
  HEARTH_INLINE T of(uint lane) const { return simd_shuffle(mine, ushort(lane)); }
};

// kernels/blocks/mma.h for the dtype of the first argument.
#if __CUDA_ARCH__ >= 800
#define HEARTH_HAS_TILE_PRODUCT 1
#define HEARTH_TILE_PRODUCT(T, name)                                           \
  HEARTH_INLINE float4 tile_product(T, uint4 a, uint2 b, float4 sum) {         \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name                 \
        ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(sum.x), "+f"(sum.y), "+f"(sum.z), "+f"(sum.w)                   \
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));         \
    return sum;                                                                \
  }
HEARTH_TILE_PRODUCT(half, "f16")
HEARTH_TILE_PRODUCT(bfloat, "bf16")
#undef HEARTH_TILE_PRODUCT
// Two floats rounded, `a` in the lower half of the word.
HEARTH_INLINE uint rounded_halves(half, float a, float b) {
  uint word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(b), "f"(a));
  return word;
}
HEARTH_INLINE uint rounded_halves(bfloat, float a, float b) {
  uint word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(b), "f"(a));
  return word;
}
HEARTH_INLINE uint4 transposed_tiles(const uint4* row) {
  uint4 words;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(uint(__cvta_generic_to_shared(row))));
  return words;
}
HEARTH_INLINE int4 byte_tile_product(uint4 a, uint2 b, int4 sum) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sum.x), "+r"(sum.y), "+r"(sum.z), "+r"(sum.w)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
  return sum;
}
HEARTH_INLINE int4 byte_tile_product(uint2 a, uint b, int4 sum) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+r"(sum.x), "+r"(sum.y), "+r"(sum.z), "+r"(sum.w)
      : "r"(a.x), "r"(a.y), "r"(b));
  return sum;
}
#endif

// kernels/blocks/async_copy.h.
#if __CUDA_ARCH__ >= 800
#define HEARTH_HAS_ASYNC_COPY 1
HEARTH_INLINE void start_async_copy(uint4* to, const void* from, bool there) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(uint(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0));
}
HEARTH_INLINE void commit_async_copies() { asm volatile("cp.async.commit_group;"); }
HEARTH_INLINE void wait_for_async_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

// The lanes where the condition holds, lane 0 in the lowest bit.
HEARTH_INLINE uint ballot(bool condition) { return __ballot_sync(0xffffffffu, condition); }
HEARTH_INLINE bool simd_any(bool condition) { return __any_sync(0xffffffffu, condition); }
HEARTH_INLINE bool simd_all(bool condition) { return __all_sync(0xffffffffu, condition); }

// Pairs 16 lanes apart first, then 8, 4, 2, 1; all lanes get the same bits.
#define HEARTH_SIMD_REDUCTION(name, combined)              \
  template <class T>                                       \
  HEARTH_INLINE T name(T a) {                              \
    for (int distance = 16; distance > 0; distance /= 2) { \
      const T b = simd_shuffle_xor(a, ushort(distance));   \
      a = T(combined);                                     \
    }                                                      \
    return a;                                              \
  }
HEARTH_SIMD_REDUCTION(simd_sum, a + b)
HEARTH_SIMD_REDUCTION(simd_product, a* b)
HEARTH_SIMD_REDUCTION(simd_min, min(a, b))
HEARTH_SIMD_REDUCTION(simd_max, max(a, b))
HEARTH_SIMD_REDUCTION(simd_and, a& b)
HEARTH_SIMD_REDUCTION(simd_or, a | b)
HEARTH_SIMD_REDUCTION(simd_xor, a ^ b)
#undef HEARTH_SIMD_REDUCTION

template <class T>
HEARTH_INLINE T simd_prefix_inclusive_sum(T value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const T before = simd_shuffle_up(value, ushort(distance));
    if (lane_index() >= uint(distance)) value = T(before + value);
  }
  return value;
}
template <class T>
HEARTH_INLINE T simd_prefix_exclusive_sum(T value) {
  const T before = simd_shuffle_up(simd_prefix_inclusive_sum(value), ushort(1));
  return lane_index() == 0u ? T(0) : before;
}

// Relaxed atomics on int and uint; addition and exchange on float, too.
template <class T>
HEARTH_INLINE auto unwrap(volatile atomic<T>* object) {
  if constexpr (is_integral_v<T> && sizeof(T) == 8) {
    typedef conditional_t<is_signed_v<T>, long long, unsigned long long> Wide;
    return reinterpret_cast<Wide*>(const_cast<T*>(&object->value));
  } else {
    return const_cast<T*>(&object->value);
  }
}
#define HEARTH_ATOMIC(name, intrinsic)                                                 \
  template <class T>                                                                   \
  HEARTH_INLINE T name(volatile atomic<T>* object, typename identity<T>::type operand, \
                       memory_order) {                                                 \
    return intrinsic(unwrap(object), operand);                                         \
  }
HEARTH_ATOMIC(atomic_fetch_add_explicit, ::atomicAdd)
HEARTH_ATOMIC(atomic_fetch_min_explicit, ::atomicMin)
HEARTH_ATOMIC(atomic_fetch_max_explicit, ::atomicMax)
HEARTH_ATOMIC(atomic_fetch_sub_explicit, ::atomicSub)
HEARTH_ATOMIC(atomic_fetch_xor_explicit, ::atomicXor)
HEARTH_ATOMIC(atomic_fetch_and_explicit, ::atomicAnd)
HEARTH_ATOMIC(atomic_fetch_or_explicit, ::atomicOr)
HEARTH_ATOMIC(atomic_exchange_explicit, ::atomicExch)
#undef HEARTH_ATOMIC
template <class T>
HEARTH_INLINE T atomic_load_explicit(const volatile atomic<T>* object, memory_order) {
  return object->value;
}
template <class T>
HEARTH_INLINE void atomic_store_explicit(volatile atomic<T>* object,
                                         typename identity<T>::type value, memory_order) {
  object->value = value;
}
template <class T>
HEARTH_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object, T* expected,
                                                         typename identity<T>::type desired,
                                                         memory_order, memory_order) {
  if constexpr (is_same_v<T, float>) {
    const uint wanted = as_type<uint>(*expected);
    const uint before =
        ::atomicCAS(reinterpret_cast<uint*>(unwrap(object)), wanted, as_type<uint>(desired));
    *expected = as_type<float>(before);
    return before == wanted;
  } else {
    // There is none of long.
    typedef conditional_t<sizeof(T) == 8, unsigned long long, T> Word;
    const T before =
        T(::atomicCAS(reinterpret_cast<Word*>(unwrap(object)), Word(*expected), Word(desired)));
    const bool same = before == *expected;
    *expected = before;
    return same;
  }
}

#include "kernels/prelude/ctx.h"
#include "kernels/prelude/simdgroup.h"

HEARTH_INLINE constexpr int constant_ctz(uint x) {
  if (!__builtin_is_constant_evaluated()) return int(ctz(x));
  int bits = 0;
  while (bits < 32 && ((x >> bits) & 1u) == 0u) ++bits;
  return bits;
}

HEARTH_INLINE Ctx current_ctx() {
  const uint3 tg(blockIdx.x, blockIdx.y, blockIdx.z);
  const uint3 tid(threadIdx.x, threadIdx.y, threadIdx.z);
  const uint3 ntid(blockDim.x, blockDim.y, blockDim.z);
  const uint3 ntg(gridDim.x, gridDim.y, gridDim.z);
  const uint thread_index = tid.x + ntid.x * (tid.y + ntid.y * tid.z);
  const uint thread_count = ntid.x * ntid.y * ntid.z;
  return {tg,  tid,          tg * ntid + tid,    ntid,
          ntg, lane_index(), thread_index / 32u, (thread_count + 31u) / 32u};
}

}  // namespace metal

#define __builtin_ctz(x) (metal::constant_ctz(metal::uint(x)))
#define __builtin_clz(x) (int(metal::clz(metal::uint(x))))
#define __builtin_popcount(x) (::__popc(x))
// NVRTC does not know GNU's word in front of anonymous structs.
#define __extension__
// Last: NVRTC's own macros use some of these words.
#define device
#define thread
#define threadgroup
#define constant const
