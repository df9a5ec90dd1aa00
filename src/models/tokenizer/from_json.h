// Tokenizers of Hugging Face: the file tokenizer.json.
#pragma once

#include <string>

#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// Models BPE, Unigram and WordPiece, with the normalizers, pre-tokenizers, post-processors and
// decoders that models use. `config` is the text of tokenizer_config.json, which says what the
// special tokens are; it may be empty. `source` begins messages. Throws Error{corrupt_file} for
// what is no such file, with the field or token, and Error{unsupported} with the part that is not
// known.
Tokenizer tokenizer_from_json(const std::string& json, const std::string& source,
                              const std::string& config = "");

}  // namespace hearth::models
