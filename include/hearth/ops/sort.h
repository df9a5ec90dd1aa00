// Elements in order. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Sorting
// Along `axis`, stable: equal elements keep their order; -0 equals 0. NaN is beyond infinity: last
// in ascending order, first in descending order. Any dtype. A result that nobody keeps is not
// computed.

// The elements in order. The gradient of each goes to where it was.
HEARTH_API Array sort(const Array& x, std::int64_t axis = -1, bool descending = false);
// The positions along `axis` of what sort gives. Error{dtype} where `dtype` does not hold them all.
HEARTH_API Array argsort(const Array& x, std::int64_t axis = -1, bool descending = false,
                         DType dtype = DType::i64);
// The elements that sort gives and, i64, the positions that argsort gives.
HEARTH_API std::pair<Array, Array> sort_with_indices(const Array& x, std::int64_t axis = -1,
                                                     bool descending = false);
// The k largest elements, in descending order: of equal ones those of the lowest indices.
// Error{invalid_argument} where there are not k of them.
HEARTH_API Array topk(const Array& x, std::int64_t k, std::int64_t axis = -1);
// The positions of what topk gives. Error{dtype} where `dtype` does not hold all along `axis`.
HEARTH_API Array argtopk(const Array& x, std::int64_t k, std::int64_t axis = -1,
                         DType dtype = DType::i64);
// The elements that topk gives and, i64, the positions that argtopk gives.
HEARTH_API std::pair<Array, Array> topk_with_indices(const Array& x, std::int64_t k,
                                                     std::int64_t axis = -1);
// The element in the middle, of an even number the lower of two; NaN where there is one. The axis
// stays with extent 1 if `keepdim`. Numeric dtypes; over nothing: Error{invalid_argument}.
HEARTH_API Array median(const Array& x, std::int64_t axis, bool keepdim = false);
// median and, i64, its index; of a NaN the lowest.
HEARTH_API std::pair<Array, Array> median_with_indices(const Array& x, std::int64_t axis,
                                                       bool keepdim = false);

}  // namespace v0
}  // namespace hearth
