// What is made of all elements up to one. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Scans
// Of the shape and dtype of x. Empty axes are legal, and each run gives the same bits.

// The sum of the elements up to each, itself included, or of those from it on if `reverse`. Numeric
// dtypes; integers wrap. f16 and bf16 are added in f32. The error of floats does not grow with the
// length of the axis: each element is right to a few units in the last place of the largest sum
// before it.
HEARTH_API Array cumsum(const Array& x, std::int64_t axis, bool reverse = false);
// The product of the elements up to each, itself included, or of those from it on if `reverse`.
// Numeric dtypes; integers wrap. f16 and bf16 are multiplied in f32 or wider. The gradient is exact
// where elements are 0, and costs one more scan, of two inputs.
HEARTH_API Array cumprod(const Array& x, std::int64_t axis, bool reverse = false);
// The largest element so far; from the first NaN on, NaN. Numeric dtypes. The gradient of an
// element goes to the one it equals, the last one of equals.
HEARTH_API Array cummax(const Array& x, std::int64_t axis);
// The smallest element so far; all else as cummax.
HEARTH_API Array cummin(const Array& x, std::int64_t axis);
// cummax and, i64, where along `axis` each element stands: of equals the last one so far, as of
// NaN.
HEARTH_API std::pair<Array, Array> cummax_with_indices(const Array& x, std::int64_t axis);
// cummin and, i64, where along `axis` each element stands, as of cummax_with_indices.
HEARTH_API std::pair<Array, Array> cummin_with_indices(const Array& x, std::int64_t axis);
// log(cumsum(e^x)), from the other end if `reverse`, without overflow in between. Float dtypes.
HEARTH_API Array logcumsumexp(const Array& x, std::int64_t axis, bool reverse = false);

}  // namespace v0
}  // namespace hearth
