// The gradients of attention.
#pragma once

#include "ops/definition/call.h"

namespace hearth::attention_math {

// Of the inputs, from that of the rows, or that of their sums, or both; `sums` may be undefined.
Grads attention_gradients(const Vjp& v, const Array& grad, const Array& sums,
                          const Array& sum_grad);

}  // namespace hearth::attention_math
