// How the models refuse configurations and inputs.
#pragma once

#include <cstdint>
#include <string>

#include "hearth/error.h"

namespace hearth::models {

// Throws Error{invalid_argument} unless `holds`.
inline void require(const char* model, bool holds, const char* what, std::int64_t value,
                    const char* expected) {
  if (!holds) {
    throw Error(ErrorCode::invalid_argument, std::string(model) + ": " + what + "; got " +
                                                 std::to_string(value) + ", expected " + expected);
  }
}

}  // namespace hearth::models
