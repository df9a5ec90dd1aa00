// Scores as a text's options, memory and grammar change them, before tokens are dropped.
#pragma once

#include <span>

#include "hearth/array.h"
#include "models/sampling/sampling_state.h"

namespace hearth::models {

// f32 [rows, vocabulary] of logits [rows, vocabulary], with SamplingState::logit_edits() and the
// mask of the grammar of each row; -infinity stands for NaN and for what is banned. Throws what
// GrammarMatcher::mask() throws.
Array edited_scores(const Array& logits, std::span<SamplingState* const> states);

}  // namespace hearth::models
