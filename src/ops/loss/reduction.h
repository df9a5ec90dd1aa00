// What losses share: checks of their inputs, and what is made of the losses of elements.
#pragma once

#include "hearth/ops/loss.h"

namespace hearth {

// Throws Error{dtype} unless x is of floats, Error{shape} unless `other` has its shape, and
// Error{dtype} unless it has its dtype or, where they are allowed, integers or bools.
enum class OtherDType : std::uint8_t { same, or_integers };
void require_beside(const char* op, const Array& x, const char* what, const Array& other,
                    OtherDType dtype = OtherDType::same);
// Throws Error{invalid_argument} unless `value` > least, or >= least where that is allowed.
void require_above(const char* op, const char* what, double value, double least, bool or_equal);

// The losses of elements, rows or samples as `reduction` says.
Array reduce_losses(const Array& losses, Reduction reduction);
// The same of losses in the dtype that they are computed in, in x's dtype.
Array finished_losses(const Array& losses, Reduction reduction, const Array& x);

// max(0, x), of gradient 0 at 0.
Array positive_part(const Array& x);

}  // namespace hearth
