#include "tools/lm/ngram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

namespace hearth::tools {
namespace {

std::span<const std::uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Ngram, FollowsTheFormulaByHand) {
  const std::string text = "abracadabra";
  const NgramModel model(bytes(text), 3);
  // Order 1: 11 bytes, 5 distinct, "a" five times, "b" twice.
  const double p_a = (5 + 5.0 / 256) / (11 + 5);
  const double p_b = (2 + 5.0 / 256) / (11 + 5);
  const double p_z = (0 + 5.0 / 256) / (11 + 5);
  EXPECT_DOUBLE_EQ(model.probability({}, 'a', 1), p_a);
  EXPECT_DOUBLE_EQ(model.probability({}, 'z', 1), p_z);
  EXPECT_DOUBLE_EQ(model.probability(bytes("ra"), 'a', 1), p_a);
  // Order 2: after "a" come b c d b: 4 bytes, 3 distinct. After "b" comes r, twice.
  EXPECT_DOUBLE_EQ(model.probability(bytes("a"), 'b', 2), (2 + 3 * p_b) / (4 + 3));
  EXPECT_DOUBLE_EQ(model.probability(bytes("xa"), 'z', 2), (0 + 3 * p_z) / (4 + 3));
  EXPECT_DOUBLE_EQ(model.probability(bytes("b"), 'a', 2), (0 + 1 * p_a) / (2 + 1));
  // Order 3: after "ra" comes c, once, since the last "ra" ends the text.
  const double p_c = (1 + 5.0 / 256) / 16;
  const double p_ac = (1 + 3 * p_c) / (4 + 3);
  EXPECT_DOUBLE_EQ(model.probability(bytes("bra"), 'c', 3), (1 + 1 * p_ac) / (1 + 1));
  // Contexts never seen fall back on shorter ones, down to uniform bytes.
  EXPECT_DOUBLE_EQ(model.probability(bytes("za"), 'c', 3), p_ac);
  EXPECT_DOUBLE_EQ(model.probability(bytes("zz"), 'a', 3), p_a);
  EXPECT_DOUBLE_EQ(NgramModel({}, 3).probability(bytes("ab"), 'c', 3), 1.0 / 256);
}

TEST(Ngram, MeanIsOverAllBytes) {
  const std::string text = "abracadabra";
  const NgramModel model(bytes(text), 2);
  const std::string held_out = "cab";
  const double expected =
      -(std::log(model.probability({}, 'c', 2)) + std::log(model.probability(bytes("c"), 'a', 2)) +
        std::log(model.probability(bytes("a"), 'b', 2))) /
      3;
  EXPECT_NEAR(model.nats_per_byte(bytes(held_out), 2), expected, 1e-12);
  EXPECT_EQ(model.nats_per_byte({}, 2), 0.0);
  EXPECT_NEAR(NgramModel({}, 1).nats_per_byte(bytes(held_out), 1), std::log(256.0), 1e-12);
}

TEST(Ngram, ProbabilitiesSumToOne) {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525u + 1013904223u;
    text += static_cast<char>((state >> 24) % 7 * 40);
  }
  const NgramModel model(bytes(text), NgramModel::kMaxOrder);
  for (int order = 1; order <= NgramModel::kMaxOrder; ++order) {
    double sum = 0.0;
    for (int c = 0; c < 256; ++c) {
      sum += model.probability(bytes(text.substr(100, 10)), static_cast<std::uint8_t>(c), order);
    }
    EXPECT_NEAR(sum, 1.0, 1e-12) << order;
  }
}

TEST(Ngram, ZeroBytesAreContextToo) {
  const std::string text(100, '\0');
  const NgramModel model(bytes(text), 3);
  EXPECT_GT(model.probability(bytes(text), 0, 3), 0.98);
  const std::string high(100, '\xff');
  EXPECT_GT(NgramModel(bytes(high), 7).probability(bytes(high), 0xff, 7), 0.98);
}

TEST(Ngram, RefusesOrdersOutOfRange) {
  EXPECT_THROW(NgramModel({}, 0), Error);
  EXPECT_THROW(NgramModel({}, 8), Error);
  const NgramModel model({}, 2);
  EXPECT_THROW(model.probability({}, 'a', 3), Error);
  EXPECT_THROW(model.nats_per_byte({}, 0), Error);
}

}  // namespace
}  // namespace hearth::tools
