// Element-by-element functions on doubles.
#pragma once

#include <string_view>

#include "hearth/dtype.h"

namespace hearth::testing {

using Scalar1 = double (*)(double);
using Scalar2 = double (*)(double, double);

// Null for names that are no functions of one or two elements.
Scalar1 host_unary(std::string_view op, DType dtype);
Scalar2 host_binary(std::string_view op, DType dtype);

}  // namespace hearth::testing
