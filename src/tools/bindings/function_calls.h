// Functions of the public headers that are not one op: what they make of shapes, and a call that
// can be asked for dtypes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace hearth::tools {

struct FunctionCall {
  const char* name;
  const char* shapes;  // in the words of OpDef::shapes
  std::vector<SampleInput> inputs;
  std::vector<Array> (*call)(std::span<const Array> inputs, DType dtype);
};

const std::vector<FunctionCall>& function_calls();
const FunctionCall* find_call(std::string_view function);  // null for any other function

}  // namespace hearth::tools
