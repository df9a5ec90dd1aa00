// Messages of exceptions that texts of callers stand in.
#pragma once

#include <string>

namespace hearth {

// The message with "\x00" in place of each NUL byte, at which what() would end.
inline std::string whole_message(std::string message) {
  for (std::size_t at = 0; (at = message.find('\0', at)) != std::string::npos;) {
    message.replace(at, 1, "\\x00");
  }
  return message;
}

}  // namespace hearth
