#include "models/grammar/positions.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "hearth/error.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxPositions = 4096;  // of one set
// When to start anew, which happens between tokens; and what one mask may add to that.
constexpr std::size_t kManySets = std::size_t{1} << 15;
constexpr std::size_t kManyPositions = std::size_t{1} << 20;
constexpr std::size_t kMaxSets = std::size_t{1} << 18;
constexpr std::size_t kMaxAllPositions = std::size_t{1} << 23;
constexpr std::size_t kMaxMaskWords = std::size_t{1} << 24;  // 64 MiB
// Looked at for one token: other texts of a batch wait for it.
constexpr std::size_t kMaxWork = std::size_t{1} << 19;
// Positions that a byte leaves behind cost as much together as one that it leads to.
constexpr std::size_t kPassedForOne = 16;

[[noreturn]] void fail_ambiguous(std::size_t limit, const char* what = "places at once") {
  throw Error(ErrorCode::unsupported, "grammar: too many ways to read a text; got more than " +
                                          std::to_string(limit) + " " + what +
                                          ", expected a less ambiguous grammar");
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
  return value ^ value >> 29;
}

}  // namespace

Positions::Positions(const Automaton& automaton) : automaton_(automaton) {
  frames_.push_back({0, 0});
  Set nowhere;
  nowhere.next.assign(automaton.classes(), kNowhere);
  sets_.push_back(std::move(nowhere));
  const Position first{automaton.start(), kEmptyStack};
  start_ = closure({&first, 1});
}

void Positions::count_work(std::size_t count) {
  work_count_ += count;
  if (work_count_ > kMaxWork) fail_ambiguous(kMaxWork, "places looked at for one token");
}

std::uint32_t Positions::pushed(std::uint32_t stack, std::uint32_t state) {
  // A rule that ends with a call leaves nothing to come back to.
  if (state == Automaton::kEnd) return stack;
  const std::uint64_t key = std::uint64_t{state} << 32 | stack;
  const auto [found, is_new] = stacks_.try_emplace(key, static_cast<std::uint32_t>(frames_.size()));
  if (is_new) frames_.push_back({state, stack});
  return found->second;
}

SetId Positions::closure(std::span<const Position> from, bool may_end) {
  work_.assign(from.begin(), from.end());
  reached_.clear();
  bool names_tokens = false;
  std::unordered_set<std::uint64_t> seen;
  while (!work_.empty()) {
    count_work(1);
    const Position at = work_.back();
    work_.pop_back();
    if (!seen.insert(std::uint64_t{at.state} << 32 | at.stack).second) continue;
    const State& state = automaton_[at.state];
    switch (state.kind) {
      case State::Kind::end:
        if (at.stack == kEmptyStack) {
          may_end = true;
        } else {
          work_.push_back({frames_[at.stack].state, frames_[at.stack].below});
        }
        break;
      case State::Kind::split:
        for (const std::uint32_t target : automaton_.targets(state)) {
          work_.push_back({target, at.stack});
        }
        break;
      case State::Kind::call:
        // Behind a call at the end of a rule nothing is left of that rule: a rule that calls itself
        // there makes no stack deeper.
        work_.push_back(
            {state.target, state.to == Automaton::kEnd ? at.stack : pushed(at.stack, state.to)});
        break;
      case State::Kind::token:
        names_tokens = true;
        [[fallthrough]];
      case State::Kind::bytes:
        reached_.push_back(at);
        if (reached_.size() > kMaxPositions) fail_ambiguous(kMaxPositions);
        break;
    }
  }
  if (reached_.empty() && !may_end) return kNowhere;
  std::sort(reached_.begin(), reached_.end());
  std::uint64_t hash = may_end ? 1 : 0;
  for (const Position& position : reached_) {
    hash = mixed(hash + (std::uint64_t{position.state} << 32 | position.stack));
  }
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Set& set = sets_[it->second];
    if (set.may_end == may_end && set.positions == reached_) return it->second;
  }
  position_count_ += reached_.size();
  if (sets_.size() >= kMaxSets) fail_ambiguous(kMaxSets);
  if (position_count_ > kMaxAllPositions) fail_ambiguous(kMaxAllPositions);
  Set set;
  set.positions = reached_;
  set.next.assign(automaton_.classes(), kUnknown);
  set.may_end = may_end;
  set.names_tokens = names_tokens;
  const auto id = static_cast<SetId>(sets_.size());
  sets_.push_back(std::move(set));
  by_hash_.emplace(hash, id);
  return id;
}

