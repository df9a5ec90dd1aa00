// Elements chosen by their values: how many there are shapes the result. Rules for all functions:
// hearth/ops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Selections whose size depends on values
// Each submits what is recorded and waits for one number, how many elements there are; without
// elements to look at it does neither. Statistics::syncs counts these waits. Any dtype.

// Where x is not 0 (NaN is not): for each axis the indices of these elements, i64 [count], in
// row-major order. None for rank 0.
HEARTH_API std::vector<Array> nonzero(const Array& x);
// The same as rows: i64 [count, rank].
HEARTH_API Array argwhere(const Array& x);
// The elements of x where `mask`, bool of x's shape, is true, in row-major order: [count].
// Gradients go back to where they were.
HEARTH_API Array mask_select(const Array& x, const Array& mask);

// The different elements of an array, in ascending order. All NaN are one element, the last, and
// zeros of both signs are one.
struct Unique {
  Array values;   // [count]
  Array indices;  // i64 [count]: where each stands first among the elements in row-major order
  Array inverse;  // i64, the shape of x: values[inverse] is x
  Array counts;   // i64 [count]: how often each occurs
};
// Gradients of values go to the elements that `indices` names.
HEARTH_API Array unique(const Array& x);
// unique with all that belongs to it; what is not kept is not computed.
HEARTH_API Unique unique_all(const Array& x);

}  // namespace v0
}  // namespace hearth
