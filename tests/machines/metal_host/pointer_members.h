// Pointers in the structs that a text of Metal passes as constants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::metal {

// A pointer, or one of each element of an array of structs or pointers, in C++ of the struct's
// type.
struct PointerMember {
  std::string path;     // "member[0].x"
  std::string element;  // of the array that it is in: "member[0]", "member[0].x"; empty: in none
  std::int64_t count = 1;
  bool writes = false;

  // The path of one of them.
  std::string of(std::int64_t index) const;
};

// The name of the type of an entry point's parameter: "Batch" of "constant Batch& batch
// [[buffer(0)]]".
std::string type_of_parameter(const std::string& parameters, const std::string& name);

// Those of struct `type`, in order, as far as the text defines it. Throws Error{unsupported} for
// pointers in arrays of arrays or of extents that are no numbers, and in templates.
std::vector<PointerMember> pointer_members(const std::string& text, const std::string& type);

}  // namespace hearth::metal
