// Which tokens of a vocabulary may come next, for sets of positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "models/grammar/positions.h"
#include "models/grammar/token_trie.h"

namespace hearth::models::grammar {

void allow_token(TokenMask* mask, std::int32_t token);
// All tokens, and no bits beyond them.
TokenMask whole_vocabulary(const TokenTrie& trie);

// Of one grammar and one vocabulary. Not for several threads at once.
//
// Within a rule, most tokens depend on the state only, not on what called the rule: inside of a
// string on any level of nesting the same ones go on with the string. They are found once for each
// state. The few that begin within the rule and end behind it are looked at for each stack.
class TokenMasks {
 public:
  explicit TokenMasks(std::shared_ptr<const TokenTrie> trie);

  // TokenTrie::mask_words() words, kept with the set. Throws what Positions::after() throws.
  std::shared_ptr<const TokenMask> mask(Positions* positions, SetId set);
  // What is kept, of memory, about.
  std::size_t bytes() const noexcept { return kept_words_ * sizeof(std::uint32_t); }

 private:
  struct StateMask {
    bool is_shared = false;  // false: too many tokens end behind the rule
    TokenMask tokens;
    std::vector<std::uint32_t> exits;  // nodes of the trie behind which the rule may have ended
  };

  const StateMask& state_mask(Positions* positions, std::uint32_t state);
  // Adds the tokens below `root`, or all for `kAll`, that `set` goes on with.
  void add_below(Positions* positions, std::size_t root, SetId set, TokenMask* mask);
  void add_position(Positions* positions, const Positions::Position& position, TokenMask* mask);
  void add_named(const Positions& positions, SetId set, TokenMask* mask) const;
  // Calls visit(node, set, end) for nodes below `root` and the set that its bytes lead to from
  // `from`, while that is somewhere and visit gives true. `end` is the node behind: that of the
  // next byte, or, where all bytes below lead back to the set, of the next prefix that does not
  // begin with this one; these are not visited. Where the text may end all are, if `sees_ends`.
  template <class Visit>
  void walk(Positions* positions, std::size_t root, SetId from, bool sees_ends, Visit visit);
  // The kinds of bytes that stay in a set, once a walk has met it often.
  ByteKinds staying(Positions* positions, SetId set, bool has_stayed);
  // Adds the tokens of nodes that were visited.
  void begin_ranges() { ranges_.clear(); }
  void add_range(std::size_t node, std::size_t end);
  void allow_ranges(TokenMask* mask) const;

  static constexpr std::size_t kAll = ~std::size_t{0};

  std::shared_ptr<const TokenTrie> trie_;
  TokenMask texts_mask_;  // TokenTrie::texts()
  std::unordered_map<std::uint32_t, StateMask> state_masks_;
  std::size_t kept_words_ = 0;
  std::vector<SetId> path_;  // of a walk, by depth

  struct Stay {
    SetId set = Positions::kNowhere;
    ByteKinds kinds = 0;
    std::uint32_t times = 0;  // that a byte led from it to itself
  };
  std::array<Stay, 4> stays_;                                    // of a walk
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;  // of TokenTrie::texts(), in order
};

}  // namespace hearth::models::grammar
