// The op that pools of means and resized images are.
#pragma once

#include "hearth/array.h"
#include "ops/image/axis_taps.h"

namespace hearth {

// x [batch, channels, inputs...] to [batch, channels, results...].
Array resampled(const Array& x, const Resampling& resampling);

}  // namespace hearth
