#pragma once

#include <string>

#include "hearth/ops.h"

namespace hearth::nn_detail {

// The array of a parameter of `layer` in the dtype of the activations, where both have a value: the
// op that gets them refuses what has none. Throws Error{dtype} for activations that are no floats,
// to which a cast would round the parameter.
Array as_dtype_of(const char* layer, const auto& parameter, const Array& x) {
  if (!parameter.defined() || !x.defined()) return parameter.array();
  if (!is_float(x.dtype())) {
    throw Error(ErrorCode::dtype, std::string(layer) + ": x is not a float array; got " +
                                      std::string(name(x.dtype())) +
                                      ", expected f64, f32, f16 or bf16");
  }
  return cast(parameter.array(), x.dtype());
}

}  // namespace hearth::nn_detail
