#include "core/throw_as.h"

#include <string>

namespace hearth {
namespace {

// Whether the error is about what the caller gave. `rest`: its text from the first colon on.
bool is_of_arguments(const Error& error, const std::string& rest) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
    case ErrorCode::shape:
    case ErrorCode::dtype:
    case ErrorCode::unsupported:
      return true;
    case ErrorCode::device:
      return rest.starts_with(kDifferentDevices);
    default:
      return false;
  }
}

}  // namespace

void throw_as(const char* op, const Error& error) {
  const std::string text = error.what();
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) throw;
  const std::string rest = text.substr(colon);
  if (!is_of_arguments(error, rest)) throw;
  throw Error(error.code(), op + rest);
}

}  // namespace hearth
