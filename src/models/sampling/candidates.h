// The tokens that may be drawn, and the steps that drop some of them or change their weights.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth::models {

// Gaps i64 (fixed_point.h) and tokens i32, both [rows, count], from the highest score of a row to
// its lowest, of equal ones from the lowest token. A dropped token keeps its place, with
// kDroppedGap.
struct Candidates {
  Array gaps;
  Array tokens;
};

// The gaps of scores f32 [rows, n] below `highest` [rows, 1]; scores of -infinity are dropped.
Array gaps_below(const Array& scores, const Array& highest);

// The `count` highest of scores f32 [rows, vocabulary] without NaN.
Candidates highest_candidates(const Array& scores, std::int64_t count);

// Whether a token is not dropped: bool like gaps.
Array is_kept(const Candidates& candidates);
// i64 like gaps: those to the likeliest that is kept.
Array gaps_to_likeliest(const Candidates& candidates);
// i64 like gaps, 0 of dropped tokens. The likeliest has 2^kWeightBits.
Array candidate_weights(const Candidates& candidates);
// With dropped what `condition`, bool like gaps, does not name.
Candidates kept_where(const Candidates& candidates, const Array& condition);

// Steps, of all rows at once; their arguments are [rows, 1], with a value that changes nothing.

// The k likeliest; i64, any number from the vocabulary's size on.
Candidates keep_top_k(const Candidates& candidates, const Array& k);
// The fewest likeliest that have this share (share_word(), u64) of `total`, i64, or without one of
// their own weights; the largest word changes nothing.
Candidates keep_top_p(const Candidates& candidates, const Array& share, const Array& total = {});
// Gaps to the likeliest of at most `limit`, i64; kDroppedGap / 2 changes nothing. Of gaps in any
// order.
Candidates keep_within(const Candidates& candidates, const Array& limit);
// Of tokens with at least this share of the weights the least likely only.
Candidates keep_least_of_top(const Candidates& candidates, const Array& share);
// Scores are multiplied by `factor`, f32 and positive. Of gaps in any order.
Candidates scaled_scores(const Candidates& candidates, const Array& factor);

}  // namespace hearth::models
