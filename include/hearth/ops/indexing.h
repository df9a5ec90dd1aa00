// Elements that index arrays name: read, and updated. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/array.h"
#include "hearth/ops/movement.h"

namespace hearth {
inline namespace v0 {

// ---- Indexing

// x with `value` written over slice(x, slices); value broadcasts to the slice's shape.
// `x = slice_assign(x, ...)` reuses x's memory where nothing else holds it.
HEARTH_API Array slice_assign(const Array& x, const std::vector<Slice>& slices, const Array& value);
// x with `value` (of x's rank) written from `starts` on; see dynamic_slice.
HEARTH_API Array dynamic_slice_assign(const Array& x, const Dims& starts, const Array& value);
// out[..i..] = x[..indices[..i..]..] along `axis`. indices has x's rank and, but for `axis`, x's
// extents or smaller ones; the result has its shape.
HEARTH_API Array gather(const Array& x, const Array& indices, std::int64_t axis);
// x with values[..i..] added at [..indices[..i..]..] along `axis`, in index order (bool: or).
// indices and values have one shape.
HEARTH_API Array scatter_add(const Array& x, const Array& indices, const Array& values,
                             std::int64_t axis);
// The slices of x along `axis` that `indices` [n] names.
HEARTH_API Array select(const Array& x, const Array& indices, std::int64_t axis);
// x with slice i of `values` along `axis` added to slice indices[i], in order (bool: or).
HEARTH_API Array select_add(const Array& x, const Array& indices, const Array& values,
                            std::int64_t axis);
// Rows of weight [entries, dim], of any dtype, by indices [...]: [..., dim], f32 of a packed
// weight.
HEARTH_API Array embedding(const Array& weight, const Array& indices);
// indices [...] to [..., classes]: 1 at the index, 0 elsewhere (all 0 where out of range).
HEARTH_API Array one_hot(const Array& indices, std::int64_t classes, DType dtype = DType::f32);

// The slices of x along `axis` that `indices` [...] names: the axis becomes the axes of indices.
HEARTH_API Array take(const Array& x, const Array& indices, std::int64_t axis);
// As one_hot, of `on` at the index and `off` elsewhere, the new axis at position `axis` of the
// result.
HEARTH_API Array one_hot_fill(const Array& indices, std::int64_t classes, double on, double off,
                              std::int64_t axis = -1, DType dtype = DType::f32);

// ---- Updates by index
// What becomes of an element x that a value v addresses: v, x + v, x * v, or the smaller or larger
// of both, as minimum() and maximum() have it. Values that address one element are taken one after
// the other, in index order: the last one stays of `assign`, the others combine x and all of them.
// Sums and products of f16 and bf16 are kept in f32 and rounded once. Of bool `add` and `max` are
// or, `mul` and `min` are and.
// Gradients: of `assign` to the value that stays, of `min` and `max` in equal parts to all that are
// the result. That of `mul` is exact where factors are zero; a second one takes zeros among several
// values of one element for constants.

enum class IndexingUpdateOp : std::uint8_t { assign, add, mul, min, max };
// x with values[..i..] brought to [..indices[..i..]..] along `axis`: scatter_add with any update.
// indices and values have one shape.
HEARTH_API Array scatter(const Array& x, const Array& indices, const Array& values,
                         std::int64_t axis, IndexingUpdateOp update);
// x with slice i of `values` along `axis` brought to slice indices[i]: select_add with any update.
HEARTH_API Array select_assign(const Array& x, const Array& indices, const Array& values,
                               std::int64_t axis, IndexingUpdateOp update);
// indices [..., k] address the first k axes of x [k extents, rest]; the result is [..., rest]. Any
// dtype.
HEARTH_API Array gather_nd(const Array& x, const Array& indices);
// x with values [..., rest] brought to where indices [..., k] address it, as gather_nd reads, in
// the order of the lists of indices.
HEARTH_API Array scatter_nd(const Array& x, const Array& indices, const Array& values,
                            IndexingUpdateOp update = IndexingUpdateOp::assign);

}  // namespace v0
}  // namespace hearth
