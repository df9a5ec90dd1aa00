// What a checked kernel library has besides its kernel: the functions that a compiler calls before
// each access under -fsanitize=thread. The sanitizer's own library is not linked; these hand every
// access that does not go to the thread's own stack to `hearth_access`, which the loader sets.
//
// They are linked into each library and hidden, so that they serve it alone, also in a process that
// is itself under ThreadSanitizer.
#pragma once

namespace hearth::sim {

// `access` is what Access counts, `alignment` what the access's type promises, and `caller` the
// instruction after it.
using AccessHook = void (*)(const void* address, unsigned long bytes, int access,
                            unsigned long alignment, const void* caller);
// An index outside an array of the kernel's own, under -fsanitize=bounds: where, in which type.
using BoundsHook = void (*)(const char* file, unsigned line, const char* type, long index);
// A pointer that is not aligned for its type, under -fsanitize=alignment.
using AlignmentHook = void (*)(const char* file, unsigned line, const char* type,
                               unsigned long alignment, const void* address);

// Expects HEARTH_SIM_STACK_BYTES, the size and alignment of stacks.
inline constexpr char kAccessHooks[] = R"hooks(
#ifdef __clang__
#define HEARTH_PLAIN disable_sanitizer_instrumentation
#else
#define HEARTH_PLAIN no_sanitize("thread")
#endif
#define HEARTH_HOOK __attribute__((visibility("hidden"), HEARTH_PLAIN))
extern "C" {
__attribute__((visibility("default"), used)) void (*hearth_access)(const void*, unsigned long, int,
                                                                     unsigned long, const void*);
__attribute__((visibility("default"), used)) void (*hearth_bounds)(const char*, unsigned,
                                                                     const char*, long);
__attribute__((visibility("default"), used)) void (*hearth_alignment)(
    const char*, unsigned, const char*, unsigned long, const void*);

static inline __attribute__((always_inline, HEARTH_PLAIN)) void hearth_note(
    const volatile void* address, unsigned long bytes, int access, unsigned long alignment = 1) {
  const unsigned long here = (unsigned long)__builtin_frame_address(0);
  if (((unsigned long)address ^ here) < HEARTH_SIM_STACK_BYTES) return;
  hearth_access((const void*)address, bytes, access, alignment, __builtin_return_address(0));
}

HEARTH_HOOK void __tsan_init() {}
HEARTH_HOOK void __tsan_func_entry(void*) {}
HEARTH_HOOK void __tsan_func_exit() {}
HEARTH_HOOK void __tsan_vptr_update(void**, void*) {}
HEARTH_HOOK void __tsan_vptr_read(void**) {}

// Compilers promise 8 bytes for all that is larger.
#define HEARTH_ACCESS(name, access, promised) \
  HEARTH_HOOK void __tsan_##name##1(void* p) { hearth_note(p, 1, access); } \
  HEARTH_HOOK void __tsan_##name##2(void* p) { hearth_note(p, 2, access, promised ? 2 : 1); } \
  HEARTH_HOOK void __tsan_##name##4(void* p) { hearth_note(p, 4, access, promised ? 4 : 1); } \
  HEARTH_HOOK void __tsan_##name##8(void* p) { hearth_note(p, 8, access, promised ? 8 : 1); } \
  HEARTH_HOOK void __tsan_##name##16(void* p) { hearth_note(p, 16, access, promised ? 8 : 1); }
HEARTH_ACCESS(read, 0, true)
HEARTH_ACCESS(write, 1, true)
HEARTH_ACCESS(unaligned_read, 0, false)
HEARTH_ACCESS(unaligned_write, 1, false)
HEARTH_HOOK void __tsan_read_range(void* p, unsigned long bytes) { hearth_note(p, bytes, 0); }
HEARTH_HOOK void __tsan_write_range(void* p, unsigned long bytes) { hearth_note(p, bytes, 1); }
HEARTH_HOOK void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  if (bytes != 0) hearth_note(from, bytes, 0);
  if (bytes != 0) hearth_note(to, bytes, 1);
  return __builtin_memcpy(to, from, bytes);
}
HEARTH_HOOK void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  if (bytes != 0) hearth_note(from, bytes, 0);
  if (bytes != 0) hearth_note(to, bytes, 1);
  return __builtin_memmove(to, from, bytes);
}
HEARTH_HOOK void* __tsan_memset(void* to, int value, unsigned long bytes) {
  if (bytes != 0) hearth_note(to, bytes, 1);
  return __builtin_memset(to, value, bytes);
}

