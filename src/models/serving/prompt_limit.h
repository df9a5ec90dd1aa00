// How long the prompt of a text may be.
#pragma once

#include <cstdint>
#include <string>

#include "hearth/error.h"
#include "models/tokenizer/encode_limits.h"

namespace hearth::models {

// Tokens of a prompt, of `longest` that it has together with its answer: one is left for an answer
// unless `most_tokens`, that it may have, is 0.
std::int64_t longest_prompt(std::int64_t longest, std::int64_t most_tokens);

// Of a prompt of so many tokens, such as "at least 9 tokens".
Error prompt_too_long(const std::string& tokens, std::int64_t longest, std::int64_t most_tokens);

// What `encode(limits)` gives of a prompt's text, which is not encoded further than it may be long.
// Throws prompt_too_long(); a context without room for any prompt is Scheduler::submit()'s to
// refuse.
template <class Encode>
auto within_prompt(std::int64_t longest, std::int64_t most_tokens, const Encode& encode) {
  EncodeLimits limits;
  const std::int64_t most = longest_prompt(longest, most_tokens);
  if (most > 0) limits.most = static_cast<std::size_t>(most);
  try {
    return encode(limits);
  } catch (const TooManyTokens& error) {
    throw prompt_too_long("at least " + std::to_string(error.least()) + " tokens", longest,
                          most_tokens);
  }
}

}  // namespace hearth::models
