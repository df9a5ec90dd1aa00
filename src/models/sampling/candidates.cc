#include "models/sampling/candidates.h"

#include <limits>

#include "hearth/ops.h"
#include "models/sampling/fixed_point.h"

namespace hearth::models {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The last of running sums: their total, [rows, 1].
Array last_of_row(const Array& sums) { return narrow(sums, 1, sums.shape(1) - 1, 1); }

}  // namespace

Array gaps_below(const Array& scores, const Array& highest) {
  constexpr double kUnit = static_cast<double>(std::int64_t{1} << kGapBits);
  const Array far = cast(round(mul(sub(highest, scores), kUnit)), DType::i64);
  const Array gaps = where(equal(scores, highest), std::int64_t{0}, clamp_max(far, kFarthestGap));
  return where(equal(scores, -kInfinity), kDroppedGap, gaps);
}

Candidates highest_candidates(const Array& scores, std::int64_t count) {
  const auto [values, indices] = count < scores.shape(1) ? topk_with_indices(scores, count, 1)
                                                         : sort_with_indices(scores, 1, true);
  return {gaps_below(values, narrow(values, 1, 0, 1)), cast(indices, DType::i32)};
}

Array is_kept(const Candidates& candidates) { return less(candidates.gaps, kDroppedGap); }

Array gaps_to_likeliest(const Candidates& candidates) {
  return sub(candidates.gaps, min(candidates.gaps, {1}, true));
}

Candidates kept_where(const Candidates& candidates, const Array& condition) {
  return {where(condition, candidates.gaps, kDroppedGap), candidates.tokens};
}

Array candidate_weights(const Candidates& candidates) {
  return where(is_kept(candidates), weights_of_gaps(gaps_to_likeliest(candidates)),
               std::int64_t{0});
}

Candidates keep_top_k(const Candidates& candidates, const Array& k) {
  const Array rank = cumsum(cast(is_kept(candidates), DType::i64), 1);
  return kept_where(candidates, less_equal(rank, k));
}

Candidates keep_top_p(const Candidates& candidates, const Array& share, const Array& total) {
  const Array weights = candidate_weights(candidates);
  const Array sums = cumsum(weights, 1);
  const Array enough = share_up(total.defined() ? total : last_of_row(sums), share);
  const Array changes_nothing = equal(bitwise_not(share), std::int64_t{0});
  return kept_where(candidates, logical_or(less(sub(sums, weights), enough), changes_nothing));
}

Candidates keep_within(const Candidates& candidates, const Array& limit) {
  return kept_where(candidates, less_equal(gaps_to_likeliest(candidates), limit));
}

Candidates keep_least_of_top(const Candidates& candidates, const Array& share) {
  const Array weights = candidate_weights(candidates);
  const Array enough = share_up(sum(weights, {1}, true), share);
  const Array is_top = logical_and(is_kept(candidates), greater_equal(weights, enough));
  const Array ranks = cumsum(cast(is_top, DType::i64), 1);
  return kept_where(candidates, logical_not(logical_and(is_top, less(ranks, last_of_row(ranks)))));
}

Candidates scaled_scores(const Candidates& candidates, const Array& factor) {
  const Array scaled = cast(mul(cast(candidates.gaps, DType::f32), factor), DType::i64);
  const Array gaps = where(equal(factor, 1.0), candidates.gaps, clamp_max(scaled, kFarthestGap));
  return {where(is_kept(candidates), gaps, kDroppedGap), candidates.tokens};
}

}  // namespace hearth::models
