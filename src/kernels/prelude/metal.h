// The dialect for Apple's compiler, which has nearly all of it. Compiled without fast math.
#include <metal_stdlib>
using namespace metal;

#define HEARTH_INLINE inline
