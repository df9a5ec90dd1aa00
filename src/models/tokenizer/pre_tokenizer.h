// Cutting a text into the pieces that a model encodes each alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/tokenizer/encode_budget.h"
#include "models/tokenizer/pattern.h"

namespace hearth::models::tokens {

// Begin and end of a piece.
struct Span {
  std::size_t begin, end;
};

// A text and what is left of it, in order. Spans are never empty.
struct Pieces {
  std::string text;
  std::vector<Span> spans;
};

struct SplitStep {
  // What becomes of a match: a piece of its own, nothing, or a part of the piece before or behind
  // it; contiguous: neighbouring matches are one piece.
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  std::shared_ptr<const Pattern> pattern;
  Behavior behavior = Behavior::isolated;
  bool invert = false;  // what lies between matches counts as matches, and the other way round
};
// Spaces become U+2581, one is put before pieces, and pieces begin with it.
struct MetaspaceStep {
  enum class Prepend { always, first, never };  // first: only at the start of the whole text
  std::string replacement;
  Prepend prepend = Prepend::always;
  bool split = true;
  bool keeps_lines = false;  // pieces that begin with a line feed stay as they are
};
// A space before pieces that begin with none.
struct PrefixSpaceStep {};

using PreTokenizerStep = std::variant<SplitStep, MetaspaceStep, PrefixSpaceStep>;

// Applies the steps in order, each to the pieces of the one before, and counts the work.
// `at_start`: the text is the start of the whole one, of which nothing before it was dropped.
void pre_tokenize(const std::vector<PreTokenizerStep>& steps, Pieces& pieces, bool at_start,
                  EncodeBudget& budget);
// The same of a text that nobody limits.
void pre_tokenize(const std::vector<PreTokenizerStep>& steps, Pieces& pieces, bool at_start);

// Whether it matters for the steps that a text is the start.
bool looks_at_start(const std::vector<PreTokenizerStep>& steps);

// Whether all bytes of a text are in its pieces, which may have more.
bool keeps_bytes(const PreTokenizerStep& step);

// BERT's: pieces are punctuation, each alone, and what stands between white space.
void add_bert_pre_tokenizer(std::vector<PreTokenizerStep>& steps);

}  // namespace hearth::models::tokens
