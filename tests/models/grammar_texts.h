// Texts for matchers of grammars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "models/grammar/grammar.h"

namespace hearth::testing {

// Takes the text by tokens of single bytes, all of which the vocabulary must have. Where the
// grammar does not allow it gives false, and the matcher stays as it was.
inline bool accept_text(models::grammar::GrammarMatcher& matcher, std::string_view text) {
  const models::grammar::TokenTrie& trie = matcher.trie();
  models::grammar::GrammarMatcher next = matcher;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::int32_t token = 0;
    while (trie.bytes(token) != text.substr(i, 1)) ++token;
    if (!next.accept(token)) return false;
  }
  matcher = std::move(next);
  return true;
}

}  // namespace hearth::testing
