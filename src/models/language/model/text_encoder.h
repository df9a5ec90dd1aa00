// Texts as vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hearth/array.h"
#include "models/language/model/language_model.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

using TokenLists = std::vector<std::vector<std::int32_t>>;

// Texts that are worth handing to embed_texts() at once: enough that those of about equal lengths
// find one another.
inline constexpr std::size_t kTextsTogether = 256;

// Whether the model makes vectors: encoders, and models that see one way whose files say which rows
// to take. Recurrent layers have none.
bool makes_vectors(const LanguageConfig& config);

// Tokens of a text that becomes a vector: the longest that the model takes.
std::int64_t longest_vector_text(const LanguageModel& model);

// The tokens of a text, behind the prompt of the model's files. Where these say how long a text may
// be it is cut there, as sentence-transformers cuts it: what the tokenizer puts behind a text
// stays. Else limits.most holds; their watch always does.
std::vector<std::int32_t> tokens_of_text(const Tokenizer& tokenizer, const LanguageModel& model,
                                         std::string_view text, EncodeLimits limits = {});

// Throws Error{invalid_argument} for a text that cannot become a vector: an empty one, one longer
// than longest_vector_text(), and tokens outside the vocabulary.
void require_vector_text(const LanguageModel& model, std::span<const std::int32_t> text);

// Each text as one vector, [texts, dim] in f32, as config.vectors has it. Texts of about equal
// lengths run together, so that few rows are padding. Throws Error{unsupported} for a model that
// makes no vectors, and Error{invalid_argument} for no text and as require_vector_text().
Array embed_texts(const LanguageModel& model, const TokenLists& texts);

}  // namespace hearth::models
