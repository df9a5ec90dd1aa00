// Adaptive-p (https://github.com/MrJackSpade/adaptive-p-docs): weights by how near the probability
// of a token is to a target, so that drawn tokens come to a wanted probability on average.
#pragma once

#include "hearth/array.h"
#include "models/sampling/candidates.h"

namespace hearth::models {

// With d = |p - target| / 0.3 kept candidates have e^(-10 d^2 / (1 + d)) as weights, the width and
// the slope of llama.cpp's. `weights`: those of the candidates before, i64 [rows, count]; `target`:
// i64 [rows, 1], a probability with kGapBits binary places; rows where it is below 0 stay as they
// are. The gaps of the result are not in order.
Candidates favour_probability(const Candidates& candidates, const Array& weights,
                              const Array& target);

}  // namespace hearth::models
