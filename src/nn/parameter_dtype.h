#pragma once

#include "hearth/ops.h"

namespace hearth::nn_detail {

// The array of a parameter in the dtype of the activations, where both have a value: the op that
// gets them refuses what has none.
Array as_dtype_of(const auto& parameter, const Array& x) {
  return parameter.defined() && x.defined() ? cast(parameter.array(), x.dtype())
                                            : parameter.array();
}

}  // namespace hearth::nn_detail
