#include "models/sampling/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

using Words = std::vector<std::int64_t>;

Array row(const Words& values) {
  return Array::from_data(values, {static_cast<std::int64_t>(values.size())});
}

Words random_words(unsigned seed, std::int64_t below, std::size_t count = 20'000) {
  std::mt19937_64 random(seed);
  // Of all sizes.
  std::uniform_real_distribution<double> bits(0, std::log2(static_cast<double>(below)));
  Words values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<std::int64_t>(std::exp2(bits(random))));
  }
  return values;
}

TEST(FixedPoint, WeightsAreExponentials) {
  Words gaps = random_words(1, std::int64_t{40} << kGapBits);
  gaps.insert(gaps.end(), {0, 1, kFarthestGap, kDroppedGap});
  const Words weights = weights_of_gaps(row(gaps)).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const double expected = std::exp(-std::ldexp(static_cast<double>(gaps[i]), -kGapBits)) * 0x1p40;
    // A gap has 24 places after it is multiplied by log2(e).
    ASSERT_NEAR(static_cast<double>(weights[i]), expected, 0.51 + 5e-8 * expected) << gaps[i];
  }
  EXPECT_EQ(weights_of_gaps(row({0})).to_vector<std::int64_t>(), Words{std::int64_t{1} << 40});
  EXPECT_EQ(weights_of_halvings(row({3 << kGapBits})).to_vector<std::int64_t>(),
            Words{std::int64_t{1} << 37});
}

TEST(FixedPoint, WeightsNeverRise) {
  Words gaps;
  for (std::int64_t gap = 0; gap < std::int64_t{30} << kGapBits; gap += 20'011) gaps.push_back(gap);
  const Words weights = weights_of_gaps(row(gaps)).to_vector<std::int64_t>();
  for (std::size_t i = 1; i < weights.size(); ++i) ASSERT_LE(weights[i], weights[i - 1]) << i;
}

TEST(FixedPoint, Logarithms) {
  Words values = random_words(2, std::int64_t{1} << 62);
  values.insert(values.end(), {1, 2, 3, std::int64_t{1} << 40, (std::int64_t{1} << 62) - 1});
  const Words logs = log2_of(row(values)).to_vector<std::int64_t>();
  const Words places = highest_bit(row(values)).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = std::log2(static_cast<double>(values[i]));
    ASSERT_NEAR(std::ldexp(static_cast<double>(logs[i]), -kLogBits), expected, 2e-8) << values[i];
    ASSERT_LE(std::int64_t{1} << places[i], values[i]);
    ASSERT_GT(std::uint64_t{2} << places[i], static_cast<std::uint64_t>(values[i]));
  }
}

TEST(FixedPoint, Quotients) {
  const Words b = random_words(3, std::int64_t{1} << 56);
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> unit(0, 60);
  Words a;
  for (const std::int64_t divisor : b) {
    a.push_back(static_cast<std::int64_t>(unit(random) * static_cast<double>(divisor)));
  }
  const Words quotients = gap_quotient(row(a), row(b)).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double expected = static_cast<double>(a[i]) / static_cast<double>(b[i]);
    ASSERT_NEAR(std::ldexp(static_cast<double>(quotients[i]), -kGapBits), expected,
                6e-8 + 3e-9 * expected)
        << a[i] << " / " << b[i];
  }
}

TEST(FixedPoint, SharesAreExact) {
  const Words totals = random_words(5, std::int64_t{1} << 62);
  std::mt19937_64 random(6);
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    words.push_back(i % 8 == 0 ? std::uint64_t{1} << (random() % 64) : random());
  }
  const auto count = static_cast<std::int64_t>(words.size());
  const Array word_row = Array::from_data(words, {count});
  const Words down = share_down(row(totals), word_row).to_vector<std::int64_t>();
  const Words up = share_up(row(totals), word_row).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    // The product of 32-bit halves, added up with carries.
    const auto total = static_cast<std::uint64_t>(totals[i]);
    const std::uint64_t low_low = (total & 0xffffffff) * (words[i] & 0xffffffff);
    const std::uint64_t low_high = (total & 0xffffffff) * (words[i] >> 32);
    const std::uint64_t high_low = (total >> 32) * (words[i] & 0xffffffff);
    const std::uint64_t carry =
        ((low_low >> 32) + (low_high & 0xffffffff) + (high_low & 0xffffffff)) >> 32;
    const std::uint64_t high =
        (total >> 32) * (words[i] >> 32) + (low_high >> 32) + (high_low >> 32) + carry;
    ASSERT_EQ(static_cast<std::uint64_t>(down[i]), high);
    ASSERT_EQ(static_cast<std::uint64_t>(up[i]), high + (total * words[i] != 0 ? 1 : 0));
  }
  EXPECT_EQ(share_word(1), ~std::uint64_t{0});
  EXPECT_EQ(share_word(0.5), std::uint64_t{1} << 63);
  EXPECT_EQ(share_word(0), 0u);
}

TEST(FixedPoint, Shifts) {
  EXPECT_EQ(shifted(row({5, -5, 40}), row({2, -1, -3})).to_vector<std::int64_t>(),
            (Words{20, -3, 5}));
  EXPECT_NEAR(static_cast<double>(times_ln2(row({1 << 24})).to_vector<std::int64_t>()[0]),
              std::log(2.0) * 0x1p24, 1);
}

}  // namespace
}  // namespace hearth::models
