#include "models/grammar/token_masks.h"

#include <span>
#include <utility>

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxStateMaskWords = std::size_t{1} << 23;  // 32 MiB
// Sets of more positions are walked with as one: their states would be walked with one by one.
constexpr std::size_t kFewPositions = 8;
// Finding the bytes that stay in a set costs as much as so many steps of a walk.
constexpr std::uint32_t kManyTimes = 64;

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

TokenMasks::TokenMasks(std::shared_ptr<const TokenTrie> trie) : trie_(std::move(trie)) {
  if (trie_ == nullptr) return;
  texts_mask_.resize(trie_->mask_words());
  for (const std::int32_t token : trie_->texts()) allow_token(&texts_mask_, token);
}

ByteKinds TokenMasks::staying(Positions* positions, SetId set, bool has_stayed) {
  Stay* place = nullptr;
  for (Stay& stay : stays_) {
    if (stay.set == set) {
      if (has_stayed && stay.times <= kManyTimes && ++stay.times > kManyTimes) {
        stay.kinds = kinds_that_stay(positions, set);
      }
      return stay.kinds;
    }
    if (place == nullptr || stay.times < place->times) place = &stay;
  }
  if (has_stayed && place->times <= kManyTimes) *place = {set, 0, 1};
  return 0;
}

template <class Visit>
void TokenMasks::walk(Positions* positions, std::size_t root, SetId from, bool sees_ends,
                      Visit visit) {
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  const std::size_t end = root == kAll ? nodes.size() - 1 : nodes[root].skip;
  const std::size_t top = root == kAll ? 0 : nodes[root].depth + 1u;
  if (path_.empty()) path_.resize(1);
  path_[0] = from;
  stays_.fill({});
  for (std::size_t at = root == kAll ? 0 : root + 1; at < end;) {
    const TokenTrie::Node& node = nodes[at];
    const std::size_t depth = node.depth - top;
    const SetId next = positions->after(path_[depth], node.byte);
    if (next == Positions::kNowhere) {
      at = node.skip;
      continue;
    }
    const ByteKinds kinds = staying(positions, next, next == path_[depth]);
    const bool is_passed = (node.below & ~kinds) == 0 && !(sees_ends && positions->may_end(next));
    const std::size_t behind = is_passed ? node.skip : at + 1;
    if (!visit(at, next, behind)) return;
    if (path_.size() < depth + 2) path_.resize(depth + 2);
    path_[depth + 1] = next;
    at = behind;
  }
}

void TokenMasks::add_range(std::size_t node, std::size_t end) {
  const std::uint32_t first = trie_->nodes()[node].first, last = trie_->nodes()[end].first;
  if (!ranges_.empty() && ranges_.back().second == first) {
    ranges_.back().second = last;
  } else if (first != last) {
    ranges_.emplace_back(first, last);
  }
}

void TokenMasks::allow_ranges(TokenMask* mask) const {
  const std::span<const std::int32_t> texts = trie_->texts();
  std::size_t count = 0;
  for (const auto& [first, last] : ranges_) count += last - first;
  if (2 * count <= texts.size()) {
    for (const auto& [first, last] : ranges_) {
      for (const std::int32_t token : texts.subspan(first, last - first)) allow_token(mask, token);
    }
    return;
  }
  // Fewer are left out.
  TokenMask most = texts_mask_;
  const auto forbid = [&](std::size_t first, std::size_t last) {
    for (const std::int32_t token : texts.subspan(first, last - first)) {
      most[static_cast<std::size_t>(token) / 32] &= ~(1u << (token % 32));
    }
  };
  std::size_t at = 0;
  for (const auto& [first, last] : ranges_) {
    forbid(at, first);
    at = last;
  }
  forbid(at, texts.size());
  for (std::size_t i = 0; i < most.size(); ++i) (*mask)[i] |= most[i];
}

void TokenMasks::add_below(Positions* positions, std::size_t root, SetId set, TokenMask* mask) {
  begin_ranges();
  walk(positions, root, set, false, [&](std::size_t at, SetId, std::size_t behind) {
    add_range(at, behind);
    return true;
  });
  allow_ranges(mask);
}

const TokenMasks::StateMask& TokenMasks::state_mask(Positions* positions, std::uint32_t state) {
  const auto known = state_masks_.find(state);
  if (known != state_masks_.end()) return known->second;
  StateMask found{true, TokenMask(trie_->mask_words()), {}};
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  // What is below an exit is walked again: more than a few exits cost more than they save.
  const std::size_t most_exits = 64 + nodes.size() / 16;
  begin_ranges();
  const auto visit = [&](std::size_t at, SetId next, std::size_t behind) {
    add_range(at, behind);
    const bool has_more = nodes[at].skip > at + 1;
    if (has_more && positions->may_end(next)) {
      found.exits.push_back(static_cast<std::uint32_t>(at));
    }
    return found.exits.size() <= most_exits;
  };
  walk(positions, kAll, positions->alone(state), true, visit);
  allow_ranges(&found.tokens);
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
