// Fragments of the text of random programs.
#pragma once

#include <string>

#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth::testing {

inline std::string var(int variable) { return "v" + std::to_string(variable); }

// "{2, 3}".
inline std::string braces(const Dims& dims) {
  std::string text = to_string(dims);
  text.front() = '{';
  text.back() = '}';
  return text;
}

inline std::string call_text(const char* function, std::initializer_list<std::string> arguments) {
  std::string text = function;
  text += "(";
  bool first = true;
  for (const std::string& argument : arguments) {
    if (!first) text += ", ";
    text += argument;
    first = false;
  }
  return text + ")";
}

inline std::string dtype_text(DType dtype) { return "DType::" + std::string(name(dtype)); }

}  // namespace hearth::testing
