#include "models/sampling/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "hearth/ops.h"
#include "models/sampling/candidate_spread.h"
#include "models/sampling/fixed_point.h"
#include "models/sampling/mirostat.h"
#include "sampling_reference.h"

namespace hearth::models {
namespace {

using testing::ReferenceRow;

constexpr std::int64_t kRows = 10'000;
constexpr std::int64_t kTokens = 37;

struct RandomRows {
  std::vector<float> scores;
  std::mt19937 random;

  explicit RandomRows(unsigned seed) : random(seed) {
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> spread(-2.5, 2.5), unit;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const float scale = std::exp(spread(random));
      const bool has_ties = unit(random) < 0.3f, has_gaps = unit(random) < 0.3f;
      for (std::int64_t i = 0; i < kTokens; ++i) {
        float score = scale * normal(random);
        if (has_ties) score = std::round(score * 4) / 4;
        if (has_gaps && i != 7 && unit(random) < 0.4f) {
          score = -std::numeric_limits<float>::infinity();
        }
        scores.push_back(score);
      }
    }
  }
  std::span<const float> row(std::int64_t index) const {
    return std::span(scores).subspan(static_cast<std::size_t>(index * kTokens), kTokens);
  }
  Candidates candidates() const {
    return highest_candidates(Array::from_data(scores, {kRows, kTokens}), kTokens);
  }
  // One number of each row.
  std::vector<double> numbers(double low, double high) {
    std::uniform_real_distribution<double> range(low, high);
    std::vector<double> values;
    for (std::int64_t row = 0; row < kRows; ++row) values.push_back(range(random));
    return values;
  }
};

template <class T>
Array column(const std::vector<double>& numbers, const std::function<T(double)>& convert) {
  std::vector<T> values;
  for (const double number : numbers) values.push_back(convert(number));
  return Array::from_data(values, {static_cast<std::int64_t>(values.size()), 1});
}

// The gaps of tokens in their own order, those of dropped ones infinite.
std::vector<double> gaps_by_token(const Candidates& candidates) {
  const auto gaps = candidates.gaps.to_vector<std::int64_t>();
  const auto tokens = candidates.tokens.to_vector<std::int32_t>();
  std::vector<double> out(gaps.size());
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const std::size_t row = i / kTokens;
    out[row * kTokens + static_cast<std::size_t>(tokens[i])] =
        gaps[i] == kDroppedGap ? std::numeric_limits<double>::infinity()
                               : std::ldexp(static_cast<double>(gaps[i]), -kGapBits);
  }
  return out;
}

// Equal sets, but for rows where a comparison was too close to call, and gaps that are right.
void expect_steps(const RandomRows& rows, const Candidates& kept,
                  const std::function<void(ReferenceRow*, std::size_t)>& reference_step,
                  double rounding = 2e-6) {
  const std::vector<double> gaps = gaps_by_token(kept);
  std::int64_t close = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    ReferenceRow reference(rows.row(row));
    reference_step(&reference, static_cast<std::size_t>(row));
    if (reference.margin < rounding) {
      ++close;
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kTokens; ++i) {
      least = std::min(least, gaps[static_cast<std::size_t>(row) * kTokens + i]);
    }
    for (std::size_t i = 0; i < kTokens; ++i) {
      const double gap = gaps[static_cast<std::size_t>(row) * kTokens + i];
      ASSERT_EQ(std::isfinite(gap), reference.kept(i)) << "row " << row << " token " << i;
      if (!reference.kept(i)) continue;
      const double expected = reference.highest() - reference.scores[i];
      if (expected < 8192) {
        ASSERT_NEAR(gap - least, expected, 1e-6 + reference.relative_error * expected)
            << "row " << row;
      }
    }
  }
  EXPECT_LT(close, kRows / 50);
}

TEST(Candidates, TopK) {
  RandomRows rows(1);
  const auto k = rows.numbers(1, 45);
  const Candidates kept =
      keep_top_k(rows.candidates(),
                 column<std::int64_t>(k, [](double x) { return static_cast<std::int64_t>(x); }));
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) {
    row->top_k(static_cast<std::int64_t>(k[i]));
  });
}

