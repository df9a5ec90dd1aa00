// What is asked of the numbers that optimizers are made of.
#pragma once

#include <string>

#include "core/require.h"
#include "hearth/dtype.h"
#include "hearth/error.h"

namespace hearth::optim_detail {

// In [0, 1), as factors of moving means are.
inline void require_share(const char* what_for, const char* what, double value) {
  require_in_range(value >= 0 && value < 1, what_for, what, value, "[0, 1)");
}

// Of what adds to parameters: integers would be cut, and bools are no numbers.
inline void require_float(const char* what_for, const std::string& what, DType dtype) {
  if (is_float(dtype)) return;
  throw Error(ErrorCode::dtype, std::string(what_for) + ": " + what + " of no float dtype; got " +
                                    std::string(name(dtype)) + ", expected one like f32");
}

}  // namespace hearth::optim_detail
