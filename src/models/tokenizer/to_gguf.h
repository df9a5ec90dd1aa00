// Tokenizers of Hugging Face as GGUF files have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/gguf.h"

namespace hearth::models {

// The texts of a folder's files; empty where there is none.
struct TokenizerTexts {
  std::string tokenizer;                // tokenizer.json
  std::string config;                   // tokenizer_config.json
  std::string chat_template;            // chat_template.jinja
  std::string tool_template = {};       // what is beside that for tools
  std::vector<std::int64_t> ends = {};  // of end_tokens_of()
  bool keeps_merges = false;            // Family::keeps_merges
};

// Adds "tokenizer.ggml.*" and "tokenizer.chat_template*": kinds gpt2 (BPE over bytes, by a
// pre-tokenizer that GGUF has a name for), bert (WordPiece), t5 (Unigram behind Metaspace), and of
// BPE over code points gemma4 where merges are kept, else llama, whose scores are the ranks of
// merges. Tokens are filled up to `rows` with unused ones. Throws as tokenizer_from_json() does;
// Error{unsupported} for tokenizers that GGUF cannot say: what is added is read back, and has to
// encode a set of texts as the folder's does.
void add_tokenizer(GgufMetadata& metadata, const TokenizerTexts& texts, std::int64_t rows,
                   const std::string& source);

}  // namespace hearth::models
