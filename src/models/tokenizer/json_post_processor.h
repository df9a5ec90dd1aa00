// The post_processor of a tokenizer.json.
#pragma once

#include <string>

#include "core/json.h"
#include "models/tokenizer/parts.h"

namespace hearth::models::tokens {

// Appends what it puts around a text to Parts::before and Parts::after; needs the vocabulary.
// Throws Error{unsupported} with the type of a part that is not known, and Error{corrupt_file} for
// what does not fit.
void read_post_processor(const JsonValue& value, const std::string& name, Parts& parts);

}  // namespace hearth::models::tokens
