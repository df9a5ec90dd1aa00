// The dialect as declarations for clang (C++14, -fsyntax-only), with real address spaces: what is
// accepted here has its pointers in the address spaces that Metal wants. Nothing is ever run. The
// text stands at global scope after a using directive, as in Metal, so that a name that hides or
// repeats one of Metal's is found as well.
//
// Three things are stricter than in Metal: structs in device memory are read member by member,
// vec<T, N>(a, b, ...) with a T that is a template parameter is filled element by element, and
// vectors are converted by the names float4, half4... only.
//
// As C++ for OpenCL it has address spaces of member functions, as Metal, and no bfloat: for texts
// that bring their own (metal_bfloat.h). What is in no address space is in any then.
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#ifdef __OPENCL_CPP_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// Names that OpenCL keeps for itself.
#define global metal_global
#define local metal_local
#define private metal_private
#define atomic_int metal_atomic_int
#define atomic_uint metal_atomic_uint
#define atomic_float metal_atomic_float
struct bfloat;  // which is never made
#define device __global
#define constant __constant
#define threadgroup __local
#define thread
#else
typedef _Float16 half;
typedef __bf16 bfloat;
#define device __attribute__((address_space(1)))
#define constant __attribute__((address_space(2))) const
#define threadgroup __attribute__((address_space(3)))
#define thread
#endif
#define HEARTH_INLINE inline

