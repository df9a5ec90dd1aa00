// SentencePiece's unigram model: of all ways to write a text as tokens, the one with the highest
// sum of scores.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tokenizer/byte_trie.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

struct UnigramOptions {
  std::int32_t unknown = -1;   // -1: what is unknown is dropped
  bool byte_fallback = false;  // what is unknown becomes the tokens of its bytes
};

class Unigram final : public Model {
 public:
  // Normal tokens count with their scores, those of users with 0; the others are not found in
  // texts. A code point that is no token counts 10 less than the lowest score; neighbours that are
  // unknown are one token.
  Unigram(const Vocabulary& vocabulary, const std::vector<double>& scores,
          const UnigramOptions& options);

  void encode(std::string_view piece, EncodeBudget& budget,
              std::vector<std::int32_t>& out) const override;
  std::size_t widest() const override;

 private:
  ByteTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::vector<std::int32_t> of_bytes_;
  UnigramOptions options_;
  std::size_t longest_ = 0;  // bytes of a token
};

}  // namespace hearth::models::tokens
