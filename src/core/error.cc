#include "hearth/error.h"

#include <string_view>

#include "core/throw_as.h"
#include "hearth/call_site.h"

namespace hearth {
namespace {

// An Error that says its site: where calls stand within one another, that of the innermost.
class LocatedError : public Error {
 public:
  using Error::Error;
};

}  // namespace

inline namespace v0 {

const char* name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::shape:
      return "shape";
    case ErrorCode::dtype:
      return "dtype";
    case ErrorCode::device:
      return "device";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::corrupt_file:
      return "corrupt_file";
    case ErrorCode::io:
      return "io";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

void throw_at(const Error& error, CallSite site, const char* header) {
  const std::string_view file = site.file, ours = header;
  const bool is_callers = !file.empty() && !file.starts_with(ours.substr(0, ours.rfind('/') + 1));
  if (!is_callers || dynamic_cast<const LocatedError*>(&error) != nullptr) throw;
  throw LocatedError(error.code(),
                     error.what() + (" at " + std::string(file)) + ":" + std::to_string(site.line));
}
void throw_in(const Error& error, const std::string& part) {
  const std::string text = error.what() + (", in " + part);
  if (dynamic_cast<const LocatedError*>(&error) != nullptr) throw LocatedError(error.code(), text);
  throw Error(error.code(), text);
}
void throw_at(const Error& error, CallSite site, const char* header, const char* op) {
  const bool is_located = dynamic_cast<const LocatedError*>(&error) != nullptr;
  try {
    throw_as(op, error);
  } catch (const Error& named) {
    if (is_located) throw LocatedError(named.code(), named.what());
    throw_at(named, site, header);
  }
}

}  // namespace v0
}  // namespace hearth
