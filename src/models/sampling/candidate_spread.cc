#include "models/sampling/candidate_spread.h"

#include <cstdint>

#include "hearth/ops.h"
#include "models/sampling/fixed_point.h"

namespace hearth::models {
namespace {

// The expected gap to the likeliest, and the total of the weights, i64 [rows, 1].
struct ExpectedGap {
  Array gap, total;
};
ExpectedGap expected_gap(const Candidates& candidates, const Array& weights) {
  // A weight times its gap is at most 2^kWeightBits / e.
  const Array near =
      where(greater(weights, std::int64_t{0}), gaps_to_likeliest(candidates), std::int64_t{0});
  const Array products = bitwise_right_shift(mul(weights, near), std::int64_t{kGapBits});
  const Array total = clamp_min(sum(weights, {1}, true), std::int64_t{1});
  return {gap_quotient(sum(products, {1}, true), total), total};
}

// ln(x) with kGapBits binary places, where x has `bits`.
Array natural_log(const Array& x, int bits) {
  const Array log = sub(log2_of(x), std::int64_t{bits} << kLogBits);
  return times_ln2(bitwise_right_shift(log, std::int64_t{kLogBits - kGapBits}));
}

}  // namespace

Array sigma_limit(const Array& gaps, const Array& n) {
  const Candidates all{gaps, {}};
  const Array kept = is_kept(all);
  const Array far = where(kept, gaps_to_likeliest(all), std::int64_t{0});
  // The farthest one has 24 bits, so that squares fit, and what is near as many as there are.
  const Array shift =
      sub(std::int64_t{23}, highest_bit(clamp_min(max(far, {1}, true), std::int64_t{1})));
  const Array scaled = shifted(far, shift);
  const Array count = clamp_min(sum(cast(kept, DType::i64), {1}, true), std::int64_t{1});
  const Array mean = div(sum(scaled, {1}, true), count);
  constexpr std::int64_t kSquareBits = 8;  // left out, so that many squares add up in 62 bits
  const Array squares =
      where(kept, bitwise_right_shift(square(sub(scaled, mean)), kSquareBits), std::int64_t{0});
  const Array variance = div(sum(squares, {1}, true), count);
  const Array deviation = mul(sqrt(cast(variance, DType::f32)), 1 << (kSquareBits / 2));
  const Array limit = shifted(cast(mul(deviation, n), DType::i64), neg(shift));
  return where(less_equal(n, 0.0), kDroppedGap / 2, clamp_max(limit, kFarthestGap));
}

Candidates keep_typical(const Candidates& candidates, const Array& share) {
  const Array weights = candidate_weights(candidates);
  const ExpectedGap expected = expected_gap(candidates, weights);
  const Array distance = where(is_kept(candidates),
                               abs(sub(gaps_to_likeliest(candidates), expected.gap)), kDroppedGap);
  const Array order = argsort(distance, 1);
  const Array sorted_weights = gather(weights, order, 1);
  const Array before = sub(cumsum(sorted_weights, 1), sorted_weights);
  const Array stays = logical_or(less_equal(before, share_down(expected.total, share)),
                                 equal(bitwise_not(share), std::int64_t{0}));
  const Array nothing = zeros(stays.shape(), DType::bool_, stays.device());
  return kept_where(candidates, scatter(nothing, order, stays, 1, IndexingUpdateOp::assign));
}

Candidates scaled_by_entropy(const Candidates& candidates, const EntropyTemperature& temperature) {
  const Array kept = is_kept(candidates);
  const ExpectedGap expected = expected_gap(candidates, candidate_weights(candidates));
  const Array entropy = add(natural_log(expected.total, kWeightBits), expected.gap);
  const Array count = clamp_min(sum(cast(kept, DType::i64), {1}, true), std::int64_t{2});
  constexpr std::int64_t kOne = std::int64_t{1} << kGapBits;
  const Array ratio =
      clamp(gap_quotient(clamp_min(entropy, std::int64_t{0}), natural_log(count, 0)),
            std::int64_t{1}, kOne);
  // ratio^exponent = 2^-(exponent * -log2(ratio))
  const Array log = bitwise_right_shift(sub(std::int64_t{kGapBits} << kLogBits, log2_of(ratio)),
                                        std::int64_t{kLogBits - kGapBits});
  const Array halvings =
      bitwise_right_shift(mul(log, temperature.exponent), std::int64_t{kExponentBits});
  const Array power =
      bitwise_right_shift(weights_of_halvings(halvings), std::int64_t{kWeightBits - kGapBits});
  const Array above = bitwise_right_shift(mul(temperature.range, power), std::int64_t{kGapBits});
  const Array divisor = clamp_min(add(temperature.lowest, above), std::int64_t{1});
  const Array gaps = where(kept, candidates.gaps, std::int64_t{0});
  const Array scaled = clamp_max(
      div(bitwise_left_shift(gaps, std::int64_t{kTemperatureBits}), divisor), kFarthestGap);
  const Array stays = less(temperature.range, std::int64_t{0});
  return {where(kept, where(stays, candidates.gaps, scaled), kDroppedGap), candidates.tokens};
}

}  // namespace hearth::models
