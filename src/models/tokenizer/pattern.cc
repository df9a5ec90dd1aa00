#include "models/tokenizer/pattern.h"

#include <algorithm>

namespace hearth::models::tokens {
namespace {

constexpr std::size_t kFarBehind = 32;  // bytes behind a match from which ways are remembered

}  // namespace

std::uint32_t Pattern::symbol_at(std::string_view text, std::size_t at, const Facts& facts,
                                 std::uint32_t& size) const {
  std::uint32_t kind = classes_ - 1;
  size = 0;
  if (at < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte < 0x80) {
      kind = ascii_[byte];
      size = 1;
    } else {
      const Decoded one = decode_one(text, at);
      kind = class_of(one.code);
      size = one.size;
    }
  }
  return facts.empty() ? kind : kind + classes_ * facts[at];
}

Pattern::Facts Pattern::facts_of(std::string_view text) const {
  if (assertions_.empty()) return {};
  constexpr std::uint8_t kInside = 0xff;  // a code point
  const auto no_facts = Facts();
  Facts facts(text.size() + 1, kInside);
  std::uint32_t size = 0;
  for (std::size_t at = 0; at <= text.size(); at += std::max(size, 1u)) {
    facts[at] = static_cast<std::uint8_t>(symbol_at(text, at, no_facts, size));
  }
  // From the end, classes become facts.
  std::vector<std::uint32_t> states(assertions_.size());
  for (std::size_t at = text.size() + 1; at-- > 0;) {
    const std::uint8_t kind = facts[at];
    if (kind == kInside && at < text.size()) continue;
    std::size_t before = at;
    while (before > 0 && facts[--before] == kInside) {
    }
    const bool behind_word = at > 0 && makes_words_[facts[before]];
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < assertions_.size(); ++i) {
      bool holds = behind_word != makes_words_[kind];
      if (!assertions_[i].empty()) {
        const std::size_t row = static_cast<std::size_t>(states[i]) * (classes_ << i);
        const std::uint32_t entry = assertions_[i][row + kind + classes_ * bits];
        states[i] = entry >> 1;
        holds = (entry & 1) != 0;
      }
      bits |= (holds ? 1u : 0u) << i;
    }
    facts[at] = static_cast<std::uint8_t>(bits);
  }
  return facts;
}

std::size_t Pattern::match(std::string_view text, std::size_t start, const Facts& facts,
                           Overruns& overruns) const {
  std::size_t end = kNoMatch, at = start;
  std::uint32_t state = 1;
  while (true) {
    std::uint32_t size;
    const std::uint32_t entry = next(state, symbol_at(text, at, facts, size));
    if ((entry & 1) != 0) end = at;
    state = entry >> 1;
    if (state == 0 || size == 0) break;
    at += size;
    if (!overruns.known.empty() &&
        overruns.known.contains(static_cast<std::uint64_t>(at) << 24 | state)) {
      break;
    }
  }
  const std::size_t from = end == kNoMatch ? start : end;
  if (at - from > kFarBehind) note_overrun(text, start, from, at, facts, overruns);
  return end;
}

void Pattern::note_overrun(std::string_view text, std::size_t start, std::size_t from,
                           std::size_t to, const Facts& facts, Overruns& overruns) const {
  std::uint32_t state = 1;
  for (std::size_t at = start; at < to && state != 0;) {
    std::uint32_t size;
    state = next(state, symbol_at(text, at, facts, size)) >> 1;
    at += size;
    if (at > from) overruns.known.insert(static_cast<std::uint64_t>(at) << 24 | state);
  }
}

}  // namespace hearth::models::tokens