TEST(Candidates, TopP) {
  RandomRows rows(2);
  auto p = rows.numbers(0.001, 1);
  for (std::size_t i = 0; i < p.size(); i += 10) p[i] = 1;
  const Candidates kept = keep_top_p(
      rows.candidates(), column<std::uint64_t>(p, [](double x) { return share_word(x); }));
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) { row->top_p(p[i]); });
}

TEST(Candidates, TopPOfEqualTokensKeepsNoneTooMany) {
  const Array scores = zeros({1, 4});
  const Candidates kept = keep_top_p(highest_candidates(scores, 4),
                                     Array::from_data(std::vector{share_word(0.5)}, {1, 1}));
  EXPECT_EQ(is_kept(kept).to_vector<bool>(), (std::vector<bool>{true, true, false, false}));
}

TEST(Candidates, MinP) {
  RandomRows rows(3);
  const auto p = rows.numbers(0.0001, 1);
  const Candidates kept =
      keep_within(rows.candidates(), column<std::int64_t>(p, [](double x) {
                    return static_cast<std::int64_t>(std::ldexp(-std::log(x), kGapBits));
                  }));
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) { row->min_p(p[i]); });
}

TEST(Candidates, TopNSigma) {
  RandomRows rows(4);
  const auto n = rows.numbers(0.01, 4);
  const Candidates candidates = rows.candidates();
  const Array limit = sigma_limit(candidates.gaps,
                                  column<float>(n, [](double x) { return static_cast<float>(x); }));
  expect_steps(
      rows, keep_within(candidates, limit),
      [&](ReferenceRow* row, std::size_t i) { row->top_n_sigma(n[i]); }, 1e-4);
}

TEST(Candidates, TypicalP) {
  RandomRows rows(5);
  const auto p = rows.numbers(0.01, 0.99);
  const Candidates kept = keep_typical(
      rows.candidates(), column<std::uint64_t>(p, [](double x) { return share_word(x); }));
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) { row->typical_p(p[i]); }, 5e-7);
}

TEST(Candidates, Xtc) {
  RandomRows rows(6);
  const auto threshold = rows.numbers(0.001, 0.5);
  const Candidates kept = keep_least_of_top(
      rows.candidates(), column<std::uint64_t>(threshold, [](double x) { return share_word(x); }));
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) { row->xtc(threshold[i]); });
}

TEST(Candidates, Temperature) {
  RandomRows rows(7);
  const auto t = rows.numbers(0.05, 5);
  const Candidates kept = scaled_scores(
      rows.candidates(), column<float>(t, [](double x) { return static_cast<float>(1 / x); }));
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) { row->temperature(t[i]); });
}

TEST(Candidates, TemperatureByEntropy) {
  RandomRows rows(8);
  const auto range = rows.numbers(0.01, 1), exponent = rows.numbers(0.1, 3);
  const auto places = [](int count) {
    return [count](double x) { return static_cast<std::int64_t>(std::ldexp(x, count)); };
  };
  std::vector<double> lowest, width;
  for (const double r : range) {
    lowest.push_back(1.2 - r);
    width.push_back(2 * r);
  }
  const Candidates kept = scaled_by_entropy(
      rows.candidates(), {.lowest = column<std::int64_t>(lowest, places(kTemperatureBits)),
                          .range = column<std::int64_t>(width, places(kTemperatureBits)),
                          .exponent = column<std::int64_t>(exponent, places(kExponentBits))});
  expect_steps(rows, kept, [&](ReferenceRow* row, std::size_t i) {
    row->entropy_temperature({.temperature = 1.2,
                              .temperature_range = range[i],
                              .temperature_exponent = std::floor(exponent[i] * 65536) / 65536});
  });
}

TEST(Candidates, MirostatOfBothVersions) {
  RandomRows rows(9);
  const auto mu = rows.numbers(0.1, 6);
  const Array words = column<std::int64_t>(
      mu, [](double x) { return static_cast<std::int64_t>(std::ldexp(x, kLogBits)); });
  const Candidates all = rows.candidates();
  expect_steps(rows, keep_by_surprise(all, words),
               [&](ReferenceRow* row, std::size_t i) { row->mirostat(Mirostat::second, mu[i]); });
  expect_steps(
      rows, keep_by_zipf(all, words, kTokens),
      [&](ReferenceRow* row, std::size_t i) { row->mirostat(Mirostat::first, mu[i]); }, 1e-4);
}

}  // namespace
}  // namespace hearth::models
