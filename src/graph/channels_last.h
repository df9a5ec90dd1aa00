// Arrays [batch, channels, positions...] whose channels, axis 1, are the innermost in memory:
// channels last. Axes of one element may step as they like.
#pragma once

#include "hearth/shape.h"

namespace hearth {

// True if an array of rank 2 or more is dense in the order [batch, positions..., channels].
bool has_channels_innermost(const Shape& shape, const Strides& strides);

// What plans lay out: that order for ranks 4 and 5, row-major for others and where the two are one.
Strides channels_last_strides(const Shape& shape);
// True if an array of these strides is dense in the order of channels_last_strides(): a dense
// matrix is, too, and what has no elements.
bool is_channels_last(const Shape& shape, const Strides& strides);
// The same where that is another order than row-major.
bool is_only_channels_last(const Shape& shape, const Strides& strides);

}  // namespace hearth
