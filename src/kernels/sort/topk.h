// topk: kernels/sort/topk.metal.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

// What the name of a kernel ends in that makes values and indices, or one of them alone.
inline const char* results_suffix(bool has_values, bool has_indices) {
  return has_values && has_indices ? "" : has_values ? "_values" : "_indices";
}

bool accepts_topk(const Signature& signature);
Prepared prepare_topk(const Signature& signature);

}  // namespace hearth::gpu
