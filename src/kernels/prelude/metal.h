// The dialect for Apple's compiler, which has nearly all of it. Compiled without fast math.
#include <metal_stdlib>
using namespace metal;

#define HEARTH_INLINE inline

inline uint lanes_where(bool condition) {
  return uint(ulong(simd_vote::vote_t(simd_ballot(condition))));
}
