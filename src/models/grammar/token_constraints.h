// Constraints over one vocabulary, from the texts of grammars and schemas.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "models/grammar/grammar.h"
#include "models/grammar/token_trie.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models::grammar {

// Calls from several threads at once are fine. What it makes outlives it.
class TokenConstraints {
 public:
  // Grammars may name the tokenizer's tokens; the trie of all of them is made when it is first
  // asked for.
  explicit TokenConstraints(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // Throw what Grammar's functions of these names and Constraint throw.
  std::shared_ptr<Constraint> from_gbnf(std::string_view source) const;
  std::shared_ptr<Constraint> from_schema(const JsonValue& schema) const;
  std::shared_ptr<Constraint> from_schema_text(const std::string& schema) const;

 private:
  std::shared_ptr<Constraint> over(Grammar grammar) const;

  Tokenizer tokenizer_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::shared_ptr<const TokenTrie> trie_;
};

}  // namespace hearth::models::grammar
