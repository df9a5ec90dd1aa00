// Grammars of requests: what is kept, and for how long.
#include "tools/serve/constraint_cache.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/error.h"

namespace hearth::tools::serve {
namespace {

using models::grammar::Constraint;
using models::grammar::Grammar;
using models::grammar::TokenTrie;

ConstraintCache::Shared constraint_of(const std::string& gbnf) {
  static const auto trie = std::make_shared<const TokenTrie>(std::vector<std::string>{"a", "b", ""},
                                                             std::vector<std::int32_t>{2});
  return std::make_shared<Constraint>(std::make_shared<const Grammar>(Grammar::from_gbnf(gbnf)),
                                      trie);
}

// A grammar of so many states.
std::string long_grammar(int count) { return "root ::= \"a\"{" + std::to_string(count) + "}"; }

void nobody_asks() {}

ConstraintCache::Shared make_one(ConstraintCache& cache, const std::string& key, int states = 1) {
  return cache.find_or_make(key, [&] { return constraint_of(long_grammar(states)); }, nobody_asks);
}

TEST(ServeConstraintCache, OneForAllThatBringTheSame) {
  ConstraintCache cache(1 << 20);
  int made = 0;
  const auto make = [&] {
    ++made;
    return constraint_of(long_grammar(1));
  };
  const auto first = cache.find_or_make("a", make, nobody_asks);
  EXPECT_EQ(cache.find_or_make("a", make, nobody_asks), first);
  EXPECT_NE(cache.find_or_make("b", make, nobody_asks), first);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(ServeConstraintCache, BytesBoundWhatIsKept) {
  const std::size_t one = constraint_of(long_grammar(20'000))->bytes();
  EXPECT_GT(one, 20'000 * sizeof(models::grammar::State));
  ConstraintCache cache(3 * one + one / 2);
  const auto ask = [&](const std::string& key) {
    bool is_made = false;
    const auto make = [&] {
      is_made = true;
      return constraint_of(long_grammar(20'000));
    };
    cache.find_or_make(key, make, nobody_asks);
    EXPECT_LE(cache.bytes(), 3 * one + one / 2);
    return is_made;
  };
  for (const char* key : {"0", "1", "2"}) EXPECT_TRUE(ask(key));
  EXPECT_FALSE(ask("0"));
  // Not all of them go for one that is new: the one that was not asked for the longest does.
  EXPECT_TRUE(ask("3"));
  EXPECT_FALSE(ask("0"));
  EXPECT_FALSE(ask("2"));
  EXPECT_TRUE(ask("1"));
  // Longer than all: given, and not kept.
  EXPECT_NE(make_one(cache, "long", 100'000), nullptr);
  EXPECT_EQ(cache.size(), 3u);
}

TEST(ServeConstraintCache, WhatFailsIsNotKept) {
  ConstraintCache cache(1 << 20);
  for (int i = 0; i < 10; ++i) {
    check::error_of(ErrorCode::invalid_argument, [&] {
      cache.find_or_make("a", [] { return constraint_of("root ::= ("); }, nobody_asks);
    });
  }
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_NE(make_one(cache, "a"), nullptr);
}

TEST(ServeConstraintCache, WhoFindsWaitsForNoneThatIsMade) {
  ConstraintCache cache(1 << 20);
  const auto known = make_one(cache, "known");
  std::promise<void> has_begun, may_end;
  auto slow = std::async(std::launch::async, [&] {
    const auto make = [&] {
      has_begun.set_value();
      may_end.get_future().wait();
      return constraint_of(long_grammar(2));
    };
    return cache.find_or_make("slow", make, nobody_asks);
  });
  has_begun.get_future().wait();
  EXPECT_EQ(make_one(cache, "known"), known);
  EXPECT_NE(make_one(cache, "other"), nullptr);
  may_end.set_value();
  EXPECT_NE(slow.get(), nullptr);
}

// As many as may are making: what is kept is there at once, for the rest the wait has an end.
TEST(ServeConstraintCache, WhoWaitsForAMakerMayGo) {
  constexpr int kMakers = 4;
  ConstraintCache cache(1 << 20);
  const auto known = make_one(cache, "known");
  std::latch have_begun(kMakers), may_end(1);
  std::vector<std::future<ConstraintCache::Shared>> slow;
  for (int i = 0; i < kMakers; ++i) {
    slow.push_back(std::async(std::launch::async, [&, key = "slow" + std::to_string(i)] {
      const auto make = [&] {
        have_begun.count_down();
        may_end.wait();
        return constraint_of(long_grammar(2));
      };
      return cache.find_or_make(key, make, nobody_asks);
    }));
  }
  have_begun.wait();
  const auto never = []() -> ConstraintCache::Shared { throw std::logic_error("made"); };
  const auto goes = [] { throw std::runtime_error("nobody waits any more"); };
  EXPECT_EQ(cache.find_or_make("known", never, goes), known);
  EXPECT_THROW(cache.find_or_make("other", never, goes), std::runtime_error);
  may_end.count_down();
  for (auto& each : slow) EXPECT_NE(each.get(), nullptr);
  EXPECT_EQ(cache.size(), 1u + kMakers);
  EXPECT_NE(make_one(cache, "other"), nullptr);
}

}  // namespace
}  // namespace hearth::tools::serve
