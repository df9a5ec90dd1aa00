// Pre-tokenizers by the names that GGUF files give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/pre_tokenizer.h"

namespace hearth::models::tokens {

// What becomes of the spaces of a text.
enum class SpacesOfPieces {
  as_bytes,            // merging begins with bytes, in all others with code points
  marked,              // U+2581 in their place
  marked_before_each,  // the same, and before each line, and pieces begin with it
  dropped,             // pieces stand between them
};

// What GGUF's "tokenizer.ggml.pre" names.
struct NamedPreTokenizer {
  std::vector<PreTokenizerStep> steps;
  SpacesOfPieces spaces = SpacesOfPieces::as_bytes;
  bool whole_first = false;  // a piece that is a token is taken as it is
  bool adds_bos = false;     // unless the file says otherwise
};

// Throws Error{unsupported} with the name, after `source`, and those that there are, for others.
NamedPreTokenizer named_pre_tokenizer(std::string_view name, const std::string& source);

// One name of each way to split, in the order of the table.
std::vector<std::string_view> ways_to_split();

// The name of one that cuts texts as these steps do, over bytes, and takes whole pieces alike;
// empty where there is none. Compared by what becomes of all triples of kinds of characters.
std::string_view name_of_pre_tokenizer(const std::vector<PreTokenizerStep>& steps,
                                       bool whole_first);

}  // namespace hearth::models::tokens
