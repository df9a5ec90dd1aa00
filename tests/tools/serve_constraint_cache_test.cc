// Grammars of requests: what is kept, and for how long.
#include "tools/serve/constraint_cache.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

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

TEST(ServeConstraintCache, OneForAllThatBringTheSame) {
  ConstraintCache cache(1 << 20);
  int made = 0;
  const auto make = [&] {
    ++made;
    return constraint_of(long_grammar(1));
  };
  const auto first = cache.find_or_make("a", make);
  EXPECT_EQ(cache.find_or_make("a", make), first);
  EXPECT_NE(cache.find_or_make("b", make), first);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(ServeConstraintCache, BytesBoundWhatIsKept) {
  const std::size_t one = constraint_of(long_grammar(20'000))->bytes();
  EXPECT_GT(one, 20'000 * sizeof(models::grammar::State));
  ConstraintCache cache(3 * one + one / 2);
  const auto ask = [&](const std::string& key) {
    bool is_made = false;
    cache.find_or_make(key, [&] {
      is_made = true;
      return constraint_of(long_grammar(20'000));
    });
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
  EXPECT_NE(cache.find_or_make("long", [] { return constraint_of(long_grammar(100'000)); }),
            nullptr);
  EXPECT_EQ(cache.size(), 3u);
}

TEST(ServeConstraintCache, WhatFailsIsNotKept) {
  ConstraintCache cache(1 << 20);
  for (int i = 0; i < 10; ++i) {
    check::error_of(ErrorCode::invalid_argument,
                    [&] { cache.find_or_make("a", [] { return constraint_of("root ::= ("); }); });
  }
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_NE(cache.find_or_make("a", [] { return constraint_of(long_grammar(1)); }), nullptr);
}

TEST(ServeConstraintCache, WhoFindsWaitsForNoneThatIsMade) {
  ConstraintCache cache(1 << 20);
  const auto known = cache.find_or_make("known", [] { return constraint_of(long_grammar(1)); });
  std::promise<void> has_begun, may_end;
  auto slow = std::async(std::launch::async, [&] {
    return cache.find_or_make("slow", [&] {
      has_begun.set_value();
      may_end.get_future().wait();
      return constraint_of(long_grammar(2));
    });
  });
  has_begun.get_future().wait();
  EXPECT_EQ(cache.find_or_make("known", [] { return constraint_of(long_grammar(1)); }), known);
  EXPECT_NE(cache.find_or_make("other", [] { return constraint_of(long_grammar(1)); }), nullptr);
  may_end.set_value();
  EXPECT_NE(slow.get(), nullptr);
}

}  // namespace
}  // namespace hearth::tools::serve
