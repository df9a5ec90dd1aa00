// Arrays made of numbers: constants, ranges, triangles. Rules for all functions: hearth/ops.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Creation
// Constants; their memory is one element where readers take views.

// `value` as `dtype` in all of `shape`, to which it broadcasts.
HEARTH_API Array full(const Shape& shape, const Array& value, DType dtype = DType::f32,
                      Device device = Device());
// All elements 0: full() of 0.
HEARTH_API Array zeros(const Shape& shape, DType dtype = DType::f32, Device device = Device());
// All elements 1: full() of 1.
HEARTH_API Array ones(const Shape& shape, DType dtype = DType::f32, Device device = Device());
// full with the shape, dtype and device of x.
HEARTH_API Array full_like(const Array& x, const Array& value);
HEARTH_API Array zeros_like(const Array& x);  // full_like() of 0
HEARTH_API Array ones_like(const Array& x);   // full_like() of 1
// Unspecified values, to be written over.
HEARTH_API Array empty(const Shape& shape, DType dtype = DType::f32, Device device = Device());
HEARTH_API Array empty_like(const Array& x);  // empty with the shape, dtype and device of x

// ---- Ranges and triangles

// start, start + step, ... before `end`: max(0, ceil((end - start) / step)) elements. A step of 0
// is an Error{invalid_argument}.
HEARTH_API Array arange(std::int64_t start, std::int64_t end, std::int64_t step = 1,
                        DType dtype = DType::i64, Device device = Device());
// Fractions would be cut off: linspace() and linear_ramp() are of floats.
template <class... Arguments>
  requires(std::floating_point<Arguments> || ...)
Array arange(const Arguments&...) = delete;

// count values start + i * step in a float dtype.
HEARTH_API Array linear_ramp(std::int64_t count, double start, double step,
                             DType dtype = DType::f32, Device device = Device());
// `count` evenly spaced values of a float dtype, the first `start` and the last exactly `end`.
HEARTH_API Array linspace(double start, double end, std::int64_t count, DType dtype = DType::f32,
                          Device device = Device());
// Which axis of the results the first array runs along: the first (matrix) or the second.
enum class GridIndexing : std::uint8_t { matrix, cartesian };
// Arrays [n] of any dtype, each broadcast over a grid of all of them: views. At most 8 arrays.
HEARTH_API std::vector<Array> meshgrid(const std::vector<Array>& arrays,
                                       GridIndexing indexing = GridIndexing::matrix);
// [shape, rank]: at each position its indices.
HEARTH_API Array cartesian_grid(const Shape& shape, DType dtype = DType::i64,
                                Device device = Device());
// [size, size]: 1 on the diagonal, 0 elsewhere.
HEARTH_API Array eye(std::int64_t size, DType dtype = DType::f32, Device device = Device());
// bool [rows, cols]: false on and above the diagonal that is `diagonal` right of the main one, true
// elsewhere: what mask_fill would erase.
HEARTH_API Array triu_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal = 0,
                           Device device = Device());
// bool [rows, cols]: false on and below the diagonal that triu_mask names, true elsewhere.
HEARTH_API Array tril_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal = 0,
                           Device device = Device());
// bool [rows, cols]: false on the diagonal that triu_mask names, true elsewhere.
HEARTH_API Array diag_mask(std::int64_t rows, std::int64_t cols, std::int64_t diagonal = 0,
                           Device device = Device());
// x [..., rows, cols] with 0 where triu_mask is true.
HEARTH_API Array triu(const Array& x, std::int64_t diagonal = 0);
// x [..., rows, cols] with 0 where tril_mask is true.
HEARTH_API Array tril(const Array& x, std::int64_t diagonal = 0);

}  // namespace v0
}  // namespace hearth
