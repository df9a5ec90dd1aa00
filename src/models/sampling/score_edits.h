// Scores as a text's options, memory and grammar change them, before tokens are dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hearth/array.h"
#include "models/sampling/sampling_state.h"

namespace hearth::models {

using SharedMask = std::shared_ptr<const std::vector<std::uint32_t>>;  // see token_mask.h

// A grammar's mask of a vocabulary: what is no token of the grammar's is never allowed, since a
// model may have more scores than its tokenizer has tokens.
SharedMask grammar_mask(const grammar::GrammarMatcher& matcher, std::int64_t vocabulary);
bool is_allowed(const grammar::GrammarMatcher& matcher, std::int32_t token);

// f32 [rows, vocabulary] of logits [rows, vocabulary], with SamplingState::logit_edits() and the
// mask of the grammar of each row that does not wait for its trigger; -infinity stands for NaN and
// for what is banned. Throws what GrammarMatcher::mask() throws.
Array edited_scores(const Array& logits, std::span<SamplingState* const> states);

}  // namespace hearth::models
