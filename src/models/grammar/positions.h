// Where the reading of a text may stand in a grammar: sets of positions, each kept once, and what
// bytes lead from one set to another, found when first asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/grammar/automaton.h"

namespace hearth::models::grammar {

using SetId = std::uint32_t;
using TokenMask = std::vector<std::uint32_t>;  // bit id % 32 of word id / 32

// Not for several threads at once. Grows with each new set; is_full() says when to start anew.
//
// A position is a state and the stack of states where the rules that are being read were called.
// Stacks are lists from their top, and share their tails: a stack is a number, and so is a set.
class Positions {
 public:
  static constexpr SetId kNowhere = 0;  // the empty set: no text goes on here

  explicit Positions(const Automaton& automaton);

  SetId start() const noexcept { return start_; }
  // What finds sets throws Error{unsupported} where a text can be read in too many ways at once, or
  // much had to be looked at since this was called.
  void begin_token() noexcept { work_count_ = 0; }
  SetId after(SetId set, std::uint8_t byte) {
    const SetId known = sets_[set].next[automaton_.class_of(byte)];
    return known != kUnknown ? known : find_after(set, automaton_.class_of(byte));
  }
  // Behind a whole token that the grammar names; kNowhere where it names none such here.
  SetId after_token(SetId set, std::int32_t token);
  // Both of them at once.
  SetId both(SetId a, SetId b);
  // Whether the text may end here.
  bool may_end(SetId set) const noexcept { return sets_[set].may_end; }
  // Calls visit(token, is_negated) for each token that the grammar names here.
  template <class Visit>
  void named_tokens(SetId set, Visit visit) const {
    if (!sets_[set].names_tokens) return;
    for (const Position& position : sets_[set].positions) {
      const State& state = automaton_[position.state];
      if (state.kind == State::Kind::token) visit(state.token, state.is_negated);
    }
  }

  struct Position {
    std::uint32_t state, stack;
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  // Until the next set is found.
  std::span<const Position> positions(SetId set) const noexcept { return sets_[set].positions; }
  bool takes_bytes(const Position& position) const noexcept {
    return automaton_[position.state].kind == State::Kind::bytes;
  }
  // As if the text began in a state, within a rule that nothing called: it may end where that rule
  // does.
  SetId alone(std::uint32_t state);
  // Where the rule on top of a stack was called; kNowhere of the empty stack.
  SetId returned(std::uint32_t stack);

  // The set of `other`, which is of the same automaton, that is its `set`.
  SetId copied(const Positions& other, SetId set);

  bool is_full() const noexcept;
  std::size_t size() const noexcept { return sets_.size(); }
  // What it takes of memory, about.
  std::size_t bytes() const noexcept;

  // A mask that was kept for the set, or null.
  std::shared_ptr<const TokenMask> mask(SetId set) const noexcept { return sets_[set].mask; }
  void keep_mask(SetId set, std::shared_ptr<const TokenMask> mask);

 private:
  static constexpr SetId kUnknown = 0xffffffff;
  static constexpr std::uint32_t kEmptyStack = 0;

  struct Frame {
    std::uint32_t state, below;
  };
  struct Set {
    std::vector<Position> positions;  // sorted; of states that take bytes or tokens
    std::vector<SetId> next;          // by class of bytes
    std::shared_ptr<const TokenMask> mask;
    bool may_end = false, names_tokens = false;
  };

  SetId find_after(SetId set, std::uint32_t byte_class);
  void count_work(std::size_t count);
  std::uint32_t pushed(std::uint32_t stack, std::uint32_t state);
  std::uint32_t copied_stack(const Positions& other, std::uint32_t stack);
  // The set of all that can be reached from `from` without a byte.
  SetId closure(std::span<const Position> from, bool may_end = false);

  const Automaton& automaton_;
  std::vector<Frame> frames_;  // of stacks; [0] is not one
  std::unordered_map<std::uint64_t, std::uint32_t> stacks_;
  std::vector<Set> sets_;
  std::unordered_multimap<std::uint64_t, SetId> by_hash_;
  std::size_t position_count_ = 0;
  std::size_t mask_words_ = 0;
  std::size_t work_count_ = 0;  // since begin_token()
  SetId start_ = kNowhere;
  std::vector<Position> work_, reached_;
};

}  // namespace hearth::models::grammar
