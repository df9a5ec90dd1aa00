// Whether a tokenizer of a GGUF file works as the one that it was made of.
#pragma once

#include <string>

#include "models/tokenizer/tokenizer.h"

namespace hearth::models::tokens {

// Throws Error{unsupported} where they have other tokens for texts that kinds of tokenizers see
// differently. `source` begins messages.
void require_same(const Tokenizer& given, const Tokenizer& written, const std::string& source);

// Throws Error{unsupported} with a normal token whose text has other tokens in what was written.
void require_merges_to_all(const Tokenizer& given, const Tokenizer& written,
                           const std::string& source);

}  // namespace hearth::models::tokens
