// Whole numbers for what draws depend on: sums of them do not depend on their order, so the same
// tokens are drawn on every device and in every batch.
//
// A gap is how far a score lies below the highest of its row, in units of 2^-24; a weight is
// e^-gap in units of 2^-40. All arrays are i64 and broadcast.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth::models {

inline constexpr int kGapBits = 24;
inline constexpr int kWeightBits = 40;
inline constexpr int kLogBits = 32;  // of log2_of()
// Scores that are farther away are as far: 2^14.
inline constexpr std::int64_t kFarthestGap = std::int64_t{1} << (kGapBits + 14);
// Of a token that is not drawn.
inline constexpr std::int64_t kDroppedGap = std::int64_t{1} << 60;

// e^-gap as weights, of relative error 3e-9 and rounded to whole ones; 0 from gaps of 28 on. Gaps
// are at least 0.
Array weights_of_gaps(const Array& gaps);

// 2^-halvings as weights, of the same precision; `halvings` have kGapBits binary places and are at
// least 0.
Array weights_of_halvings(const Array& halvings);

// log2(x) with kLogBits binary places, right to 1e-8; x is at least 1.
Array log2_of(const Array& x);

// floor(a / b * 2^kGapBits), right to 30 bits, for 0 <= a < 64 b, b >= 1.
Array gap_quotient(const Array& a, const Array& b);

// x * 2^shift, rounded down; `shift` may be negative.
Array shifted(const Array& x, const Array& shift);
// The largest n with 2^n <= x, for x of at least 1.
Array highest_bit(const Array& x);
// x * ln 2 for |x| below 2^33.
Array times_ln2(const Array& x);

// total * (word / 2^64) rounded down, or up; `word` is u64, total is in [0, 2^62].
Array share_down(const Array& total, const Array& word);
Array share_up(const Array& total, const Array& word);
// The word of a share in [0, 1]; that of 1 is the largest.
std::uint64_t share_word(double share);

}  // namespace hearth::models
