// The prompts of plain completions, OpenAI's and llama.cpp's.
#pragma once

#include <cstddef>

#include "tools/chat_json/fields.h"
#include "tools/serve/exchange.h"
#include "tools/serve/running_answers.h"

namespace hearth::tools::serve {

// Of the field `prompt`: a text, tokens, or an array of several of these, 1024 at most. An array
// that has tokens is one prompt, in which texts may stand between them. Texts of control tokens are
// these tokens unless the field `parse_special` is false, as in llama.cpp: who sends a prompt may
// send its tokens, too. `add_special_tokens` that is false leaves out the tokens that are put
// around texts. Throws FieldError for others, where they shall be answered for those that leave no
// room, and where nobody waits for the answer.
models::TokenLists read_prompts(const Fields& fields, const ApiRequest& request,
                                const Service& service, bool is_answered);

// Refuses as many answers as would find the queue full at any time.
void require_room(std::size_t answers, const ServedModel& model);

}  // namespace hearth::tools::serve
