// The tokens that a text ends with.
#pragma once

#include <cstdint>
#include <vector>

#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// All of Tokenizer::is_end_of_generation(), ascending.
std::vector<std::int32_t> ending_tokens(const Tokenizer& tokenizer);

}  // namespace hearth::models