#define HEARTH_FETCH(bits, T, name) \
  HEARTH_HOOK T __tsan_atomic##bits##_fetch_##name(volatile T* p, T value, int) { \
    hearth_note(p, bits / 8, 3); \
    return __atomic_fetch_##name(p, value, __ATOMIC_RELAXED); \
  }
#define HEARTH_ATOMICS(bits, T) \
  HEARTH_HOOK T __tsan_atomic##bits##_load(const volatile T* p, int) { \
    hearth_note(p, bits / 8, 2); \
    return __atomic_load_n(p, __ATOMIC_RELAXED); \
  } \
  HEARTH_HOOK void __tsan_atomic##bits##_store(volatile T* p, T value, int) { \
    hearth_note(p, bits / 8, 3); \
    __atomic_store_n(p, value, __ATOMIC_RELAXED); \
  } \
  HEARTH_HOOK T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) { \
    hearth_note(p, bits / 8, 3); \
    return __atomic_exchange_n(p, value, __ATOMIC_RELAXED); \
  } \
  HEARTH_HOOK bool __tsan_atomic##bits##_compare_exchange_strong( \
      volatile T* p, T* expected, T value, int, int) { \
    hearth_note(p, bits / 8, 3); \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_RELAXED, \
                                       __ATOMIC_RELAXED); \
  } \
  HEARTH_HOOK bool __tsan_atomic##bits##_compare_exchange_weak( \
      volatile T* p, T* expected, T value, int, int) { \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, value, 0, 0); \
  } \
  HEARTH_HOOK T __tsan_atomic##bits##_compare_exchange_val( \
      volatile T* p, T expected, T value, int, int) { \
    __tsan_atomic##bits##_compare_exchange_strong(p, &expected, value, 0, 0); \
    return expected; \
  } \
  HEARTH_FETCH(bits, T, add) \
  HEARTH_FETCH(bits, T, sub) \
  HEARTH_FETCH(bits, T, and) \
  HEARTH_FETCH(bits, T, or) \
  HEARTH_FETCH(bits, T, xor) \
  HEARTH_FETCH(bits, T, nand)
HEARTH_ATOMICS(8, unsigned char)
HEARTH_ATOMICS(16, unsigned short)
HEARTH_ATOMICS(32, unsigned int)
HEARTH_ATOMICS(64, unsigned long)
HEARTH_HOOK void __tsan_atomic_thread_fence(int) {}

// What -fsanitize=bounds passes, as compilers lay it out.
struct HearthType {
  unsigned short kind, info;  // of an integer: the logarithm of its bits, twice, and 1 if signed
  char name[1];
};
struct HearthBounds {
  const char* file;
  unsigned line, column;
  const HearthType *array, *index;
};
HEARTH_HOOK void __ubsan_handle_out_of_bounds(HearthBounds* where, unsigned long index) {
  const unsigned shift = 64 - (1u << (where->index->info >> 1));
  const long value = where->index->info & 1 ? (long)(index << shift) >> shift
                                            : (long)(index << shift >> shift);
  hearth_bounds(where->file, where->line, where->array->name, value);
}
struct HearthMismatch {
  const char* file;
  unsigned line, column;
  const HearthType* type;
  unsigned char alignment, kind;  // the logarithm
};
HEARTH_HOOK void __ubsan_handle_type_mismatch_v1(HearthMismatch* where, void* address) {
  hearth_alignment(where->file, where->line, where->type->name, 1ul << where->alignment, address);
}
HEARTH_HOOK void __tsan_atomic_signal_fence(int) {}
}
)hooks";

}  // namespace hearth::sim
