// The steps of many texts at once, on rows of scores.
#pragma once

#include <cstdint>
#include <span>

#include "hearth/array.h"
#include "models/sampling/sampling_state.h"

namespace hearth::models {

// What a draw leaves on the device, to go on with before anything is read.
struct DrawnArrays {
  Array tokens;   // i32 [rows], -1 where no token could be drawn
  Array weights;  // i64 [rows]: of the token,
  Array totals;   // i64 [rows]: and of all that it was drawn from; as they were before adaptive_p
};

struct ChainDraw {
  DrawnArrays drawn;
  // bool [rows]: what was drawn may be wrong; undefined where nothing is.
  Array is_unsure;
};

// How many candidates a draw looks at where a text does not say how many there are at most.
enum class Candidacy { all, few };

// Draws from edited scores f32 [rows, vocabulary] by the steps of each row's options. Rows whose
// steps stand in different orders are worked on one after the other. With `few` only the likeliest
// tokens are sorted and the weights of the others are added up, where that gives most draws; a row
// for which it does not is unsure. `refused`: see SamplingState::random_words().
ChainDraw draw_from_scores(const Array& scores, std::span<SamplingState* const> states,
                           Candidacy candidacy, std::uint64_t refused = 0);

}  // namespace hearth::models
