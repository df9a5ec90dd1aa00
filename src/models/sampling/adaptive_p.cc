#include "models/sampling/adaptive_p.h"

#include <cstdint>

#include "hearth/ops.h"
#include "models/sampling/fixed_point.h"

namespace hearth::models {

Candidates favour_probability(const Candidates& candidates, const Array& weights,
                              const Array& target) {
  const Array total = clamp_min(sum(weights, {1}, true), std::int64_t{1});
  const Array away = abs(sub(gap_quotient(weights, total), target));
  // With u = |p - target| and d = u / 0.3: 10 d^2 / (1 + d) = 1000 u^2 / (9 + 30 u). Squares of u
  // have twice as many places as u, and u is at most 1.
  const Array dividend = mul(square(away), std::int64_t{1000});
  const Array divisor = bitwise_left_shift(
      add(mul(away, std::int64_t{30}), std::int64_t{9} << kGapBits), std::int64_t{kGapBits});
  const Array gaps =
      where(less(target, std::int64_t{0}), candidates.gaps, gap_quotient(dividend, divisor));
  return {where(is_kept(candidates), gaps, kDroppedGap), candidates.tokens};
}

}  // namespace hearth::models
