// A walk through a grammar, which fuzz targets take through what they had parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/grammar/grammar.h"
#include "require.h"

namespace hearth::testing {

inline constexpr std::size_t kWalkTokens = 261;  // bytes, four of several bytes, the end
inline constexpr std::int32_t kWalkEnd = 260;

inline std::shared_ptr<const models::grammar::TokenTrie> walk_trie() {
  static const auto shared = [] {
    std::vector<std::string> bytes;
    for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
    bytes.insert(bytes.end(), {"{\"", "\xc3\xa9", "\": ", "ab", ""});
    return std::make_shared<const models::grammar::TokenTrie>(bytes,
                                                              std::vector<std::int32_t>{kWalkEnd});
  }();
  return shared;
}

// Follows the grammar for a step a byte of `choices`, each of which says where among the tokens the
// next is looked for. Along the way masks, single tokens and texts must agree; what is taken back
// and taken again must lead to the same place; and `whole` is told each text that may end, whose
// tokens the grammar does not name itself.
template <class Whole>
void walk_grammar(models::grammar::Grammar grammar, std::string_view choices,
                  const models::grammar::GrammarTrigger& trigger, Whole whole) {
  using namespace models::grammar;  // NOLINT(google-build-using-namespace)
  const auto constraint = std::make_shared<Constraint>(
      std::make_shared<const Grammar>(std::move(grammar)), walk_trie());
  GrammarMatcher matcher(constraint, trigger);
  std::vector<std::int32_t> taken;
  std::vector<GrammarMatcher> before;  // each of `taken`
  std::string text;
  for (const char choice : choices) {
    const auto mask = matcher.mask();
    std::optional<std::int32_t> next;
    for (std::size_t i = 0; i < kWalkTokens; ++i) {
      const std::size_t at = (i + static_cast<unsigned char>(choice)) % kWalkTokens;
      const auto token = static_cast<std::int32_t>(at);
      const bool allowed = ((*mask)[at / 32] >> (at % 32) & 1) != 0;
      require(allowed == matcher.allows(token));
      if (allowed && !next) next = token;
    }
    const bool may_end = ((*mask)[kWalkEnd / 32] >> (kWalkEnd % 32) & 1) != 0;
    require(may_end == matcher.may_end());
    if (may_end) whole(text);
    if (!next) break;
    before.push_back(matcher);
    require(matcher.accept(*next));
    taken.push_back(*next);
    if (*next == kWalkEnd) break;
    text += walk_trie()->bytes(*next);
  }
  const bool may_end = matcher.may_end();
  if (taken.empty()) return;
  const auto mask = matcher.mask();
  std::size_t again = taken.size() / 2;
  matcher = before[again];
  for (; again < taken.size(); ++again) require(matcher.accept(taken[again]));
  require(may_end == matcher.may_end() && *mask == *matcher.mask());
}

}  // namespace hearth::testing
