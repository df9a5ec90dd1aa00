// Products of floats with weights that are stored as halves.
#pragma once

#include "hearth/array.h"

namespace hearth {

// linear() of x [..., in] and bias [out] of f32 or f64 with a weight [out, in] of f16 or bf16;
// [..., out] in the dtype of x, in which sums are taken. f64 is exact. The CPU multiplies x of f32
// as it is by f16, and rounds it to bf16 for such a weight; a device without an implementation
// rounds x of f32 and the sums to the weight's dtype. Gradients of the weight are rounded to its
// dtype.
Array half_linear(const Array& x, const Array& weight, const Array& bias = Array());

}  // namespace hearth
