// Which array of a convolution is which, for the kernels of conv and its two gradients.
#pragma once

#include "graph/implementation.h"
#include "hearth/shape.h"

namespace hearth {

// x [batch, in, spatial...], weight [out, in / groups, kernel...], result [batch, out,
// positions...]. They are shapes of the signature.
struct ConvShapes {
  const Shape &x, &weight, &result;
};

// Of conv or one of its gradients.
ConvShapes conv_shapes(const Signature& signature);

}  // namespace hearth
