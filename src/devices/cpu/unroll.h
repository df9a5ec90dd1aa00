// Before a loop of fixed length: all of its turns written out, whatever the optimiser thinks.
#pragma once

#if defined(__clang__)
#define HEARTH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HEARTH_UNROLL _Pragma("GCC unroll 32")
#endif
