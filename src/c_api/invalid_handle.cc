#include "c_api/invalid_handle.h"

#include <string>

namespace hearth::c_api {
namespace {

const char* name(HandleKind kind) {
  switch (kind) {
    case HandleKind::array:
      return "an array";
    case HandleKind::read:
      return "a read";
    case HandleKind::gradients:
      return "gradients";
    case HandleKind::archive:
      return "an archive";
  }
  return "an object";
}

std::string text(HandleKind kind, std::uint64_t id, const char* function, const char* argument) {
  return std::string(function) + ": " + argument + ": no such handle; got " +
         (id == 0 ? "a zero handle" : std::to_string(id)) + ", expected one of " + name(kind) +
         " that was given out and not released";
}

}  // namespace

InvalidHandle::InvalidHandle(HandleKind kind, std::uint64_t id, const char* function,
                             const char* argument)
    : std::runtime_error(text(kind, id, function, argument)) {}

}  // namespace hearth::c_api
