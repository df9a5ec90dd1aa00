#include "models/grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "models/grammar/finite_texts.h"
#include "models/grammar/json_schema.h"

namespace hearth::models::grammar {
namespace {

// Of a grammar that has no text.
struct NeverEnds : Error {
  NeverEnds()
      : Error(ErrorCode::invalid_argument,
              "grammar: no text of it ever ends; got a root that needs itself, or a character of "
              "no range, expected a text that may end") {}
};

Syntax with_finite_texts(Syntax syntax) {
  if (keep_finite_texts(&syntax)) return syntax;
  const Automaton cycles(syntax);  // says of a rule that begins with itself which one it is
  throw NeverEnds();
}

void check_tokens(const Automaton& automaton, std::size_t vocabulary) {
  for (std::uint32_t i = 0; i < automaton.size(); ++i) {
    const State& state = automaton[i];
    if (state.kind != State::Kind::token) continue;
    if (state.token >= 0 && static_cast<std::size_t>(state.token) < vocabulary) continue;
    throw Error(ErrorCode::invalid_argument,
                "grammar: a token outside the vocabulary; got <[" + std::to_string(state.token) +
                    "]>, expected less than " + std::to_string(vocabulary));
  }
}

}  // namespace

Grammar::Grammar(Syntax syntax) : automaton_(with_finite_texts(std::move(syntax))) {}

Grammar Grammar::from_gbnf(std::string_view text, std::string_view root, const FindToken& find) {
  return Grammar(parse_gbnf(text, root, find));
}

Grammar Grammar::from_schema_text(const std::string& schema) {
  const std::optional<JsonValue> value = parse_json(schema);
  if (!value) {
    throw Error(ErrorCode::invalid_argument, "json_schema: no JSON; got " +
                                                 counted(schema.size(), "byte") +
                                                 " that do not parse, expected a schema");
  }
  return from_schema(*value);
}

Grammar Grammar::from_schema(const JsonValue& schema) try {
  return Grammar(parse_gbnf(gbnf_of_schema(schema), "root"));
} catch (const GrammarTooLarge&) {
  throw Error(
      ErrorCode::unsupported,
      "json_schema: too large; got lengths and numbers of items that are too much together, "
      "expected smaller ones");
} catch (const LeftRecursion&) {
  throw Error(ErrorCode::invalid_argument,
              "json_schema: a reference leads back to itself; got a cycle of $ref with nothing in "
              "between, expected a value that ends");
} catch (const NeverEnds&) {
  throw Error(ErrorCode::invalid_argument,
              "json_schema: no value is ever whole; got a schema whose values must have one of the "
              "same within, expected a value that ends");
}

Constraint::Constraint(std::shared_ptr<const Grammar> grammar,
                       std::shared_ptr<const TokenTrie> trie)
    : grammar_(std::move(grammar)), trie_(std::move(trie)), masks_(trie_) {
  if (grammar_ == nullptr || trie_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "grammar: got none, expected a grammar and a trie");
  }
  check_tokens(grammar_->automaton(), trie_->size());
  positions_ = std::make_shared<Positions>(grammar_->automaton());
  bytes();
}

std::size_t Constraint::bytes() const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) bytes_ = grammar_->automaton().bytes() + positions_->bytes() + masks_.bytes();
  return bytes_;
}

Constraint::Place Constraint::start() { return {positions_, positions_->start()}; }

// What was found so far is dropped when it is much; places move to what replaces it when they are
// next used.
void Constraint::refresh(Place* place) {
  if (positions_->is_full()) positions_ = std::make_shared<Positions>(grammar_->automaton());
  positions_->begin_token();
  if (place->positions == positions_) return;
  place->set = positions_->copied(*place->positions, place->set);
  place->positions = positions_;
}

SetId Constraint::after_text(const Place& place, std::string_view text) const {
  SetId set = place.set;
  for (const char c : text) {
    set = place.positions->after(set, static_cast<std::uint8_t>(c));
    if (set == Positions::kNowhere) break;
  }
  return set;
}

SetId Constraint::after_token(const Place& place, std::int32_t token) const {
  const std::string_view text = trie_->bytes(token);
  const SetId named = place.positions->after_token(place.set, token);
  return text.empty() ? named : place.positions->both(named, after_text(place, text));
}

std::shared_ptr<const TokenMask> Constraint::mask(const Place& place) {
  return masks_.mask(place.positions.get(), place.set);
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<Constraint> constraint, GrammarTrigger trigger)
    : constraint_(std::move(constraint)) {
  if (constraint_ == nullptr) {
    throw Error(ErrorCode::invalid_argument, "grammar: got none, expected a constraint");
  }
  for (const std::string& text : trigger.texts) {
    if (!text.empty()) continue;
    throw Error(ErrorCode::invalid_argument,
                "grammar: empty text of a trigger; got no bytes, expected at least one");
  }
  now_.is_waiting = !trigger.texts.empty() || !trigger.tokens.empty();
  if (!trigger.marks.empty()) {
    if (now_.is_waiting) {
      throw Error(
          ErrorCode::invalid_argument,
          "grammar: marks beside another trigger; got texts or tokens too, expected marks alone");
    }
    now_.is_waiting = now_.is_between = true;
  }
  trigger_ = std::make_shared<const GrammarTrigger>(std::move(trigger));
  const std::lock_guard lock(constraint_->mutex_);
  now_.place = constraint_->start();
}