namespace metal {

template <class T, int N>
using vec = T __attribute__((ext_vector_type(N)));
#include "kernels/prelude/vec_names.h"

// clang's vectors have no constructors: float4(a, b, c, d) becomes a call.
template <class T, int N>
struct make_vec {
  static vec<T, N> of(T all);
  template <class U>
  static vec<T, N> of(vec<U, N> other);
  static vec<T, N> of(T x, T y);
  static vec<T, N> of(T x, T y, T z);
  static vec<T, N> of(T x, T y, T z, T w);
};

template <class D, class S>
constexpr D as_type(S value) {
  return __builtin_bit_cast(D, value);
}

template <class T>
struct numeric_limits {
  static T min();
  static T lowest();
  static T max();
  static T epsilon();
  static T infinity();
  static T quiet_NaN();
};

#if HEARTH_HAS_F64
#define HEARTH_DOUBLE(declaration) declaration;
#else
#define HEARTH_DOUBLE(declaration)
#endif

#define HEARTH_UNARY(name)             \
  float name(float x);                 \
  half name(half x);                   \
  bfloat name(bfloat x);               \
  template <int N>                     \
  vec<float, N> name(vec<float, N> x); \
  HEARTH_DOUBLE(double name(double x))
HEARTH_UNARY(exp)
HEARTH_UNARY(exp2)
HEARTH_UNARY(log)
HEARTH_UNARY(log2)
HEARTH_UNARY(log10)
HEARTH_UNARY(sin)
HEARTH_UNARY(cos)
HEARTH_UNARY(tan)
HEARTH_UNARY(asin)
HEARTH_UNARY(acos)
HEARTH_UNARY(atan)
HEARTH_UNARY(sinh)
HEARTH_UNARY(cosh)
HEARTH_UNARY(tanh)
HEARTH_UNARY(sqrt)
HEARTH_UNARY(rsqrt)
HEARTH_UNARY(floor)
HEARTH_UNARY(ceil)
HEARTH_UNARY(trunc)
HEARTH_UNARY(rint)
HEARTH_UNARY(round)
HEARTH_UNARY(fabs)
HEARTH_UNARY(abs)
HEARTH_UNARY(sign)
#undef HEARTH_UNARY

#define HEARTH_BINARY(name)                             \
  float name(float x, float y);                         \
  half name(half x, half y);                            \
  bfloat name(bfloat x, bfloat y);                      \
  template <int N>                                      \
  vec<float, N> name(vec<float, N> x, vec<float, N> y); \
  HEARTH_DOUBLE(double name(double x, double y))
HEARTH_BINARY(pow)
HEARTH_BINARY(fmod)
HEARTH_BINARY(atan2)
HEARTH_BINARY(copysign)
HEARTH_BINARY(fmin)
HEARTH_BINARY(fmax)
HEARTH_BINARY(min)
HEARTH_BINARY(max)
#undef HEARTH_BINARY

#define HEARTH_PREDICATE(name) \
  bool name(float x);          \
  bool name(half x);           \
  HEARTH_DOUBLE(bool name(double x))
HEARTH_PREDICATE(isnan)
HEARTH_PREDICATE(isinf)
HEARTH_PREDICATE(isfinite)
HEARTH_PREDICATE(signbit)
#undef HEARTH_PREDICATE

namespace fast {
float exp2(float x);
}  // namespace fast
float fma(float x, float y, float z);
template <int N>
vec<float, N> fma(vec<float, N> x, vec<float, N> y, vec<float, N> z);
float clamp(float x, float low, float high);
HEARTH_DOUBLE(double fma(double x, double y, double z))
HEARTH_DOUBLE(double clamp(double x, double low, double high))
#undef HEARTH_DOUBLE

#define HEARTH_INTEGER_FUNCTIONS(T) \
  T min(T a, T b);                  \
  T max(T a, T b);                  \
  T clamp(T x, T low, T high);      \
  T abs(T x);
HEARTH_INTEGER_FUNCTIONS(char)
HEARTH_INTEGER_FUNCTIONS(uchar)
HEARTH_INTEGER_FUNCTIONS(short)
HEARTH_INTEGER_FUNCTIONS(ushort)
HEARTH_INTEGER_FUNCTIONS(int)
HEARTH_INTEGER_FUNCTIONS(uint)
HEARTH_INTEGER_FUNCTIONS(long)
HEARTH_INTEGER_FUNCTIONS(ulong)
#undef HEARTH_INTEGER_FUNCTIONS

uint mulhi(uint a, uint b);
ulong mulhi(ulong a, ulong b);
uint clz(uint x);
ulong clz(ulong x);
uint popcount(uint x);
template <class T>
T select(T a, T b, bool condition);
template <class T, int N>
T dot(vec<T, N> a, vec<T, N> b);

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
mem_flags operator|(mem_flags a, mem_flags b);
void threadgroup_barrier(mem_flags flags);
void simdgroup_barrier(mem_flags flags);

#define HEARTH_SIMD_VALUE(name) \
  template <class T>            \
  T name(T value);
HEARTH_SIMD_VALUE(simd_sum)
HEARTH_SIMD_VALUE(simd_product)
HEARTH_SIMD_VALUE(simd_min)
HEARTH_SIMD_VALUE(simd_max)
HEARTH_SIMD_VALUE(simd_and)
HEARTH_SIMD_VALUE(simd_or)
HEARTH_SIMD_VALUE(simd_prefix_inclusive_sum)
HEARTH_SIMD_VALUE(simd_prefix_exclusive_sum)
#undef HEARTH_SIMD_VALUE
#define HEARTH_SIMD_SHUFFLE(name) \
  template <class T>              \
  T name(T value, ushort lane_or_delta);
HEARTH_SIMD_SHUFFLE(simd_shuffle)
HEARTH_SIMD_SHUFFLE(simd_broadcast)
HEARTH_SIMD_SHUFFLE(simd_shuffle_xor)
HEARTH_SIMD_SHUFFLE(simd_shuffle_up)
HEARTH_SIMD_SHUFFLE(simd_shuffle_down)
#undef HEARTH_SIMD_SHUFFLE
uint ballot(bool condition);
bool simd_any(bool condition);
bool simd_all(bool condition);

template <class T, int kColumns, int kRows>
struct simdgroup_matrix {
  static_assert(kRows == 8 && kColumns == 8, "simdgroup matrices are 8 x 8");
  simdgroup_matrix();
  explicit simdgroup_matrix(T diagonal);
  vec<T, 2>& thread_elements();
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <class T, int kColumns, int kRows>
simdgroup_matrix<T, kColumns, kRows> make_filled_simdgroup_matrix(T value);
#define HEARTH_SIMDGROUP_MEMORY(space)                                                          \
  template <class T, int C, int R>                                                              \
  void simdgroup_load(simdgroup_matrix<T, C, R>& matrix, const space T* source,                 \
                      ulong row_length = C, ulong2 origin = ulong2(), bool transposed = false); \
  template <class T, int C, int R>                                                              \
  void simdgroup_store(simdgroup_matrix<T, C, R> matrix, space T* target, ulong row_length = C, \
                       ulong2 origin = ulong2(), bool transposed = false);
HEARTH_SIMDGROUP_MEMORY(device)
HEARTH_SIMDGROUP_MEMORY(threadgroup)
#undef HEARTH_SIMDGROUP_MEMORY
template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                                   simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c);
template <class D, class A, class B>
void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                        simdgroup_matrix<B, 8, 8> b);

