// A check of enums that come from callers.
#pragma once

#include <string>

#include "hearth/error.h"

namespace hearth {

// Throws Error{invalid_argument} unless `value` is one of its enum, whose values count from 0 to
// `last`; `what` names it.
template <class E>
void require_listed(const char* op, const char* what, E value, E last) {
  const auto number = static_cast<unsigned>(value);
  if (number <= static_cast<unsigned>(last)) return;
  throw Error(ErrorCode::invalid_argument, std::string(op) + ": unknown " + what + "; got " +
                                               std::to_string(number) + ", expected 0 to " +
                                               std::to_string(static_cast<unsigned>(last)));
}

}  // namespace hearth
