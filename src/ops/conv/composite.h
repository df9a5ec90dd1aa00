// Convolutions in terms of slices and products: what devices without kernels of their own run, and
// the oracle of those that have.
#pragma once

#include "hearth/array.h"
#include "ops/conv/window.h"

namespace hearth {

// x [batch, in, spatial...], weight [out, in / groups, kernel...] to [batch, out, positions...].
Array conv_of_patches(const Array& x, const Array& weight, const ConvWindow& window);
// grad [batch, out, positions...] to the shape of x, whose spatial extents are `extents`.
Array conv_input_of_patches(const Array& grad, const Array& weight, const ConvWindow& window,
                            const Dims& extents);
// To the shape of a weight with the extents `kernel`.
Array conv_weight_of_patches(const Array& x, const Array& grad, const ConvWindow& window,
                             const Dims& kernel);

}  // namespace hearth
