// Sums of products by the letters of their axes. Rules for all functions: hearth/ops.h.
#pragma once

#include <string_view>
#include <vector>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Sums of products

// Einstein's notation as in NumPy: "bij,bjk->bik". Each array has a letter (a-z, A-Z) for each of
// its axes; letters that the result lacks are summed over, a letter twice in one array takes its
// diagonal. "..." stands for any axes, which broadcast; so do axes of extent 1. Without "->" the
// result has the axes of "..." and then the letters that stand once, in alphabetical order. Numeric
// dtypes. Error{invalid_argument} for what is no subscript, Error{shape} for extents that differ.
HEARTH_API Array einsum(std::string_view subscripts, const std::vector<Array>& arrays);

}  // namespace v0
}  // namespace hearth
