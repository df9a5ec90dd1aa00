#include "core/throw_as.h"

#include <string>

namespace hearth {
namespace {

// Whether the error is about what the caller gave.
bool is_of_arguments(const Error& error, const std::string& text) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
    case ErrorCode::shape:
    case ErrorCode::dtype:
    case ErrorCode::unsupported:
      return true;
    case ErrorCode::device:  // a fault of the device, but for arrays that do not share one
      return text.find(": inputs on different devices") != std::string::npos;
    default:
      return false;
  }
}

}  // namespace

void throw_as(const char* op, const Error& error) {
  const std::string text = error.what();
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos || !is_of_arguments(error, text)) throw;
  throw Error(error.code(), op + text.substr(colon));
}

}  // namespace hearth
