#include "models/serving/prompt_limit.h"

namespace hearth::models {

std::int64_t longest_prompt(std::int64_t longest, std::int64_t most_tokens) {
  return most_tokens == 0 ? longest : longest - 1;
}

Error prompt_too_long(const std::string& tokens, std::int64_t longest, std::int64_t most_tokens) {
  return {ErrorCode::invalid_argument, "generate: a prompt too long; got " + tokens +
                                           ", expected 1 to " +
                                           std::to_string(longest_prompt(longest, most_tokens)) +
                                           " of a context of " + std::to_string(longest)};
}

}  // namespace hearth::models
