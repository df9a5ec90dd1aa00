// The steps of many texts at once, on rows of scores.
#pragma once

#include <span>

#include "hearth/array.h"
#include "models/sampling/draw_tokens.h"
#include "models/sampling/sampling_state.h"

namespace hearth::models {

// Draws from edited scores f32 [rows, vocabulary] by the steps of each row's options. Rows whose
// steps stand in different orders are worked on one after the other.
DrawnArrays draw_from_scores(const Array& scores, std::span<SamplingState* const> states);

}  // namespace hearth::models
