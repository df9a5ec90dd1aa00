// Packed dtypes as the kernel dialect writes them.
#pragma once

#include <string>

#include "hearth/dtype.h"

namespace hearth::gpu {

// The struct of kernels/formulas/packed for a packed dtype: "Q4_K".
inline std::string format_struct(DType format) {
  std::string text;
  for (const char c : name(format)) text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

}  // namespace hearth::gpu
