// conv and its gradients by the vendor's library: kernels/conv/problem.h.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

bool accepts_conv_library(const Signature& signature);
bool wants_conv_channels_last(const Signature& signature);
Prepared prepare_conv_library(const Signature& signature);

}  // namespace hearth::gpu
