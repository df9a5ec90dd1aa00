// The dialect for Apple's compiler, which has nearly all of it. Compiled without fast math, where
// the compiler contracts within statements all the same unless a pragma forbids it.
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;

#define HEARTH_INLINE inline

inline uint ballot(bool condition) {
  return uint(ulong(simd_vote::vote_t(simd_ballot(condition))));
}
