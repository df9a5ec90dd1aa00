// What is left of the limits of one call of Tokenizer::encode().
#pragma once

#include <cstddef>

#include "models/tokenizer/encode_limits.h"

namespace hearth::models::tokens {

class EncodeBudget {
 public:
  // `limits` must outlive it. `widest`: bytes of a text that one token stands for at most; 0: any
  // number. `behind`: tokens that will be put behind the text.
  EncodeBudget(const EncodeLimits& limits, std::size_t widest, std::size_t behind)
      : limits_(limits), widest_(widest), behind_(behind) {}

  // Counts steps of some nanoseconds each, such as bytes that are looked at, and calls the limits'
  // watch once in a million.
  void work(std::size_t steps) {
    if (steps < left_) {
      left_ -= steps;
    } else {
      ask();
    }
  }

  // Whether the tokens so far are enough of a text that is cut. Throws TooManyTokens where they,
  // and those that `bytes` to come must be, are more than there may be of one that is not.
  bool is_full(std::size_t tokens, std::size_t bytes = 0) const;

 private:
  static constexpr std::size_t kSteps = std::size_t{1} << 20;

  void ask();

  const EncodeLimits& limits_;
  std::size_t widest_, behind_;
  std::size_t left_ = kSteps;
};

}  // namespace hearth::models::tokens
