// The regular expressions that tokenizers split texts with, as tables: a match takes one look-up
// for each code point, and all matches of a text take time linear in it, whatever the pattern.
//
// The language is a part of Oniguruma's, which Hugging Face's tokenizers use: code points and
// escapes (\n \r \t \f \v \xHH \x{H} \uHHHH), sets with ranges and negation, \s \S \d \D \w \W,
// \p{L} \P{Lu} (general categories), `.`, groups, alternation, the quantifiers ? * + {m} {m,}
// {m,n}, lazy ones with ? behind them, (?i:...) over ASCII, $ \b \B (?!x) and (?=x). The first
// alternative that matches is taken, not the longest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

class Pattern {
 public:
  // Throws Error{unsupported}, with the pattern, for what is outside of that language or too large
  // for the tables; `source` begins the message.
  Pattern(std::string_view text, const std::string& source);
  // One that matches this text and no other.
  static Pattern literal(std::string_view text);

  // Calls on_piece(begin, end, matched) for each match and for what lies between matches, in order;
  // together they are the text. A match may be empty, but where another one ends. Bytes that are no
  // UTF-8 match as U+FFFD does, each alone.
  template <class OnPiece>
  void split(std::string_view text, OnPiece on_piece) const {
    if (text.empty()) return;
    const Facts facts = facts_of(text);
    Overruns overruns;
    std::size_t gap = 0;  // behind the last match
    bool any = false;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = match(text, at, facts, overruns);
      if (end != kNoMatch && (end > at || !any || at > gap)) {
        if (gap < at) on_piece(gap, at, false);
        on_piece(at, end, true);
        any = true;
        gap = end;
      }
      if (end != kNoMatch && end > at) {
        at = end;
      } else {
        at += at < text.size() ? decode_one(text, at).size : 1;
      }
    }
    if (gap < text.size()) on_piece(gap, text.size(), false);
  }

 private:
  static constexpr std::size_t kNoMatch = ~std::size_t{0};

  Pattern() = default;
  // [place of the text]: the bits of the assertions that hold there; empty: the pattern has none.
  using Facts = std::vector<std::uint8_t>;
  // Places of the text, each with a state that leads to no match from there: no later match needs
  // to go that way again. Only those far behind a match are kept.
  struct Overruns {
    std::unordered_set<std::uint64_t> known;
  };

  Facts facts_of(std::string_view text) const;
  // What the tables go on by at a place: a class of code points, and facts. `size`: the bytes of
  // the code point, 0 at the end.
  std::uint32_t symbol_at(std::string_view text, std::size_t at, const Facts& facts,
                          std::uint32_t& size) const;
  // The end of the match that begins at `start`; kNoMatch where none does.
  std::size_t match(std::string_view text, std::size_t start, const Facts& facts,
                    Overruns& overruns) const;
  void note_overrun(std::string_view text, std::size_t start, std::size_t from, std::size_t to,
                    const Facts& facts, Overruns& overruns) const;
  std::uint32_t class_of(std::uint32_t code) const noexcept {
    return blocks_[(static_cast<std::size_t>(block_of_[code >> 8]) << 8) | (code & 0xff)];
  }
  std::uint32_t next(std::uint32_t state, std::uint32_t symbol) const noexcept {
    return table_[static_cast<std::size_t>(state) * symbols_ + symbol];
  }

  friend class PatternTables;
  std::uint32_t classes_ = 0;  // of code points, and one for the end of the text, the last
  std::uint32_t symbols_ = 0;  // classes, for each set of facts
  std::vector<std::uint16_t> block_of_;  // of 256 code points, in blocks_
  std::vector<std::uint8_t> blocks_;     // the class of each code point
  std::array<std::uint8_t, 128> ascii_{};
  // [state, symbol]: the next state << 1 | whether a match ends before the code point. State 0
  // ends.
  std::vector<std::uint32_t> table_;
  std::vector<std::vector<std::uint32_t>> assertions_;  // as assertion_table() has it; \b: empty
  std::vector<bool> makes_words_;                       // [class]
};

}  // namespace hearth::models::tokens
