// Elements chosen by their values: how many there are shapes the result. Rules for all functions:
// hearth/ops.h.
#pragma once

#include <tuple>
#include <vector>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Selections whose size depends on values
// Each submits what is recorded and waits for how many elements there are, unique of integers for
// their range too; without elements it does neither. Statistics::syncs counts waits. Any dtype.

// Where x is not 0 (NaN is not): for each axis the indices of these elements, i64 [count], in
// row-major order. None for rank 0.
HEARTH_API std::vector<Array> nonzero(const Array& x);
// Where x is not 0 (NaN is not), as rows of indices in row-major order: i64 [count, rank].
HEARTH_API Array argwhere(const Array& x);
// The elements of x where `mask`, bool of x's shape, is true, in row-major order: [count].
// Gradients go back to where they were.
HEARTH_API Array mask_select(const Array& x, const Array& mask);

// The different elements in ascending order, [count]. All NaN are one element, the last, and zeros
// of both signs are one. The gradient of each goes to where it stands first.
HEARTH_API Array unique(const Array& x);
// The elements of unique and, i64: where each stands first among the elements in row-major order,
// [count]; for each element of x which of the different ones it is, so that values[inverse] is x;
// and how often each occurs, [count]. A result that nobody keeps is not computed.
HEARTH_API std::tuple<Array, Array, Array, Array> unique_all(const Array& x);

}  // namespace v0
}  // namespace hearth
