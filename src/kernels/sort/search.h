// What searching in sorted rows shares with sorting.
#pragma once

#include "graph/implementation.h"
#include "kernels/launch/kernel_call.h"

namespace hearth::gpu {

#include "kernels/sort/params.h"

// How elements of a dtype become keys.
KeyOrder key_order(DType dtype, bool descending);

// searchsorted: kernels/sort/search.metal.
Prepared prepare_search(const Signature& signature);

}  // namespace hearth::gpu
