// SentencePiece's merges by score: neighbours whose text is a token are joined, the one with the
// highest score first and leftmost among equals.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/tokenizer/mark_cuts.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

class Spm final : public Model {
 public:
  // `texts` and `scores` by id. Code points that are no token become their bytes' tokens, or where
  // there is none `unknown`, unless that is -1.
  Spm(const StringTable& texts, std::vector<float> scores, std::vector<std::int32_t> of_bytes,
      std::int32_t unknown);

  void encode(std::string_view piece, EncodeBudget& budget,
              std::vector<std::int32_t>& out) const override;
  std::size_t widest() const override;

 private:
  // A part of the piece in the list of those that are left; `size` 0: joined with the one before.
  struct Part {
    std::size_t begin, size;
    std::int32_t previous, next;
  };
  struct Pair {
    float score;
    std::int32_t left, right;
    std::size_t size;  // of both, when the pair was found
  };
  // Memory that parts of one piece use in turn.
  struct Scratch {
    std::vector<Part> parts;
    std::vector<Pair> heap;
  };

  void encode_part(std::string_view piece, Scratch& scratch, EncodeBudget& budget,
                   std::vector<std::int32_t>& out) const;

  StringTable texts_;
  MarkCuts cuts_;
  std::vector<float> scores_;
  std::vector<std::int32_t> of_bytes_;
  std::int32_t unknown_;
};

}  // namespace hearth::models::tokens
