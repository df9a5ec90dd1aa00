#include "models/sampling/fixed_point.h"

#include <array>
#include <cmath>
#include <limits>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kLowWord = 0xffffffff;

// 2^-f for f in [0, 1), coefficients with 36 binary places; exact at 0.
constexpr int kExpBits = 36;
constexpr std::array<std::int64_t, 7> kExpTerms = {
    68719476736, -47632704990, 16508112798, -3813386193, 658455412, -87761597, 7546298};
// log2(1 + m) for m in [0, 1), coefficients with kLogBits binary places; exact at 0.
constexpr int kMantissaBits = 30;
constexpr std::array<std::int64_t, 10> kLogTerms = {
    0,          6196323216, -3097964347, 2062526399, -1527694822,
    1147415656, -780847223, 416388399,   -144880369, 23700413};
constexpr int kFactorBits = 30;
constexpr std::int64_t kLog2E = 1549082005;  // log2(e) with kFactorBits binary places
constexpr std::int64_t kLn2 = 744261118;     // ln(2), likewise

template <std::size_t kTerms>
Array polynomial(const std::array<std::int64_t, kTerms>& terms, const Array& x, int x_bits) {
  Array sum = mul(x, terms.back());
  for (std::size_t i = kTerms - 1; i-- > 1;) {
    sum = mul(add(bitwise_right_shift(sum, std::int64_t{x_bits}), terms[i]), x);
  }
  return add(bitwise_right_shift(sum, std::int64_t{x_bits}), terms.front());
}

// x as fraction * 2^(place - 62) with a fraction in [2^62, 2^63).
struct Normalized {
  Array fraction, place;
};
Normalized normalized(const Array& x) {
  Normalized n{x, full_like(x, std::int64_t{62})};
  for (const std::int64_t step : {32, 16, 8, 4, 2, 1}) {
    const Array is_small = less(n.fraction, std::int64_t{1} << (63 - step));
    n.fraction = where(is_small, bitwise_left_shift(n.fraction, step), n.fraction);
    n.place = where(is_small, sub(n.place, step), n.place);
  }
  return n;
}

// The two words of the 128-bit product.
struct Product {
  Array high, low;
};
Product wide_product(const Array& total, const Array& word) {
  const Array x = cast(total, DType::u64);
  const auto high_of = [](const Array& y) { return bitwise_right_shift(y, std::int64_t{32}); };
  const auto low_of = [](const Array& y) { return bitwise_and(y, kLowWord); };
  const Array a = high_of(word), b = low_of(word), c = high_of(x), d = low_of(x);
  const Array middle = add(mul(b, c), high_of(mul(b, d)));
  const Array cross = add(mul(a, d), low_of(middle));
  return {add(add(mul(a, c), high_of(middle)), high_of(cross)), mul(x, word)};
}

}  // namespace

Array weights_of_gaps(const Array& gaps) {
  constexpr std::int64_t kNothingFrom = std::int64_t{32} << kGapBits;
  return weights_of_halvings(
      bitwise_right_shift(mul(clamp_max(gaps, kNothingFrom), kLog2E), std::int64_t{kFactorBits}));
}

Array weights_of_halvings(const Array& halvings) {
  const Array whole = bitwise_right_shift(halvings, std::int64_t{kGapBits});
  const Array fraction = bitwise_and(halvings, (std::int64_t{1} << kGapBits) - 1);
  // One more bit, to round by.
  constexpr int kMore = kWeightBits - kExpBits + 1;
  const Array power = polynomial(kExpTerms, fraction, kGapBits);
  const Array twice = bitwise_right_shift(bitwise_left_shift(power, std::int64_t{kMore}), whole);
  return bitwise_right_shift(add(twice, std::int64_t{1}), std::int64_t{1});
}

Array log2_of(const Array& x) {
  const Normalized n = normalized(x);
  const Array mantissa =
      bitwise_right_shift(sub(n.fraction, std::int64_t{1} << 62), std::int64_t{62 - kMantissaBits});
  return add(bitwise_left_shift(n.place, std::int64_t{kLogBits}),
             polynomial(kLogTerms, mantissa, kMantissaBits));
}

Array gap_quotient(const Array& a, const Array& b) {
  constexpr std::int64_t kPlace = 30;  // of the divisor's first bit, so that nothing overflows
  const Array shift = sub(kPlace, highest_bit(b));
  return div(bitwise_left_shift(shifted(a, shift), std::int64_t{kGapBits}), shifted(b, shift));
}

Array shifted(const Array& x, const Array& shift) {
  return where(less(shift, std::int64_t{0}), bitwise_right_shift(x, neg(shift)),
               bitwise_left_shift(x, shift));
}

Array highest_bit(const Array& x) { return normalized(x).place; }

Array times_ln2(const Array& x) {
  return bitwise_right_shift(mul(x, kLn2), std::int64_t{kFactorBits});
}

Array share_down(const Array& total, const Array& word) {
  return cast(wide_product(total, word).high, DType::i64);
}

Array share_up(const Array& total, const Array& word) {
  const Product product = wide_product(total, word);
  return cast(add(product.high, cast(not_equal(product.low, std::int64_t{0}), DType::u64)),
              DType::i64);
}

std::uint64_t share_word(double share) {
  const double word = std::ceil(share * 0x1p64);
  return word >= 0x1p64 ? std::numeric_limits<std::uint64_t>::max()
                        : static_cast<std::uint64_t>(word);
}

}  // namespace hearth::models
