// The functions that C calls by name: those of `hearth ops --json`, generated.
#pragma once

#include <span>

namespace hearth::c_api {

class Call;

struct Function {
  const char* name;
  const char* signature;  // of hearth_function_signature()
  void (*call)(Call&);
  // Of quantized inputs, whose codes move as they are; null where they are dequantized.
  void (*move)(Call&);
};

// In the order of their names.
std::span<const Function> functions();

}  // namespace hearth::c_api
