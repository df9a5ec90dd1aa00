// Implementations on GPUs of ops like softmax, which softmax.cc lists with softmax's own.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

// kernels/softmax/causal_softmax.metal: rows that their threads hold.
bool accepts_causal_rows(const Signature& signature);
Prepared prepare_causal_rows(const Signature& signature);

// kernels/softmax/cross_entropy.metal: rows that their threads hold.
bool accepts_cross_entropy(const Signature& signature);
Prepared prepare_cross_entropy(const Signature& signature);
bool accepts_cross_entropy_backward(const Signature& signature);
Prepared prepare_cross_entropy_backward(const Signature& signature);

}  // namespace hearth::gpu
