// Copies of 16 bytes from memory into threadgroup memory that run while a thread goes on. Text of
// the kernel dialect.
//
// What a thread began to copy before commit_copies() is there for it after wait_for_copies(), and
// for others after the next barrier. Where a target has no such copies they are done at once.

#include "kernels/blocks/elements.h"

// Zeros where not `there`; nothing is read then.
HEARTH_INLINE void begin_copy(threadgroup uint4* to, device const void* from, bool there) {
#if HEARTH_HAS_ASYNC_COPY
  metal::start_async_copy(to, from, there);
#else
  uint4 words = uint4(0u, 0u, 0u, 0u);
  if (there) words = *(device const uint4*)from;
  *to = words;
#endif
}
HEARTH_INLINE void commit_copies() {
#if HEARTH_HAS_ASYNC_COPY
  metal::commit_async_copies();
#endif
}
// Of all that was committed.
HEARTH_INLINE void wait_for_copies() {
#if HEARTH_HAS_ASYNC_COPY
  metal::wait_for_async_copies();
#endif
}
