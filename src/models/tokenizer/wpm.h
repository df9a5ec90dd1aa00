// BERT's word pieces: a word is the longest token that it begins with, then the longest that the
// rest begins with, and so on; a word that this fails for is one unknown token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/byte_trie.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

struct WpmOptions {
  std::string first_prefix;      // what the texts of tokens at the start of a word begin with
  std::string next_prefix;       // and those of the others
  std::size_t longest_word = 0;  // in code points; longer words are unknown. 0: no limit
  std::int32_t unknown = -1;     // -1: words that are unknown are dropped
};

class Wpm final : public Model {
 public:
  Wpm(const StringTable& texts, WpmOptions options);

  void encode(std::string_view piece, EncodeBudget& budget,
              std::vector<std::int32_t>& out) const override;
  std::size_t widest() const override { return 0; }

 private:
  ByteTrie first_, next_;  // texts without their prefix
  std::size_t longest_;    // bytes of a text
  WpmOptions options_;
};

}  // namespace hearth::models::tokens
