// How likely scores make given tokens, computed on the device of the scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hearth/array.h"

namespace hearth::models {

struct TokenLogprob {
  std::int32_t token;
  float logprob;
};

struct ScoredToken {
  float logprob;                   // NaN where none was asked for, or there is no token
  std::vector<TokenLogprob> best;  // the likeliest first, of equal ones the lowest token
  std::int64_t rank = 0;           // the token's place among all in that order; 1: the likeliest
};

// logits [rows, vocabulary] of a float dtype; tokens: one for each row, below 0: none; best: for
// each row -1: nothing, else how many of the likeliest. Gives one for each row, or nothing where no
// row asks for anything. Waits for what it gives. Of each row the bits are the same beside any
// others.
std::vector<ScoredToken> score_tokens(const Array& logits, std::span<const std::int32_t> tokens,
                                      std::span<const std::int64_t> best);

}  // namespace hearth::models
