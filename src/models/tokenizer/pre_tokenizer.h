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
};
// A space before pieces that begin with none.
struct PrefixSpaceStep {};

using PreTokenizerStep = std::variant<SplitStep, MetaspaceStep, PrefixSpaceStep>;

// Applies the steps in order, each to the pieces of the one before, and counts the work.
// `at_start`: the text is the start of the whole one.
void pre_tokenize(const std::vector<PreTokenizerStep>& steps, Pieces& pieces, bool at_start,
                  EncodeBudget& budget);
// The same of a text that nobody limits.
void pre_tokenize(const std::vector<PreTokenizerStep>& steps, Pieces& pieces, bool at_start);

// Whether all bytes of a text are in its pieces, which may have more.
bool keeps_bytes(const PreTokenizerStep& step);

// What GGUF's "tokenizer.ggml.pre" names.
struct NamedPreTokenizer {
  std::vector<PreTokenizerStep> steps;
  bool by_bytes = true;      // merging begins with bytes
  bool whole_first = false;  // a piece that is a token is taken as it is
  bool adds_bos = false;     // unless the file says otherwise
};

// Throws Error{unsupported} with the name, after `source`, for those that are not there.
NamedPreTokenizer named_pre_tokenizer(std::string_view name, const std::string& source);

// The name of one that cuts texts as these steps do, over bytes, and takes whole pieces alike;
// empty where there is none. Compared by what becomes of all triples of kinds of characters.
std::string_view name_of_pre_tokenizer(const std::vector<PreTokenizerStep>& steps,
                                       bool whole_first);

// BERT's: pieces are punctuation, each alone, and what stands between white space.
void add_bert_pre_tokenizer(std::vector<PreTokenizerStep>& steps);

// GPT-2's pattern, of which others are made.
extern const char kGpt2Pattern[];

}  // namespace hearth::models::tokens
