// A grammar as states over bytes, with calls of rules.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "models/grammar/syntax.h"
#include "models/grammar/utf8_ranges.h"

namespace hearth::models::grammar {

struct ByteEdge {
  ByteRange bytes;
  std::uint32_t to = 0;
};

struct State {
  enum class Kind : std::uint8_t {
    end,    // of the rule: goes on where it was called
    split,  // goes on at each of `targets`
    bytes,  // takes a byte along one of `edges`
    call,   // reads what a rule says, whose first state is `target`, then goes on at `to`
    token,  // takes a whole token: `token`, or any but that where `is_negated`
  };
  Kind kind = Kind::end;
  bool is_negated = false;
  std::int32_t token = -1;
  std::uint32_t target = 0, to = 0;
  std::uint32_t first = 0, count = 0;  // of its targets or edges
};

// Of more states than a grammar may have.
struct GrammarTooLarge : Error {
  explicit GrammarTooLarge(const std::string& message) : Error(ErrorCode::unsupported, message) {}
};

// Of a rule that may begin with itself.
struct LeftRecursion : Error {
  explicit LeftRecursion(const std::string& message)
      : Error(ErrorCode::invalid_argument, message) {}
};

// Immutable once made.
class Automaton {
 public:
  static constexpr std::uint32_t kEnd = 0;  // the state where every rule ends

  // Throws LeftRecursion for a rule that may begin with itself, and GrammarTooLarge
  // for more states than a grammar may have.
  explicit Automaton(const Syntax& syntax);

  std::uint32_t start() const noexcept { return start_; }
  std::size_t size() const noexcept { return states_.size(); }
  // What it takes of memory.
  std::size_t bytes() const noexcept {
    return states_.capacity() * sizeof(State) + edges_.capacity() * sizeof(ByteEdge) +
           targets_.capacity() * sizeof(std::uint32_t);
  }
  const State& operator[](std::uint32_t state) const noexcept { return states_[state]; }
  std::span<const ByteEdge> edges(const State& state) const noexcept {
    return {edges_.data() + state.first, state.count};
  }
  std::span<const std::uint32_t> targets(const State& state) const noexcept {
    return {targets_.data() + state.first, state.count};
  }

  // Bytes that no edge tells apart are of one class.
  std::uint32_t classes() const noexcept { return classes_; }
  std::uint32_t class_of(std::uint8_t byte) const noexcept { return class_of_[byte]; }
  std::uint8_t byte_of_class(std::uint32_t index) const noexcept { return byte_of_class_[index]; }

 private:
  friend class AutomatonBuilder;
  void find_classes();

  std::vector<State> states_;
  std::vector<ByteEdge> edges_;
  std::vector<std::uint32_t> targets_;
  std::uint32_t start_ = 0;
  std::uint32_t classes_ = 0;
  std::array<std::uint8_t, 256> class_of_{}, byte_of_class_{};
};

}  // namespace hearth::models::grammar
