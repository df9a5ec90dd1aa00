// What ops that also say where their elements were share: sort and topk.
#pragma once

#include <string>

#include "graph/op_def.h"
#include "ops/definition/rules.h"

namespace hearth {

// Indices of `dtype` along an axis of `extent` elements; throws Error where it holds not all.
inline void require_index_dtype(const Inference& inference, DType dtype, std::int64_t extent) {
  const std::string got = std::string(name(dtype));
  if (!is_int(dtype)) {
    inference.fail(ErrorCode::dtype,
                   "indices are integers; got " + got + ", expected an integer dtype");
  }
  if (extent - 1 > integer_limits(dtype).highest) {
    inference.fail(ErrorCode::dtype, "indices do not fit; got " + got + " for an extent of " +
                                         std::to_string(extent) + ", expected a dtype that holds " +
                                         std::to_string(extent - 1));
  }
}

// Each gradient goes back to where its element came from, as output 1 says.
Grads gradient_of_sorted(const Vjp& v, std::int64_t axis);

}  // namespace hearth