enum memory_order { memory_order_relaxed };
struct atomic_int {
  int hidden;
};
struct atomic_uint {
  uint hidden;
};
struct atomic_float {
  float hidden;
};
#define HEARTH_ATOMIC(space, A, T)                                                             \
  T atomic_load_explicit(const volatile space A* object, memory_order order);                  \
  void atomic_store_explicit(volatile space A* object, T value, memory_order order);           \
  T atomic_exchange_explicit(volatile space A* object, T value, memory_order order);           \
  T atomic_fetch_add_explicit(volatile space A* object, T operand, memory_order order);        \
  bool atomic_compare_exchange_weak_explicit(volatile space A* object, T* expected, T desired, \
                                             memory_order success, memory_order failure);
#define HEARTH_INTEGER_ATOMIC(space, A, T)                                              \
  HEARTH_ATOMIC(space, A, T)                                                            \
  T atomic_fetch_min_explicit(volatile space A* object, T operand, memory_order order); \
  T atomic_fetch_max_explicit(volatile space A* object, T operand, memory_order order); \
  T atomic_fetch_and_explicit(volatile space A* object, T operand, memory_order order); \
  T atomic_fetch_or_explicit(volatile space A* object, T operand, memory_order order);
HEARTH_INTEGER_ATOMIC(device, atomic_int, int)
HEARTH_INTEGER_ATOMIC(device, atomic_uint, uint)
HEARTH_INTEGER_ATOMIC(threadgroup, atomic_int, int)
HEARTH_INTEGER_ATOMIC(threadgroup, atomic_uint, uint)
// Metal has no float atomics in threadgroup memory.
HEARTH_ATOMIC(device, atomic_float, float)
#undef HEARTH_INTEGER_ATOMIC
#undef HEARTH_ATOMIC

}  // namespace metal

#define float2(...) make_vec<float, 2>::of(__VA_ARGS__)
#define float3(...) make_vec<float, 3>::of(__VA_ARGS__)
#define float4(...) make_vec<float, 4>::of(__VA_ARGS__)
#define half2(...) make_vec<half, 2>::of(__VA_ARGS__)
#define half4(...) make_vec<half, 4>::of(__VA_ARGS__)
#ifndef __OPENCL_CPP_VERSION__
#define bfloat2(...) make_vec<bfloat, 2>::of(__VA_ARGS__)
#define bfloat4(...) make_vec<bfloat, 4>::of(__VA_ARGS__)
#endif
#define int2(...) make_vec<int, 2>::of(__VA_ARGS__)
#define int3(...) make_vec<int, 3>::of(__VA_ARGS__)
#define int4(...) make_vec<int, 4>::of(__VA_ARGS__)
#define uint2(...) make_vec<uint, 2>::of(__VA_ARGS__)
#define uint3(...) make_vec<uint, 3>::of(__VA_ARGS__)
#define uint4(...) make_vec<uint, 4>::of(__VA_ARGS__)

#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define FLT_MAX 3.40282347e+38f
#define FLT_MIN 1.17549435e-38f
#define FLT_EPSILON 1.19209290e-7f
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u

using namespace metal;
