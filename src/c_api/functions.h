// The functions that C calls by name: those of `hearth ops --json`, generated.
#pragma once

#include <span>

#include "c_api/call.h"

namespace hearth::c_api {

struct Function {
  const char* name;
  const char* signature;
  const char* parameters;  // for messages: "axes, keepdim"
  void (*call)(Call&, const char* parameters);
  // Of quantized inputs, whose codes move as they are; null where they are dequantized.
  void (*move)(Call&, const char* parameters);
};

// In the order of their names.
std::span<const Function> functions();

}  // namespace hearth::c_api
