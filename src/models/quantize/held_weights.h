// Weights that a file cannot hold.
#pragma once

#include <string>

#include "hearth/array.h"

namespace hearth::models {

// Evaluates `weights`, floats on the host that are about to be written as `to`, and throws
// Error{invalid_argument} where one is NaN, infinite, or above what `to` holds in magnitude, which
// would become another number in silence. `what` names the tensor in what it says.
void require_held(const std::string& what, const Array& weights, DType to);

}  // namespace hearth::models
