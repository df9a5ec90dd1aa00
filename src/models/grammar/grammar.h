// Grammars that say which tokens may come next in a text that is being generated.
//
//   const auto grammar = std::make_shared<const Grammar>(Grammar::from_gbnf("root ::= [0-9]+"));
//   const auto constraint = std::make_shared<Constraint>(grammar, trie);  // shared by all requests
//   GrammarMatcher matcher(constraint);                                   // one request
//   if (!matcher.allows(token)) draw_again(*matcher.mask());
//   matcher.accept(token);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "models/grammar/automaton.h"
#include "models/grammar/gbnf_parser.h"
#include "models/grammar/positions.h"
#include "models/grammar/token_masks.h"
#include "models/grammar/token_trie.h"

namespace hearth::models::grammar {

// Immutable; may be shared by threads.
class Grammar {
 public:
  // See parse_gbnf(). Throws Error{invalid_argument}, also for a grammar of which no text ever
  // ends, and Error{unsupported} for one that is too large with its repetitions written out.
  // Alternatives that never end are left out.
  static Grammar from_gbnf(std::string_view text, std::string_view root = "root",
                           const FindToken& find = {});
  // The texts that are JSON of a schema: see gbnf_of_schema().
  static Grammar from_schema(const JsonValue& schema);
  // The same of its text. Throws Error{invalid_argument} for what is no JSON, too.
  static Grammar from_schema_text(const std::string& schema);

  const Automaton& automaton() const noexcept { return automaton_; }

 private:
  explicit Grammar(Syntax syntax);

  Automaton automaton_;
};

// A grammar over a vocabulary, with what was found out about both. Calls from several threads at
// once are fine; one waits for the other.
class Constraint {
 public:
  // Throws Error{invalid_argument} for tokens of the grammar that the vocabulary does not have.
  Constraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie);

  const TokenTrie& trie() const noexcept { return *trie_; }
  // What it takes of memory, the vocabulary aside, about. Never waits: while another thread asks
  // for something, it is what was true before.
  std::size_t bytes() const;

 private:
  friend class GrammarMatcher;

  // A set of positions and what gives it its meaning. Two words: copies cost nothing.
  struct Place {
    std::shared_ptr<Positions> positions;
    SetId set = Positions::kNowhere;
  };

  // The following are called with the mutex held.
  Place start();
  void refresh(Place* place);
  SetId after_text(const Place& place, std::string_view text) const;
  SetId after_token(const Place& place, std::int32_t token) const;
  std::shared_ptr<const TokenMask> mask(const Place& place);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  TokenMasks masks_;
  mutable std::mutex mutex_;
  std::shared_ptr<Positions> positions_;
  mutable std::atomic<std::size_t> bytes_ = 0;
};

// Marks before what a grammar is about, such as those of a chat's reasoning: the grammar begins
// behind the first `end`, which it does not read. Where `unless` stands before that one, it is the
// first behind the next `begin`, on the same condition; an empty `unless` never stands there.
struct GrammarMarks {
  std::string begin, end, unless;
  // Tokens that have no bytes in the grammar's vocabulary, with the texts that count here.
  std::vector<std::pair<std::int32_t, std::string>> special;

  bool empty() const noexcept { return end.empty(); }
};

// When a grammar begins to hold. Until then all tokens are allowed.
struct GrammarTrigger {
  std::vector<std::string> texts;    // from the first of these on, which the grammar reads, too
  std::vector<std::int32_t> tokens;  // behind one of these
  // Instead of both. Tokens that end the text are not allowed before.
  GrammarMarks marks = {};
};

// How far one text has come in a grammar. Copies cost nothing and go their own ways; they are not
// for several threads at once.
class GrammarMatcher {
 public:
  // Lazy where there is a trigger. Throws Error{invalid_argument} for empty texts of triggers, and
  // for marks beside them.
  explicit GrammarMatcher(std::shared_ptr<Constraint> constraint, GrammarTrigger trigger = {});

  // Whether the token may come next. Throws Error{invalid_argument} for ids outside of the
  // vocabulary, as accept() does; both, and mask(), throw Error{unsupported} for a grammar so
  // ambiguous that its states do not fit limits.
  bool allows(std::int32_t token) const;
  // Takes the token where it is allowed; else gives false and stays. After a token that ends the
  // text only tokens that end it are allowed.
  bool accept(std::int32_t token);

  const TokenTrie& trie() const noexcept { return constraint_->trie(); }
  // Whether the text may end here.
  bool may_end() const;
  // Still waiting for its trigger.
  bool is_waiting() const noexcept { return now_.is_waiting; }
  // All allowed tokens, TokenTrie::mask_words() words: bit id % 32 of word id / 32. Kept by the
  // constraint, so that asking at the same place again only finds it.
  std::shared_ptr<const TokenMask> mask() const;

 private:
  struct Progress {
    Constraint::Place place;
    std::string tail;  // of the text before a trigger, where one may have begun
    bool is_waiting = false;
    bool is_between = false;  // GrammarMarks::begin and ::end
    bool has_ended = false;
  };

  void check(std::int32_t token) const;
  // Nothing where it is not allowed. With the mutex held.
  std::optional<Progress> after(std::int32_t token) const;
  std::optional<Progress> after_waiting(std::string_view text) const;
  std::optional<Progress> after_marks(std::string_view text) const;
  std::optional<Progress> after_marks(std::int32_t token) const;
  // Begins to read, with what the text has of it already.
  std::optional<Progress> begun(std::string_view text) const;
  std::shared_ptr<const TokenMask> waiting_mask() const;

  std::shared_ptr<Constraint> constraint_;
  std::shared_ptr<const GrammarTrigger> trigger_;
  mutable Progress now_;
};

}  // namespace hearth::models::grammar
