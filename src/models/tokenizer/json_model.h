// The model of a tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/parts.h"

namespace hearth::models::tokens {

// Reads it into Parts::model and Parts::special.unknown; needs the vocabulary. Throws
// Error{unsupported} and Error{corrupt_file} with the field.
class JsonModel {
 public:
  using Texts = std::set<std::string, std::less<>>;

  // `by_bytes`: texts come as bytes. `own_tokens`: tokens with larger ids are added. `renamed`:
  // texts of the vocabulary where added tokens stand now.
  JsonModel(const JsonFields& model, bool by_bytes, std::size_t own_tokens, const Texts& renamed,
            Parts& parts)
      : model_(model),
        by_bytes_(by_bytes),
        model_tokens_(own_tokens),
        renamed_(renamed),
        parts_(parts) {}

  // `type`: BPE, Unigram or WordPiece. `scores`: by id, of Unigram.
  void read(const std::string& type, const std::vector<double>& scores);

 private:
  void read_bpe();
  void read_unigram(const std::vector<double>& scores);
  void read_word_pieces();
  // -1 where the model names none.
  std::int32_t unknown_token() const;
  // The texts of all tokens, or their bytes; found are those of the model, not what is added to it.
  StringTable pieces_of_model() const;
  // As tokenizers has it: both parts and what they make are tokens of the model.
  void require_tokens_of(std::string_view left, std::string_view right,
                         const JsonValue& merge) const;
  // Views into `pool`. A merge is a text with one space, or a list of two texts.
  std::vector<Bpe::Merge> read_merges(std::string& pool) const;

  const JsonFields& model_;
  bool by_bytes_;
  std::size_t model_tokens_;
  const Texts& renamed_;
  Parts& parts_;
};

}  // namespace hearth::models::tokens
