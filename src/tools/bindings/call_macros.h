// How lists of calls are written: for the sources of such lists alone.
#pragma once

#include <span>
#include <tuple>
#include <vector>

#include "tools/bindings/function_calls.h"

namespace hearth::tools {

using Inputs = std::span<const Array>;

// Of a call of `in` and `dtype`.
#define CALL(expression)                   \
  [](Inputs in, DType dtype) {             \
    (void)in, (void)dtype;                 \
    return std::vector<Array>{expression}; \
  }
// The same of several arrays: a pair, a tuple or an array of them.
#define CALL_OF_ALL(expression)                                                              \
  [](Inputs in, DType dtype) {                                                               \
    (void)dtype;                                                                             \
    return std::apply([](auto... each) { return std::vector<Array>{each...}; }, expression); \
  }

// Shapes of several lists.
inline constexpr const char* kSame = "x [...] -> [...]";

}  // namespace hearth::tools