SetId Positions::find_after(SetId set, std::uint32_t byte_class) {
  const std::uint8_t byte = automaton_.byte_of_class(byte_class);
  std::vector<Position> from;
  count_work(sets_[set].positions.size() / kPassedForOne);
  for (const Position& position : sets_[set].positions) {
    const State& state = automaton_[position.state];
    if (state.kind != State::Kind::bytes) continue;
    for (const ByteEdge& edge : automaton_.edges(state)) {
      if (edge.bytes.low <= byte && byte <= edge.bytes.high) {
        from.push_back({edge.to, position.stack});
      }
    }
  }
  const SetId found = from.empty() ? kNowhere : closure(from);
  sets_[set].next[byte_class] = found;
  return found;
}

SetId Positions::after_token(SetId set, std::int32_t token) {
  if (!sets_[set].names_tokens) return kNowhere;
  std::vector<Position> from;
  for (const Position& position : sets_[set].positions) {
    const State& state = automaton_[position.state];
    if (state.kind == State::Kind::token && (state.token == token) != state.is_negated) {
      from.push_back({state.to, position.stack});
    }
  }
  return from.empty() ? kNowhere : closure(from);
}

SetId Positions::both(SetId a, SetId b) {
  if (a == b || b == kNowhere) return a;
  if (a == kNowhere) return b;
  std::vector<Position> from = sets_[a].positions;
  from.insert(from.end(), sets_[b].positions.begin(), sets_[b].positions.end());
  return closure(from, sets_[a].may_end || sets_[b].may_end);
}

SetId Positions::alone(std::uint32_t state) {
  const Position position{state, kEmptyStack};
  return closure({&position, 1});
}

SetId Positions::returned(std::uint32_t stack) {
  if (stack == kEmptyStack) return kNowhere;
  const Position position{frames_[stack].state, frames_[stack].below};
  return closure({&position, 1});
}

std::uint32_t Positions::copied_stack(const Positions& other, std::uint32_t stack) {
  std::vector<std::uint32_t> states;
  for (; stack != kEmptyStack; stack = other.frames_[stack].below) {
    states.push_back(other.frames_[stack].state);
  }
  std::uint32_t copy = kEmptyStack;
  for (std::size_t i = states.size(); i-- > 0;) copy = pushed(copy, states[i]);
  return copy;
}

SetId Positions::copied(const Positions& other, SetId set) {
  if (&other == this) return set;
  std::vector<Position> from;
  for (const Position& position : other.sets_[set].positions) {
    from.push_back({position.state, copied_stack(other, position.stack)});
  }
  return closure(from, other.sets_[set].may_end);
}

std::size_t Positions::bytes() const noexcept {
  // An entry of a hash table has two pointers beside what it holds.
  constexpr std::size_t kEntry = 4 * sizeof(void*);
  const std::size_t set = sizeof(Set) + automaton_.classes() * sizeof(SetId) + kEntry;
  return sets_.size() * set + position_count_ * sizeof(Position) +
         frames_.size() * (sizeof(Frame) + kEntry) + mask_words_ * sizeof(std::uint32_t);
}

bool Positions::is_full() const noexcept {
  return sets_.size() > kManySets || position_count_ > kManyPositions ||
         frames_.size() > kManyPositions;
}

void Positions::keep_mask(SetId set, std::shared_ptr<const TokenMask> mask) {
  if (mask_words_ + mask->size() > kMaxMaskWords) {
    for (Set& each : sets_) each.mask = nullptr;
    mask_words_ = 0;
  }
  mask_words_ += mask->size();
  sets_[set].mask = std::move(mask);
}

}  // namespace hearth::models::grammar
