// The prompts of plain completions, OpenAI's and llama.cpp's.
#pragma once

#include <cstddef>

#include "tools/serve/fields.h"
#include "tools/serve/served_model.h"

namespace hearth::tools::serve {

// Of the field `prompt`: a text, tokens, or an array of several of these, 1024 at most. Throws
// ApiError for others and, where they shall be answered, for those that leave no room.
models::TokenLists read_prompts(const Fields& fields, const ServedModel& model, bool is_answered);

// Refuses as many answers as would find the queue full at any time.
void require_room(std::size_t answers, const ServedModel& model);

}  // namespace hearth::tools::serve
