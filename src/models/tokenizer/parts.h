// What a tokenizer is made of; loaders of files fill it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/tokenizer/model.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/pre_tokenizer.h"
#include "models/tokenizer/special.h"
#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {

struct Parts {
  Vocabulary vocabulary;
  SpecialTokens special;
  // In the order in which they work: found in the text as it is, normalizing, found in normal text,
  // cutting into pieces, encoding.
  SpecialTexts raw_texts;
  std::vector<NormalizerStep> normalizer;
  SpecialTexts normal_texts;
  std::vector<PreTokenizerStep> pre_tokenizer;
  std::unique_ptr<const Model> model;
  std::vector<std::int32_t> before, after;  // what add_special puts around a text
  bool drops_first_space = false;           // of decoded texts
  std::vector<bool> ends_generation;        // by id

  // The bytes of a text, as it is before all steps, that one token stands for at most. 0: any
  // number, since some steps leave bytes out.
  std::size_t widest = 0;
};

// Completes Parts::special by the texts of tokens, and sets Parts::ends_generation by both and by
// `ends`, of which the first that have no role are Parts::special's eos, eot and eom where these
// are free. Those outside of the vocabulary count for nothing.
void find_roles(Parts& parts, std::span<const std::int64_t> ends = {});
// Sets Parts::widest by all other members.
void find_widest(Parts& parts);

}  // namespace hearth::models::tokens
