// What a chat is asked for with, whichever API it comes by.
#pragma once

#include <cstdint>
#include <vector>

#include "models/chat/chat_format.h"
#include "tools/serve/exchange.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/running_answers.h"

namespace hearth::tools::serve {

inline constexpr std::int64_t kMostChatLogprobs = 20;

struct ChatJob {
  GenerationFields fields;
  models::ChatPrompt prompt;  // that the answer is read by
  bool is_call = false;       // its content is the JSON of one call, and nothing else
  bool may_call_several = true;
  bool has_logprobs = false;

  std::vector<models::GenerationRequest> requests() const {
    return fields.requests({prompt.tokens});
  }
};

// Of the fields of /v1/chat/completions, which `request` asked for in this or another form. Throws
// FieldError, ApiError where nobody waits any more, and Error where the template refuses.
ChatJob read_chat_job(const Fields& fields, const ApiRequest& request, const Service& service);

// What the template makes of messages, tools and its arguments alone. Throws as read_chat_job().
models::ChatPrompt read_chat_prompt(const Fields& fields, const ApiRequest& request,
                                    const Service& service);

}  // namespace hearth::tools::serve
