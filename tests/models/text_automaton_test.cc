#include "models/grammar/text_automaton.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_multiples.h"
#include "models/grammar/schema_pattern.h"
#include "models/grammar/schema_texts.h"

namespace hearth::models::grammar {
namespace {

// All texts of at most `longest` of the letters.
std::vector<std::string> all_texts(const std::string& letters, std::size_t longest) {
  std::vector<std::string> out{""};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].size() == longest) continue;
    for (const char letter : letters) out.push_back(out[i] + letter);
  }
  return out;
}

TEST(TextAutomaton, IsWhatThePatternsSay) {
  const std::vector<std::string> patterns = {"^a*b$", "ab|ba", "^(ab|a)*c?$", "^[^a]{2,3}$",
                                             "a.c",   "^$",    "b{2}",        "^(a|b)*a(a|b){2}$"};
  const std::vector<std::string> texts = all_texts("abc", 5);
  AutomatonSteps steps;
  std::vector<TextAutomaton> automata;
  std::vector<std::regex> oracles;
  for (const std::string& pattern : patterns) {
    automata.emplace_back(read_pattern(pattern).texts, steps);
    oracles.emplace_back(pattern);
  }
  const auto matches = [&](const std::string& text, std::size_t i) {
    return std::regex_search(text, oracles[i]);
  };
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const TextAutomaton negated = automata[i].negated(), merged = automata[i].merged(steps);
    EXPECT_LE(merged.states().size(), automata[i].states().size());
    for (const std::string& text : texts) {
      ASSERT_EQ(automata[i].accepts(text), matches(text, i)) << patterns[i] << " " << text;
      ASSERT_EQ(negated.accepts(text), !matches(text, i)) << patterns[i] << " " << text;
      ASSERT_EQ(merged.accepts(text), matches(text, i)) << patterns[i] << " " << text;
    }
    EXPECT_TRUE(automata[i].both(negated, steps).is_empty());
    for (std::size_t j = 0; j < patterns.size(); ++j) {
      const TextAutomaton both = automata[i].both(automata[j], steps);
      for (const std::string& text : texts) {
        ASSERT_EQ(both.accepts(text), matches(text, i) && matches(text, j))
            << patterns[i] << " " << patterns[j] << " " << text;
      }
    }
  }
}

TEST(TextAutomaton, CountsCodePoints) {
  const TextAutomaton lengths = TextAutomaton::of_lengths(2, 3);
  EXPECT_TRUE(lengths.accepts("é€"));
  EXPECT_TRUE(lengths.accepts("a😀b"));
  EXPECT_FALSE(lengths.accepts("€"));
  EXPECT_FALSE(lengths.accepts("abcd"));
  EXPECT_TRUE(TextAutomaton::of_lengths(1, -1).accepts("abcdef"));
  EXPECT_FALSE(TextAutomaton::of_lengths(1, -1).accepts(""));
  EXPECT_THROW(TextAutomaton::of_lengths(0, 100'000), Error);
}

TEST(TextAutomaton, MultiplesAreWhatDivisionSays) {
  for (const int by : {1, 2, 7, 12, 25, 60, 1000}) {
    AutomatonSteps steps;
    const TextAutomaton multiples = multiples_of({false, std::to_string(by), ""}, steps);
    for (int i = -3000; i <= 3000; ++i) {
      ASSERT_EQ(multiples.accepts(std::to_string(i)), i % by == 0) << i << " by " << by;
    }
    EXPECT_FALSE(multiples.accepts("0.0"));
  }
  AutomatonSteps steps;
  const TextAutomaton quarters = multiples_of({false, "0", "25"}, steps);
  for (int hundredths = -900; hundredths <= 900; ++hundredths) {
    const int size = std::abs(hundredths);
    const std::string text = (hundredths < 0 ? "-" : "") + std::to_string(size / 100) + "." +
                             std::to_string(100 + size % 100).substr(1);
    ASSERT_EQ(quarters.accepts(text), hundredths % 25 == 0) << text;
    if (size % 10 == 0) {
      ASSERT_EQ(quarters.accepts(text.substr(0, text.size() - 1)), hundredths % 25 == 0) << text;
    }
  }
}

// Texts on which dialects of patterns differ are of neither side.
TEST(TextAutomaton, WhatDoesNotMatchMatchesInNoDialect) {
  AutomatonSteps steps;
  const TextAutomaton no_digit = texts_without(read_pattern("\\d"), steps);
  EXPECT_TRUE(no_digit.accepts("ab"));
  EXPECT_FALSE(no_digit.accepts("a1"));
  EXPECT_FALSE(no_digit.accepts("a\u0663"));
  const TextAutomaton not_a = texts_without(read_pattern("^a$"), steps);
  EXPECT_TRUE(not_a.accepts("\u0663"));
  EXPECT_FALSE(not_a.accepts("a"));
  EXPECT_FALSE(not_a.accepts("a\n"));
}

}  // namespace
}  // namespace hearth::models::grammar
