// topk: kernels/sort/topk.metal.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

bool accepts_topk(const Signature& signature);
Prepared prepare_topk(const Signature& signature);

}  // namespace hearth::gpu
