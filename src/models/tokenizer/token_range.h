// Tokens that callers give.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hearth/error.h"

namespace hearth::models {

// Throws Error{invalid_argument} in the name of `op` unless all are in [0, vocabulary).
inline void require_tokens(const std::string& op, std::span<const std::int32_t> tokens,
                           std::int64_t vocabulary) {
  for (const std::int32_t token : tokens) {
    if (token >= 0 && token < vocabulary) continue;
    throw Error(ErrorCode::invalid_argument, op + ": token outside the vocabulary; got " +
                                                 std::to_string(token) + ", expected 0 to " +
                                                 std::to_string(vocabulary - 1));
  }
}

}  // namespace hearth::models
