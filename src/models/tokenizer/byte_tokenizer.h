// The tokenizer of models whose tokens are the bytes, as the files that folders have.
#pragma once

#include <string>

namespace hearth::models {

inline constexpr int kByteTokens = 256;

// tokenizer.json: the token of a byte is its value.
std::string byte_tokenizer_json();

// tokenizer_config.json: a text begins behind a line break, though none is put before it, and a
// byte of 0, which no text has, ends it.
std::string byte_tokenizer_config_json();

}  // namespace hearth::models
