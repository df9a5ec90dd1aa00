// How far the texts of a request are turned into tokens.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "models/tokenizer/encode_limits.h"
#include "tools/chat_json/field_error.h"
#include "tools/serve/exchange.h"
#include "tools/serve/running_answers.h"

namespace hearth::tools::serve {

// That answers list, or texts of answers are made of.
inline constexpr std::size_t kMostListedTokens = std::size_t{1} << 20;

// Throws ApiError (503) where nobody waits for the answer any more or the service stops. `request`
// must outlive it.
std::function<void()> watch_of(const ApiRequest& request, const Service& service);

// At most `most` tokens of a text, under watch_of(): `request` must outlive them.
models::EncodeLimits text_limits(const ApiRequest& request, const Service& service,
                                 std::size_t most = std::numeric_limits<std::size_t>::max());

// Tokens that a prompt has at most, with room for an answer where one is asked for.
std::size_t most_prompt_tokens(const ServedModel& model, bool is_answered);

// The refusal of a prompt of so many tokens, such as "at least 9 tokens", in the field `param`.
FieldError prompt_too_long(const std::string& param, const std::string& tokens,
                           const ServedModel& model, bool is_answered);

// The tokens that `encode(limits)` gives of a prompt in the field `param`, in its turn among the
// service's encoders. A prompt that is too long is a FieldError; what is left of checks is
// check_prompt()'s.
template <class Encode>
auto within_context(const ApiRequest& request, const Service& service, const std::string& param,
                    bool is_answered, const Encode& encode) {
  try {
    models::EncodeLimits limits =
        text_limits(request, service, most_prompt_tokens(*service.model, is_answered));
    const WorkSlots::Slot slot = service.encoders->take(limits.watch);
    return encode(std::move(limits));
  } catch (const models::TooManyTokens& error) {
    throw prompt_too_long(param, "at least " + std::to_string(error.least()) + " tokens",
                          *service.model, is_answered);
  }
}

}  // namespace hearth::tools::serve
