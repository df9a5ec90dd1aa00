// What is done to a text before it is cut into pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/tokenizer/charsmap.h"
#include "models/tokenizer/pattern.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

struct LowerCase {};
struct StripMarks {};  // drops code points of category M
struct Replace {
  std::shared_ptr<const Pattern> pattern;  // null: `text` is replaced
  std::string text, content;
};
struct Prepend {
  std::string content;      // before a text that is not empty
  bool first_only = false;  // only at the start, and behind a special token
};
struct StripSpaces {
  bool left = true, right = true;
};
struct BertText {
  bool clean = true;          // drops controls and U+FFFD, and makes all white space a space
  bool split_chinese = true;  // puts spaces around CJK ideographs
  bool strip_accents = true;
  bool lower = true;
};
// Of SentencePiece: spaces become U+2581, one is put before the text, runs are one.
struct MarkSpaces {
  bool prefix = true;
  bool merge = true;  // also drops those at both ends
};

using NormalizerStep = std::variant<NormalForm, LowerCase, StripMarks, Replace, Prepend,
                                    StripSpaces, BertText, MarkSpaces, Charsmap>;

// The steps in order. `at_start`: no text stands before it, or a special token does. Throws
// Error{invalid_argument} where they make more than 64 KiB and 64 times as much of a text.
std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text,
                      bool at_start);

// Whether the steps leave nothing of the code point that a text begins with.
bool drops_start(const std::vector<NormalizerStep>& steps, std::string_view text);

// Whether what it makes of any part of a text has as many bytes at least.
bool keeps_bytes(const NormalizerStep& step);

}  // namespace hearth::models::tokens
