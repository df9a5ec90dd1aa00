// conv and its gradients by the vendor's library: kernels/conv/problem.h.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

bool accepts_conv_library(const Signature& signature);
bool wants_conv_channels_last(const Signature& signature);
Prepared prepare_conv_library(const Signature& signature);
// The exact problem. Hearth's own kernels are rivals in f32 alone, of gradients for the input
// (which transposed convolutions are) with strides: there a library may have one slow engine, if
// results are to be the same each time.
TuningClass conv_class(const Signature& signature);

}  // namespace hearth::gpu
