// Errors name the op that the user called, not those that it is made of.
//
//   Array stack(...) try {
//     ...
//   } catch (const Error& error) {
//     throw_as("stack", error);
//   }
#pragma once

#include "hearth/error.h"

namespace hearth {

// How an error says that arrays share no device: the one of ErrorCode::device that is about what
// the caller gave. Stands behind the op's name.
inline constexpr char kDifferentDevices[] = ": inputs on different devices";

// In a handler of `error`: throws it again as one of `op`, whose name takes the place of what
// stands before the first colon. Faults of the machine go on as they are: their text says what has
// failed.
[[noreturn]] void throw_as(const char* op, const Error& error);

}  // namespace hearth
