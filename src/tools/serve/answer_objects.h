// Parts of the objects that answers are.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/json.h"
#include "models/serving/request.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::tools::serve {

// A name for an answer that no other has: the prefix and 24 random digits.
std::string fresh_id(const char* prefix);
std::int64_t seconds_now();

// "stop", "length", "tool_calls" or null.
JsonValue finish_name(models::FinishReason finish, bool has_calls);

// Of chats: [{token, logprob, bytes, top_logprobs}].
JsonArray chat_logprobs(const models::Tokenizer& tokenizer,
                        std::span<const models::GenerationToken> tokens);

// Of completions: {tokens, token_logprobs, top_logprobs, text_offset}. `offset` is where the text
// of the first token begins, and is moved behind the last.
JsonValue completion_logprobs(const models::Tokenizer& tokenizer,
                              std::span<const models::GenerationToken> tokens,
                              std::int64_t& offset);

}  // namespace hearth::tools::serve
