#include "models/grammar/token_constraints.h"

#include <utility>

namespace hearth::models::grammar {

std::shared_ptr<Constraint> TokenConstraints::over(Grammar grammar) const {
  std::shared_ptr<const TokenTrie> trie;
  {
    const std::lock_guard lock(mutex_);
    if (trie_ == nullptr) trie_ = std::make_shared<const TokenTrie>(tokenizer_);
    trie = trie_;
  }
  return std::make_shared<Constraint>(std::make_shared<const Grammar>(std::move(grammar)),
                                      std::move(trie));
}

std::shared_ptr<Constraint> TokenConstraints::from_gbnf(std::string_view source) const {
  return over(Grammar::from_gbnf(
      source, "root", [this](std::string_view text) { return tokenizer_.find(text); }));
}

std::shared_ptr<Constraint> TokenConstraints::from_schema(const JsonValue& schema) const {
  return over(Grammar::from_schema(schema));
}

std::shared_ptr<Constraint> TokenConstraints::from_schema_text(const std::string& schema) const {
  return over(Grammar::from_schema_text(schema));
}

}  // namespace hearth::models::grammar
