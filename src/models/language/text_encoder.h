// Texts as vectors, by models whose rows see both ways.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/array.h"
#include "models/language/language_model.h"

namespace hearth::models {

using TokenLists = std::vector<std::vector<std::int32_t>>;

// The activations of all tokens [texts, longest, dim]; behind a shorter text they mean nothing.
// Throws Error{unsupported} for a model that sees one way, and Error{invalid_argument} for no text,
// an empty one, one beyond the model's context, and tokens outside the vocabulary.
Array encode_tokens(const LanguageModel& model, const TokenLists& texts);

// Each text as one vector of length 1, [texts, dim] in f32, pooled as the model has it.
Array embed_texts(const LanguageModel& model, const TokenLists& texts);

}  // namespace hearth::models
