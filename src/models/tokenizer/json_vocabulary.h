// The tokens of a tokenizer.json: those of its model, and what is added to them.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/json_fields.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

struct AddedTokens {
  const JsonArray& all;
  const std::string& name;  // in messages
  std::size_t listed;       // by tokenizer.json itself
};

struct JsonTokens {
  std::vector<double> scores;  // by id, of Unigram; else 0
  // Texts of the model where added tokens stand now.
  std::set<std::string, std::less<>> renamed;
  std::size_t text_bytes = 0;  // of all tokens
  std::size_t of_model = 0;    // those with larger ids are added
};

// Fills the vocabulary, by a model of this type: all tokens are normal, ids without one unused, of
// which there are more up to `rows`.
// Throws Error{corrupt_file} for what is no token, for ids that two tokens of the model or two of
// those that tokenizer.json adds have, and for ids that leave too many others out.
JsonTokens read_json_vocabulary(const JsonFields& model, const std::string& type,
                                const AddedTokens& added, std::size_t rows, Vocabulary& vocabulary);

}  // namespace hearth::models::tokens
