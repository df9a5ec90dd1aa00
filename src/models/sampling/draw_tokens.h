// Drawing the next token of many texts at once, on the device of their scores.
//
// The n-th draw of a text depends on its seed, n, its scores, and what its state remembers, bit for
// bit: not on the texts beside it, on its row or on the device, for all that counts is sorted or
// added as whole numbers (fixed_point.h). The token is drawn in the order of the scores, of equal
// ones from the lowest token, with the 64 bits of Philox(seed, n).
//
// Where a text has a grammar its mask is applied before everything else, so that a token is drawn
// from what the grammar allows in exact proportion. (To draw first and to mask only where the token
// is refused draws from the same distribution only if the second draw takes other random bits and
// no step drops tokens. This is done where a grammar waits for its trigger, with random bits of its
// own: little is refused there, and finding all of it is slow.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hearth/array.h"
#include "models/sampling/sampling_state.h"
#include "models/sampling/score_tokens.h"

namespace hearth::models {

struct DrawnToken {
  std::int32_t token;  // -1: no token could be drawn, as where no score is a number or all banned
  float logprob;       // of the scores as they came, before any option; NaN unless asked for
  std::vector<TokenLogprob> best;  // the likeliest by these, as many as asked for
};

// logits [rows, vocabulary] of a float dtype; states: one for each row, each another one, of the
// same vocabulary; logprobs: for each row -1: none, else how many of the best; empty: none for all.
// Waits for the tokens. Does not accept() them: the caller does. Throws Error{shape}, Error{dtype}
// and Error{invalid_argument} for what does not fit, and what GrammarMatcher::mask() throws.
std::vector<DrawnToken> draw_tokens(const Array& logits, std::span<SamplingState* const> states,
                                    std::span<const std::int64_t> logprobs = {});

}  // namespace hearth::models
