// Where a text may be cut before U+2581 since no symbol of a vocabulary reaches across: merging the
// parts alone gives what merging all of it would, in less time.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>

#include "models/tokenizer/unicode.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

class MarkCuts {
 public:
  // Of all symbols that merging can make.
  explicit MarkCuts(const StringTable& symbols) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const std::string_view text = symbols[static_cast<std::int32_t>(i)];
      for (std::size_t at = text.find(kSpaceMark, 1); at < text.size();
           at = text.find(kSpaceMark, at + 1)) {
        if (!ends_with_mark(text, at)) joined_.set(static_cast<std::uint8_t>(text[at - 1]));
      }
    }
  }

  // Calls on_part(part) for each, in order.
  template <class OnPart>
  void split(std::string_view text, OnPart on_part) const {
    std::size_t begin = 0;
    for (std::size_t at = text.find(kSpaceMark, 1); at < text.size();
         at = text.find(kSpaceMark, at + 1)) {
      if (ends_with_mark(text, at) || joined_[static_cast<std::uint8_t>(text[at - 1])]) continue;
      on_part(text.substr(begin, at - begin));
      begin = at;
    }
    on_part(text.substr(begin));
  }

 private:
  static bool ends_with_mark(std::string_view text, std::size_t end) {
    return text.substr(0, end).ends_with(kSpaceMark);
  }

  std::bitset<256> joined_;  // bytes that a symbol has before U+2581
};

}  // namespace hearth::models::tokens
