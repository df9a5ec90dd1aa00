// How far a text is encoded, for texts of any length that somebody sent.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

#include "hearth/error.h"

namespace hearth::models {

struct EncodeLimits {
  // Tokens of the whole text, with those that add_special puts around it. A text of more is not
  // encoded to its end: as soon as so much is known, TooManyTokens is thrown.
  std::size_t most = std::numeric_limits<std::size_t>::max();
  // Instead of throwing, ends the text there; what add_special puts behind it stays.
  bool cuts = false;
  // Called now and then while a long text is encoded, which ends with what this throws. Unset:
  // nobody asks.
  std::function<void()> watch = {};
};

// Error{invalid_argument} for a text of more tokens than it may have.
class TooManyTokens : public Error {
 public:
  // `least`: tokens that the text has at least.
  TooManyTokens(std::size_t least, std::size_t most);

  std::size_t least() const noexcept { return least_; }
  std::size_t most() const noexcept { return most_; }

 private:
  std::size_t least_, most_;
};

}  // namespace hearth::models
