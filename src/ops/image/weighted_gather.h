// The op that images at points are made of.
#pragma once

#include "hearth/array.h"

namespace hearth {

// y[b, c, p] = sum over t of weights[b, t, p] * x[b, c, indices[b, t, p]], of x [batch, channels,
// n], indices and weights [batch, taps, points]. A tap whose index is not in [0, n) reads nothing
// and adds nothing, whatever it weighs. Weights have x's dtype or the one it is computed in.
Array weighted_gather(const Array& x, const Array& indices, const Array& weights);

// x [batch, channels, height, width] at the points (down, across) [batch, 1, points], counted in
// elements, between its four neighbours, or of the nearest one: [batch, channels, points].
// Neighbours outside are 0.
Array sampled_points(const Array& x, const Array& down, const Array& across, bool nearest);

}  // namespace hearth