void GrammarMatcher::check(std::int32_t token) const {
  const std::size_t size = constraint_->trie().size();
  if (token >= 0 && static_cast<std::size_t>(token) < size) return;
  throw Error(ErrorCode::invalid_argument, "grammar: token outside the vocabulary; got " +
                                               std::to_string(token) + ", expected 0 to " +
                                               std::to_string(static_cast<std::int64_t>(size) - 1));
}

std::optional<GrammarMatcher::Progress> GrammarMatcher::after(std::int32_t token) const {
  const TokenTrie& trie = constraint_->trie();
  if (now_.is_waiting && !trigger_->marks.empty()) return after_marks(token);
  if (now_.is_waiting) {
    const auto& tokens = trigger_->tokens;
    if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) {
      Progress next = now_;
      next.is_waiting = false;
      next.tail.clear();
      return next;
    }
    return after_waiting(trie.bytes(token));
  }
  Progress next = now_;
  if (trie.is_end(token)) {
    if (!now_.has_ended && !now_.place.positions->may_end(now_.place.set)) return std::nullopt;
    next.has_ended = true;
    return next;
  }
  if (now_.has_ended) return std::nullopt;
  next.place.set = constraint_->after_token(now_.place, token);
  if (next.place.set == Positions::kNowhere) return std::nullopt;
  return next;
}

std::optional<GrammarMatcher::Progress> GrammarMatcher::begun(std::string_view text) const {
  Progress next = now_;
  next.is_waiting = false;
  next.tail.clear();
  next.place.set = constraint_->after_text(next.place, text);
  if (next.place.set == Positions::kNowhere) return std::nullopt;
  return next;
}

std::optional<GrammarMatcher::Progress> GrammarMatcher::after_marks(std::int32_t token) const {
  const TokenTrie& trie = constraint_->trie();
  for (const auto& [id, text] : trigger_->marks.special) {
    if (id == token) return after_marks(text);
  }
  if (trie.is_end(token)) return std::nullopt;
  return after_marks(trie.bytes(token));
}

std::optional<GrammarMatcher::Progress> GrammarMatcher::after_marks(std::string_view text) const {
  const GrammarMarks& marks = trigger_->marks;
  Progress next = now_;
  std::string& tail = next.tail;
  tail += text;
  const auto drop_all_but = [&](std::size_t keep) {
    if (tail.size() > keep) tail.erase(0, tail.size() - keep);
  };
  while (true) {
    if (!next.is_between) {
      const std::size_t found = tail.find(marks.begin);
      if (found == std::string::npos) {
        drop_all_but(marks.begin.size() - 1);
        return next;
      }
      tail.erase(0, found + marks.begin.size());
      next.is_between = true;
    }
    const std::size_t end = tail.find(marks.end);
    const std::size_t unless = marks.unless.empty() ? std::string::npos : tail.find(marks.unless);
    if (unless < end) {
      tail.erase(0, unless + marks.unless.size());
      next.is_between = false;
    } else if (end == std::string::npos) {
      drop_all_but(std::max(marks.end.size(), marks.unless.size()) - 1);
      return next;
    } else {
      return begun(std::string_view(tail).substr(end + marks.end.size()));
    }
  }
}

std::optional<GrammarMatcher::Progress> GrammarMatcher::after_waiting(std::string_view text) const {
  Progress next = now_;
  next.tail += text;
  std::size_t begin = std::string::npos, longest = 0;
  for (const std::string& wanted : trigger_->texts) {
    begin = std::min(begin, next.tail.find(wanted));
    longest = std::max(longest, wanted.size());
  }
  if (begin == std::string::npos) {
    const std::size_t keep = longest == 0 ? 0 : longest - 1;
    if (next.tail.size() > keep) next.tail.erase(0, next.tail.size() - keep);
    return next;
  }
  return begun(std::string_view(next.tail).substr(begin));
}

bool GrammarMatcher::allows(std::int32_t token) const {
  check(token);
  const std::lock_guard lock(constraint_->mutex_);
  constraint_->refresh(&now_.place);
  return after(token).has_value();
}

bool GrammarMatcher::accept(std::int32_t token) {
  check(token);
  const std::lock_guard lock(constraint_->mutex_);
  constraint_->refresh(&now_.place);
  std::optional<Progress> next = after(token);
  if (next) now_ = std::move(*next);
  return next.has_value();
}

bool GrammarMatcher::may_end() const {
  const std::lock_guard lock(constraint_->mutex_);
  if (now_.is_waiting) return trigger_->marks.empty();
  return now_.has_ended || now_.place.positions->may_end(now_.place.set);
}

std::shared_ptr<const TokenMask> GrammarMatcher::mask() const {
  const std::lock_guard lock(constraint_->mutex_);
  constraint_->refresh(&now_.place);
  if (now_.is_waiting) return waiting_mask();
  if (!now_.has_ended) return constraint_->mask(now_.place);
  auto mask = std::make_shared<TokenMask>(constraint_->trie().mask_words());
  for (const std::int32_t end : constraint_->trie().ends()) allow_token(mask.get(), end);
  return mask;
}

// All tokens but those that complete a trigger and go on as the grammar does not.
std::shared_ptr<const TokenMask> GrammarMatcher::waiting_mask() const {
  const TokenTrie& trie = constraint_->trie();
  auto mask = std::make_shared<TokenMask>(whole_vocabulary(trie));
  for (std::size_t i = 0; i < trie.size(); ++i) {
    if (!after(static_cast<std::int32_t>(i))) (*mask)[i / 32] &= ~(1u << (i % 32));
  }
  return mask;
}

}  // namespace hearth::models::grammar
