// The numbers of a language model from the metadata of its file.
#pragma once

#include <string_view>

#include "hearth/gguf.h"
#include "models/language/config.h"
#include "models/language/family.h"

namespace hearth::models {

// A key of ours, behind the family's name: false where the weight of the output is missing and not
// the embedding's.
inline constexpr std::string_view kHasOutputKey = "has_output";

// Throws Error{unsupported} for an architecture, a scaling of positions or a router that is not
// known, and Error{invalid_argument} with the key of a number that is missing or makes no model.
LanguageConfig read_config(const GgufMetadata& metadata, FileKind kind);

// The family that the metadata name. Throws as read_config() does.
const Family& family_of(const GgufMetadata& metadata);

}  // namespace hearth::models
