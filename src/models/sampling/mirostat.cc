#include "models/sampling/mirostat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hearth/ops.h"
#include "models/sampling/fixed_point.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kZipfTokens = 100;
constexpr std::int64_t kAllTokens = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSteepest = 63;  // exponents of laws that are fitted

Array log2_of_weights(const Array& weights) {
  return sub(log2_of(clamp_min(weights, std::int64_t{1})), std::int64_t{kWeightBits} << kLogBits);
}

// With kGapBits binary places.
Array zipf_exponent(const Candidates& candidates) {
  const std::int64_t count = std::min(kZipfTokens, candidates.gaps.shape(1)) - 1;
  constexpr int kStepBits = 30;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto rank = static_cast<double>(i);
    values.push_back(std::llround(std::log((rank + 2) / (rank + 1)) * 0x1p30));
  }
  const Array steps = Array::from_data(values, {1, count}, candidates.gaps.device());
  const Array next = narrow(candidates.gaps, 1, 1, count);
  const Array is_known = less(next, kDroppedGap);
  const Array falls =
      clamp_max(sub(next, narrow(candidates.gaps, 1, 0, count)), std::int64_t{64} << kGapBits);
  const auto total = [&](const Array& terms) {
    return sum(where(is_known, bitwise_right_shift(terms, std::int64_t{kGapBits}), std::int64_t{0}),
               {1}, true);
  };
  // Of 30, and of 36 binary places.
  const Array products = total(mul(steps, falls));
  const Array squares = clamp_min(total(mul(steps, steps)), std::int64_t{1});
  const Array dividend = bitwise_left_shift(products, std::int64_t{kStepBits - kGapBits});
  return clamp_min(gap_quotient(minimum(dividend, mul(squares, kSteepest)), squares),
                   std::int64_t{1});
}

// kAllTokens where nothing is to change, else `count`.
Array unless_off(const Array& mu, const Array& count) {
  return where(greater_equal(mu, kMostSurprise << kLogBits), kAllTokens, count);
}

// How many tokens; [rows, 1].
Array zipf_count(const Candidates& candidates, const Array& mu, std::int64_t vocabulary) {
  // k = (epsilon 2^mu / (1 - V^-epsilon))^(1 / s), epsilon = s - 1. For a negative epsilon
  // numerator and denominator are negative: with a = |epsilon|, k^s = a 2^mu V^-a / (1 - V^-a).
  constexpr std::int64_t kOne = std::int64_t{1} << kGapBits;
  constexpr std::int64_t kMoreBits = kLogBits - kGapBits;
  const Array s = zipf_exponent(candidates);
  const Array epsilon = sub(s, kOne);
  const Array a = clamp_min(abs(epsilon), std::int64_t{1} << 4);
  const std::int64_t log_vocabulary =
      std::llround(std::log2(static_cast<double>(vocabulary)) * static_cast<double>(kOne));
  const Array halvings = bitwise_right_shift(mul(a, log_vocabulary), std::int64_t{kGapBits});
  const Array rest = sub(std::int64_t{1} << kWeightBits, weights_of_halvings(halvings));
  const Array log_a = sub(log2_of(a), std::int64_t{kGapBits} << kLogBits);
  const Array log_power = sub(
      add(log_a, mu),
      add(log2_of_weights(rest), where(less(epsilon, std::int64_t{0}),
                                       bitwise_left_shift(halvings, kMoreBits), std::int64_t{0})));
  constexpr std::int64_t kMostBits = 23;  // of k
  const Array log_k = clamp(
      div(bitwise_left_shift(bitwise_right_shift(log_power, kMoreBits), std::int64_t{kGapBits}), s),
      std::int64_t{0}, kMostBits << kGapBits);
  const Array k = bitwise_right_shift(weights_of_halvings(sub(kMostBits << kGapBits, log_k)),
                                      std::int64_t{kWeightBits} - kMostBits);
  return clamp_min(k, std::int64_t{1});
}

}  // namespace

Candidates keep_by_zipf(const Candidates& candidates, const Array& mu, std::int64_t vocabulary) {
  if (candidates.gaps.shape(1) < 2) return candidates;
  return keep_top_k(candidates, unless_off(mu, zipf_count(candidates, mu, vocabulary)));
}

Candidates keep_by_surprise(const Candidates& candidates, const Array& mu) {
  const Array total = sum(candidate_weights(candidates), {1}, true);
  constexpr std::int64_t kFewer = 12;  // places, so that the product fits
  const Array bits = bitwise_right_shift(sub(mu, log2_of_weights(total)), kFewer);
  constexpr std::int64_t kMore = kGapBits - kLogBits + kFewer;
  const Array limit = bitwise_left_shift(times_ln2(bits), kMore);
  const Candidates kept = keep_within(candidates, unless_off(mu, limit));
  const Candidates likeliest = keep_top_k(candidates, std::int64_t{1});
  return {where(less(limit, std::int64_t{0}), likeliest.gaps, kept.gaps), candidates.tokens};
}

}  // namespace hearth::models
