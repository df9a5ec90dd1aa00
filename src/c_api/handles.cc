#include "c_api/handles.h"

namespace hearth::c_api {
namespace {

const char* name(HandleKind kind) {
  switch (kind) {
    case HandleKind::array:
      return "array";
    case HandleKind::read:
      return "read";
    case HandleKind::gradients:
      return "gradients";
    case HandleKind::archive:
      return "archive";
  }
  return "object";
}

}  // namespace

InvalidHandle::InvalidHandle(HandleKind kind, std::uint64_t id)
    : text_(std::make_shared<const std::string>("no such handle; got " + std::to_string(id) +
                                                ", expected one of " + std::string(name(kind)) +
                                                " that was given out and not released")) {}

}  // namespace hearth::c_api
