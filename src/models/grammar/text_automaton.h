// Finite automata over code points: sets of texts that are met, taken from each other and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/grammar/syntax.h"

namespace hearth::models::grammar {

inline constexpr std::size_t kMaxTextStates = 4096;

// What the automata of one schema may cost together.
class AutomatonSteps {
 public:
  // Throws Error{unsupported} when nothing is left.
  void take(std::size_t count);

 private:
  std::size_t left_ = 6'000'000;
};

// All code points but surrogates.
CodeRanges all_codes();

// Deterministic. What makes one throws Error{unsupported} for more than kMaxTextStates states, or
// when there are no steps left.
class TextAutomaton {
 public:
  struct Edge {
    CodeRange codes;
    std::uint32_t to = 0;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  // by codes, which are apart
  };

  // The texts of an expression without rules and tokens.
  TextAutomaton(const Expression& texts, AutomatonSteps& steps);
  // Begins at states[0]. States that lead nowhere are left out.
  explicit TextAutomaton(std::vector<State> states);
  // From `least` to `most` code points; without an upper limit where that is -1.
  static TextAutomaton of_lengths(std::int64_t least, std::int64_t most);

  TextAutomaton both(const TextAutomaton& other, AutomatonSteps& steps) const;
  TextAutomaton negated() const;
  // The same texts by fewer states where that is found in a few rounds.
  TextAutomaton merged(AutomatonSteps& steps) const;

  bool is_empty() const noexcept { return states_[0].edges.empty() && !states_[0].accepts; }
  bool accepts(std::string_view utf8) const noexcept;
  const std::vector<State>& states() const noexcept { return states_; }

 private:
  void drop_dead_states();

  std::vector<State> states_;
};

}  // namespace hearth::models::grammar
