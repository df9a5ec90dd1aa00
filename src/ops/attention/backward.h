// The gradients of attention.
#pragma once

#include "ops/definition/call.h"

namespace hearth::attention_math {

// Gradients of the op's inputs, given `grad` of the result, `sum_grad` of the log-sum-exp, or both;
// `sums` may be undefined.
Grads attention_gradients(const Vjp& v, const Array& grad, const Array& sums,
                          const Array& sum_grad);

}  // namespace hearth::attention_math
