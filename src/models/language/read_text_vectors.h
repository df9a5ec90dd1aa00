// How texts become vectors, from a file's metadata.
#pragma once

#include <string>
#include <string_view>

#include "models/language/config.h"
#include "models/language/family.h"
#include "models/language/keys.h"

namespace hearth::models {

// Reads GGUF's "pooling_type", and the keys below, by which files say what it has no number for.
// Where neither says anything, encoders take the mean and other models make no vectors. Throws
// Error{unsupported} for a model that ranks pairs of texts and for other poolings.
TextVectorConfig read_text_vectors(const Keys& keys, const Family& family);

// Keys of ours, behind the family's name; other programs pass them over.
inline constexpr std::string_view kPoolingKey = "embedding.pooling";  // by pooling_name()
inline constexpr std::string_view kNormalisedKey = "embedding.is_normalised";
inline constexpr std::string_view kLongestKey = "embedding.longest";
inline constexpr std::string_view kPromptKey = "embedding.prompt";

// As sentence-transformers calls it, for instance "mean" and "cls"; "none".
std::string_view pooling_name(Pooling pooling);

// Throws Error{unsupported} with `key` for a name that pooling_name() does not give.
Pooling pooling_by_name(std::string_view name, const std::string& key);

}  // namespace hearth::models
