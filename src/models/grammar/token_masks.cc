#include "models/grammar/token_masks.h"

#include <span>
#include <utility>

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxStateMaskWords = std::size_t{1} << 23;  // 32 MiB
// Sets of more positions are walked with as one: their states would be walked with one by one.
constexpr std::size_t kFewPositions = 8;

}  // namespace

void allow_token(TokenMask* mask, std::int32_t token) {
  const auto at = static_cast<std::size_t>(token);
  if (at / 32 < mask->size()) (*mask)[at / 32] |= 1u << (at % 32);
}

TokenMask whole_vocabulary(const TokenTrie& trie) {
  TokenMask mask(trie.mask_words(), 0xffffffffu);
  if (trie.size() % 32 != 0) mask.back() = (1u << (trie.size() % 32)) - 1;
  return mask;
}

template <class Visit>
void TokenMasks::walk(Positions* positions, std::size_t root, SetId from, Visit visit) {
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  const std::size_t end = root == kAll ? nodes.size() - 1 : nodes[root].skip;
  const std::size_t top = root == kAll ? 0 : nodes[root].depth + 1u;
  if (path_.empty()) path_.resize(1);
  path_[0] = from;
  for (std::size_t at = root == kAll ? 0 : root + 1; at < end;) {
    const TokenTrie::Node& node = nodes[at];
    const std::size_t depth = node.depth - top;
    const SetId next = positions->after(path_[depth], node.byte);
    if (next == Positions::kNowhere) {
      at = node.skip;
      continue;
    }
    if (!visit(at, next)) return;
    if (path_.size() < depth + 2) path_.resize(depth + 2);
    path_[depth + 1] = next;
    ++at;
  }
}

void TokenMasks::add_below(Positions* positions, std::size_t root, SetId set, TokenMask* mask) {
  walk(positions, root, set, [&](std::size_t at, SetId) {
    for (const std::int32_t token : trie_->tokens(at)) allow_token(mask, token);
    return true;
  });
}

const TokenMasks::StateMask& TokenMasks::state_mask(Positions* positions, std::uint32_t state) {
  const auto known = state_masks_.find(state);
  if (known != state_masks_.end()) return known->second;
  StateMask found{true, TokenMask(trie_->mask_words()), {}};
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  // What is below an exit is walked again: more than a few exits cost more than they save.
  const std::size_t most_exits = 64 + nodes.size() / 16;
  walk(positions, kAll, positions->alone(state), [&](std::size_t at, SetId next) {
    for (const std::int32_t token : trie_->tokens(at)) allow_token(&found.tokens, token);
    const bool has_more = nodes[at].skip > at + 1;
    if (has_more && positions->may_end(next)) {
      found.exits.push_back(static_cast<std::uint32_t>(at));
    }
    return found.exits.size() <= most_exits;
  });
  if (found.exits.size() > most_exits) found = {};
  kept_words_ += found.tokens.size() + found.exits.size() + 16;
  if (kept_words_ > kMaxStateMaskWords) {
    state_masks_.clear();
    kept_words_ = found.tokens.size() + found.exits.size() + 16;
  }
  return state_masks_.emplace(state, std::move(found)).first->second;
}

void TokenMasks::add_position(Positions* positions, const Positions::Position& position,
                              TokenMask* mask) {
  const StateMask& shared = state_mask(positions, position.state);
  const SetId behind = positions->returned(position.stack);
  for (std::size_t i = 0; i < mask->size(); ++i) (*mask)[i] |= shared.tokens[i];
  if (behind == Positions::kNowhere) return;
  for (const std::uint32_t exit : shared.exits) add_below(positions, exit, behind, mask);
}

void TokenMasks::add_named(const Positions& positions, SetId set, TokenMask* mask) const {
  positions.named_tokens(set, [&](std::int32_t token, bool is_negated) {
    if (!is_negated) {
      if (!trie_->is_end(token)) allow_token(mask, token);
      return;
    }
    TokenMask all = whole_vocabulary(*trie_);
    const auto forbid = [&](std::int32_t one) {
      const auto at = static_cast<std::size_t>(one);
      if (at / 32 < all.size()) all[at / 32] &= ~(1u << (at % 32));
    };
    forbid(token);
    for (const std::int32_t end : trie_->ends()) forbid(end);
    for (std::size_t i = 0; i < all.size(); ++i) (*mask)[i] |= all[i];
  });
}

std::shared_ptr<const TokenMask> TokenMasks::mask(Positions* positions, SetId set) {
  if (auto kept = positions->mask(set)) return kept;
  auto mask = std::make_shared<TokenMask>(trie_->mask_words());
  const auto here = positions->positions(set);
  // Copied: walking finds more sets.
  const std::vector<Positions::Position> all(here.begin(), here.end());
  bool is_shared = all.size() <= kFewPositions;
  for (std::size_t i = 0; i < all.size() && is_shared; ++i) {
    if (!positions->takes_bytes(all[i])) continue;
    is_shared = state_mask(positions, all[i].state).is_shared;
    if (is_shared) add_position(positions, all[i], mask.get());
  }
  if (!is_shared) add_below(positions, kAll, set, mask.get());
  add_named(*positions, set, mask.get());
  // A name beyond the vocabulary may share its last word.
  const TokenMask whole = whole_vocabulary(*trie_);
  for (std::size_t i = 0; i < whole.size(); ++i) (*mask)[i] &= whole[i];
  if (positions->may_end(set)) {
    for (const std::int32_t end : trie_->ends()) allow_token(mask.get(), end);
  }
  positions->keep_mask(set, mask);
  return mask;
}

}  // namespace hearth::models::grammar
