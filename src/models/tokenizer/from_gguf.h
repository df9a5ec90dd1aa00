// Tokenizers of GGUF files, by the metadata "tokenizer.ggml.*".
#pragma once

#include <string>

#include "hearth/gguf.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// The kinds llama (SentencePiece's merges), gpt2 (byte pairs, by the pre-tokenizer that is named),
// bert, t5 (unigram) and gemma4 (pairs of code points). `source` begins messages. Throws
// Error{corrupt_file} with the key or the token for what is missing or does not fit, and
// Error{unsupported} for other kinds and pre-tokenizers.
Tokenizer tokenizer_from_gguf(const GgufMetadata& metadata, const std::string& source);

}  // namespace hearth::models
