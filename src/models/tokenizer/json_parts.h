// The normalizer, pre_tokenizer and decoder of a tokenizer.json.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace hearth::models::tokens {

// Each throws Error{unsupported} with the type of a part that it does not know, and
// Error{corrupt_file} for what does not fit. Null adds nothing.
void add_normalizer(const JsonValue* value, const std::string& name,
                    std::vector<NormalizerStep>& steps);

// `by_bytes`: set where texts are seen as bytes from there on.
void add_pre_tokenizer(const JsonValue* value, const std::string& name,
                       std::vector<PreTokenizerStep>& steps, bool& by_bytes);

// What tokens add to a text.
struct JsonDecoder {
  bool none = true;          // tokens are words, with spaces between
  bool by_bytes = false;     // texts stand for bytes
  bool byte_tokens = false;  // <0xXX> is a byte
  bool word_pieces = false;  // those that do not begin with `prefix` are words
  bool cleans_up = false;    // no space before punctuation and contractions
  std::string prefix;
  std::vector<std::pair<std::string, std::string>> replaced;
  bool drops_first_space = false;

  // Where that is more than `most` bytes, some text of more than so many: what is replaced may
  // multiply from step to step.
  std::string bytes(std::string_view token, bool is_added, std::size_t most) const;
};
void add_decoder(const JsonValue* value, const std::string& name, JsonDecoder& decoder);

// Of a text among the merges: whether it is the first line of a merges.txt, which is none.
inline bool is_merges_version(std::string_view text) { return text.starts_with("#version"); }

}  // namespace hearth::models::tokens
