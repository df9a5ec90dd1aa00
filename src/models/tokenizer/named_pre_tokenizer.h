// Pre-tokenizers by the names that GGUF files give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/pre_tokenizer.h"

namespace hearth::models::tokens {

// What GGUF's "tokenizer.ggml.pre" names.
struct NamedPreTokenizer {
  std::vector<PreTokenizerStep> steps;
  bool by_bytes = true;      // merging begins with bytes
  bool whole_first = false;  // a piece that is a token is taken as it is
  bool adds_bos = false;     // unless the file says otherwise
};

// Throws Error{unsupported} with the name, after `source`, for those that are not there.
NamedPreTokenizer named_pre_tokenizer(std::string_view name, const std::string& source);

// One name of each way to split, in the order of the table.
std::vector<std::string_view> ways_to_split();

// The name of one that cuts texts as these steps do, over bytes, and takes whole pieces alike;
// empty where there is none. Compared by what becomes of all triples of kinds of characters.
std::string_view name_of_pre_tokenizer(const std::vector<PreTokenizerStep>& steps,
                                       bool whole_first);

}  // namespace hearth::models::tokens
