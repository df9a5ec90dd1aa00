#include "models/tokenizer/encode_budget.h"

#include <string>

namespace hearth::models {

TooManyTokens::TooManyTokens(std::size_t least, std::size_t most)
    : Error(ErrorCode::invalid_argument, "tokenizer: a text of too many tokens; got at least " +
                                             std::to_string(least) + ", expected at most " +
                                             std::to_string(most)),
      least_(least),
      most_(most) {}

namespace tokens {

bool EncodeBudget::is_full(std::size_t tokens, std::size_t bytes) const {
  if (limits_.cuts) return tokens + behind_ > limits_.most;
  const std::size_t to_come = widest_ == 0 ? 0 : (bytes + widest_ - 1) / widest_;
  const std::size_t least = tokens + to_come + behind_;
  if (least > limits_.most) throw TooManyTokens(least, limits_.most);
  return false;
}

void EncodeBudget::ask() {
  left_ = kSteps;
  if (limits_.watch) limits_.watch();
}

}  // namespace tokens
}  // namespace hearth::models
