#include "models/sampling/score_tokens.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "models/sampling/candidates.h"
#include "models/sampling/fixed_point.h"

namespace hearth::models {
namespace {

// What log probabilities are made of: log p(t) = score(t) - highest - log(total).
struct ScoreFacts {
  Array highest, totals;           // f32 and i64 (fixed_point.h), [rows, 1]
  Array given;                     // f32 [rows, 1]: score of the token
  Array ahead;                     // i64 [rows, 1]: tokens that are likelier, or equal and lower
  Array best_scores, best_tokens;  // f32 and i64 [rows, count]; undefined where none are wanted
};

ScoreFacts score_facts(const Array& logits, const Array& tokens, std::int64_t best) {
  const Array numbers = cast(logits, DType::f32);
  const Array scores = where(is_nan(numbers), -std::numeric_limits<double>::infinity(), numbers);
  ScoreFacts facts;
  facts.highest = max(scores, {1}, true);
  const Array gaps = gaps_below(scores, facts.highest);
  facts.totals = sum(candidate_weights({gaps, {}}), {1}, true);
  const Array places = clamp_min(reshape(tokens, {tokens.shape(0), 1}), std::int64_t{0});
  facts.given = gather(scores, places, 1);
  const Array all = arange(0, scores.shape(1), 1, tokens.dtype(), tokens.device());
  const Array is_ahead = logical_or(greater(scores, facts.given),
                                    logical_and(equal(scores, facts.given), less(all, places)));
  facts.ahead = sum(cast(is_ahead, DType::i64), {1}, true);
  if (best > 0) std::tie(facts.best_scores, facts.best_tokens) = topk_with_indices(scores, best, 1);
  return facts;
}

// Infinitely high scores share all probability.
float logprob_of(float score, float highest, std::int64_t total) {
  const double gap =
      score == highest ? 0 : static_cast<double>(score) - static_cast<double>(highest);
  return static_cast<float>(gap - std::log(std::ldexp(static_cast<double>(total), -kWeightBits)));
}

std::int64_t most_of(std::span<const std::int64_t> best) {
  return best.empty() ? -1 : *std::max_element(best.begin(), best.end());
}

}  // namespace

std::vector<ScoredToken> score_tokens(const Array& logits, std::span<const std::int32_t> tokens,
                                      std::span<const std::int64_t> best) {
  const std::int64_t most = std::min(most_of(best), logits.shape(1));
  if (most < 0) return {};
  const NoGrad no_grad;
  // Few shapes make few plans.
  const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
  const ScoreFacts facts =
      score_facts(logits,
                  Array::from_data(std::vector<std::int32_t>(tokens.begin(), tokens.end()),
                                   {static_cast<std::int64_t>(tokens.size())}, logits.device()),
                  most == 0 ? 0 : std::min(rounded, logits.shape(1)));
  const auto highest = facts.highest.to_vector<float>();
  const auto totals = facts.totals.to_vector<std::int64_t>();
  const auto scores = facts.given.to_vector<float>();
  const auto ahead = facts.ahead.to_vector<std::int64_t>();
  std::vector<float> best_scores;
  std::vector<std::int64_t> best_tokens;
  if (facts.best_scores.defined()) {
    best_scores = facts.best_scores.to_vector<float>();
    best_tokens = facts.best_tokens.to_vector<std::int64_t>();
  }
  const std::size_t count = best_scores.size() / tokens.size();
  std::vector<ScoredToken> scored(tokens.size(), {std::numeric_limits<float>::quiet_NaN(), {}, 0});
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    if (best[row] < 0 || tokens[row] < 0) continue;
    scored[row].logprob = logprob_of(scores[row], highest[row], totals[row]);
    scored[row].rank = ahead[row] + 1;
    const auto wanted = std::min(count, static_cast<std::size_t>(best[row]));
    for (std::size_t i = row * count; i < row * count + wanted; ++i) {
      scored[row].best.push_back({static_cast<std::int32_t>(best_tokens[i]),
                                  logprob_of(best_scores[i], highest[row], totals[row])});
    }
  }
  return scored;
}

}  // namespace hearth::models
