// The error of an id that names nothing.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace hearth::c_api {

// What a handle names; a part of its id, so that one kind never passes for another.
enum class HandleKind : std::uint8_t { array = 1, read, gradients, archive };

// Its text is whole: "function: argument: no such handle; got ..., expected ...".
class InvalidHandle : public std::runtime_error {
 public:
  InvalidHandle(HandleKind kind, std::uint64_t id, const char* function, const char* argument);
};

}  // namespace hearth::c_api
