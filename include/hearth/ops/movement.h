// The same elements in another shape, order or number. Rules for all functions: hearth/ops.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Shape
// Views: nothing is copied unless a reader needs it.

// Same elements in row-major order. One extent may be -1 and is worked out from the others.
HEARTH_API Array reshape(const Array& x, const Shape& shape);
// Axis i of the result is axis axes[i] of x; `axes` names every axis once.
HEARTH_API Array permute(const Array& x, const Dims& axes);
HEARTH_API Array transpose(const Array& x);  // the last two axes swapped
// x with axes a and b swapped.
HEARTH_API Array swap_axes(const Array& x, std::int64_t a, std::int64_t b);
// Stretches extents of 1 and adds axes in front; -1 keeps an extent.
HEARTH_API Array expand(const Array& x, const Shape& shape);
HEARTH_API Array broadcast_to(const Array& x, const Shape& shape);  // another name of expand
// Drops `axes`, or all axes of extent 1 where none are given. Error{shape} if one of `axes` has
// another extent.
HEARTH_API Array squeeze(const Array& x);
HEARTH_API Array squeeze(const Array& x, const Dims& axes);
// Inserts axes of extent 1; `axes` are positions in the result.
HEARTH_API Array unsqueeze(const Array& x, const Dims& axes);
// Merges axes first..last, both included.
HEARTH_API Array flatten(const Array& x, std::int64_t first = 0, std::int64_t last = -1);

// The part [start, end) of an axis, every |step|-th element. Negative positions count from the end;
// positions are clamped to the extent; no `end` means to the end. A negative step walks the same
// range backwards, from its last element: {0, 5, -1} gives 4, 3, 2, 1, 0; {2, 8, -2} gives 7, 5, 3.
// A step of 0 is an Error{invalid_argument}.
struct Slice {
  std::int64_t start = 0;
  std::optional<std::int64_t> end = std::nullopt;
  std::int64_t step = 1;
};

// One Slice for each leading axis; the axes after are kept whole.
HEARTH_API Array slice(const Array& x, const std::vector<Slice>& slices);
// `length` elements of `axis` from `start`; Error{invalid_argument} if they do not exist.
HEARTH_API Array narrow(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t length);
// The part of shape `sizes` from `starts`, whose values are no part of a plan's identity: use it
// where positions change from step to step. Error{invalid_argument} if the part is not inside x.
HEARTH_API Array dynamic_slice(const Array& x, const Dims& starts, const Shape& sizes);
// The elements of each of `axes` in reverse order.
HEARTH_API Array flip(const Array& x, const Dims& axes);
// Parts of the given sizes, which add up to the extent of `axis`.
HEARTH_API std::vector<Array> split(const Array& x, const std::vector<std::int64_t>& sizes,
                                    std::int64_t axis);
// Parts of ceil(extent / count); the last may be smaller, and there may be fewer than `count`.
// Error{invalid_argument} for a count below 1.
HEARTH_API std::vector<Array> chunk(const Array& x, std::int64_t count, std::int64_t axis);

// ---- Joining and copying

// A dense row-major array of the same value.
HEARTH_API Array contiguous(const Array& x);
// Joins arrays that differ along `axis` only; at least one.
HEARTH_API Array cat(std::span<const Array> arrays, std::int64_t axis);
HEARTH_API Array cat(const std::vector<Array>& arrays, std::int64_t axis);
// Joins arrays of one shape along a new axis at position `axis` of the result.
HEARTH_API Array stack(const std::vector<Array>& arrays, std::int64_t axis);
// Tiles x: times[i] copies along axis i, one entry for each axis. Error{invalid_argument} for
// negative ones.
HEARTH_API Array repeat(const Array& x, const Dims& times);

// ---- Order, windows and padding
// Any dtype unless said.

// Axes `source` at positions `destination` of the result, the others in their order.
HEARTH_API Array movedim(const Array& x, const Dims& source, const Dims& destination);
// Element i of axes[k] at (i + shifts[k]) mod its extent: what leaves at one end enters at the
// other. Shifts of one axis add up. Error{invalid_argument} unless there are as many shifts as
// axes.
HEARTH_API Array roll(const Array& x, const Dims& shifts, const Dims& axes);
// x turned by `times` quarters from axis `first` towards axis `second`.
HEARTH_API Array rot90(const Array& x, std::int64_t times = 1, std::int64_t first = 0,
                       std::int64_t second = 1);
// Element i of `axis` times[i] times in a row; one number is that of all elements.
// Error{invalid_argument} for a negative number, and unless there are one or as many as elements.
HEARTH_API Array repeat_interleave(const Array& x, const std::vector<std::int64_t>& times,
                                   std::int64_t axis);
HEARTH_API Array repeat_interleave(const Array& x, std::int64_t times, std::int64_t axis);
// Windows of `size` elements along `axis`, from every step-th element: the axis becomes their
// number, max(0, floor((extent - size) / step) + 1), and `size` the new last axis. A view.
HEARTH_API Array unfold(const Array& x, std::int64_t axis, std::int64_t size,
                        std::int64_t step = 1);
// How pad() fills: with a number, elements mirrored at the border element, the border element, or
// elements from the other end.
enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
// x with before[i] elements in front of axis i and after[i] behind it. Counts beyond the extent go
// back and forth (reflect) or around (wrap), as in NumPy. `value`, 0 where undefined, is for
// PadMode::constant. Error{invalid_argument} for a negative count, and for an axis of extent 0
// where something is to be repeated.
HEARTH_API Array pad(const Array& x, const Dims& before, const Dims& after,
                     PadMode mode = PadMode::constant, const Array& value = Array());

// ---- Diagonals
// The diagonal that is `offset` right of the main one (below it where negative) of the matrices
// that axes `first` and `second` make.

// The two axes go, the elements of the diagonal become the last axis. A view, of any dtype.
HEARTH_API Array diagonal(const Array& x, std::int64_t offset = 0, std::int64_t first = -2,
                          std::int64_t second = -1);
// The sum of the diagonal. Numeric dtypes.
HEARTH_API Array trace(const Array& x, std::int64_t offset = 0, std::int64_t first = -2,
                       std::int64_t second = -1);
// x [..., n] on the diagonal of square matrices [..., n + |offset|, n + |offset|] of 0.
HEARTH_API Array diag_embed(const Array& x, std::int64_t offset = 0);
// diag_embed of an x of rank 1, the diagonal of an x of higher rank.
HEARTH_API Array diag(const Array& x, std::int64_t offset = 0);

}  // namespace v0
}  // namespace hearth
