// Tokens that are found in a text before all else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tokenizer/byte_trie.h"

namespace hearth::models::tokens {

struct AddedToken {
  std::int32_t id = -1;
  bool is_control = false;  // found only where the text may have control tokens
  bool left_strip = false, right_strip = false;  // takes the white space beside it
  bool single_word = false;  // found only between code points that make no words
};

// A part of a text: a token, or text (`id` -1), which is not empty.
struct Segment {
  std::int32_t id = -1;
  std::string_view text;
};

class SpecialTexts {
 public:
  // Of equal texts the last stands.
  void add(std::string_view text, const AddedToken& token);
  bool empty() const noexcept { return tokens_.empty(); }

  // Appends the parts of `text`: at each place the longest token that begins there, of those that
  // are allowed.
  void split(std::string_view text, bool parse_control, std::vector<Segment>& out) const;

 private:
  std::vector<AddedToken> tokens_;
  ByteTrie trie_;  // places in tokens_
};

}  // namespace hearth::models::tokens
