// What all tokenizers of GGUF files have: tokens, their types, bytes and roles.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/gguf.h"
#include "models/tokenizer/parts.h"

namespace hearth::models::tokens {

// Keys are those behind "tokenizer.ggml.". What is missing or does not fit is an
// Error{corrupt_file} with its key; values of another type are the Error{invalid_argument} of
// GgufValue.
struct GgufVocabulary {
  [[noreturn]] void fail(const std::string& what) const;
  const GgufValue& required(const std::string& key) const;
  bool flag(const std::string& key, bool fallback) const;
  // One for each token, none of them NaN.
  std::vector<double> read_scores() const;

  // Texts and types: what the others need.
  void read_vocabulary();
  // `defaults`: roles of tokens that no key names.
  void read_special(const SpecialTokens& defaults);
  // What add_special puts around a text, unless the keys say otherwise.
  void read_ends(bool bos, std::int32_t begin, bool eos, std::int32_t end);
  // The format does not say which tokens take the white space beside them; models do.
  void read_added();
  // What tokens add to texts whose spaces are U+2581.
  void read_bytes();

  const GgufMetadata& metadata;
  const std::string& source;  // begins messages
  std::string model = {};     // "llama", ...
  Parts parts = {};

 private:
  void expect_count(const std::string& key, std::size_t count) const;
  // Whether the lower-case text of a key of any kind has one of the words.
  bool names(const std::string& key, std::initializer_list<std::string_view> words) const;
};

}  // namespace hearth::models::tokens
