// The elements of a quantized array in another shape, order or number, quantized still.
//
// Codes move as they are where each keeps the scale that it has, so nothing is rounded again: with
// one scale for all always, with blocks where whole blocks move. Else elements are dequantized,
// moved and quantized by scales of their own, and Error{shape} says where the result is not of
// whole blocks. Arguments and errors are those of the functions of arrays (hearth/ops/movement.h).
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/ops/movement.h"
#include "hearth/quantization/quantized_array.h"

namespace hearth {
inline namespace v0 {

// An axis that codes are packed along, but the result lacks, becomes the innermost.
HEARTH_API QuantizedArray reshape(const QuantizedArray& x, const Shape& shape);
// Blocks and the packed axis move with the axes.
HEARTH_API QuantizedArray permute(const QuantizedArray& x, const Dims& axes);
HEARTH_API QuantizedArray transpose(const QuantizedArray& x);
HEARTH_API QuantizedArray swap_axes(const QuantizedArray& x, std::int64_t a, std::int64_t b);
HEARTH_API QuantizedArray expand(const QuantizedArray& x, const Shape& shape);
HEARTH_API QuantizedArray flip(const QuantizedArray& x, const Dims& axes);
HEARTH_API QuantizedArray slice(const QuantizedArray& x, const std::vector<Slice>& slices);
HEARTH_API QuantizedArray select(const QuantizedArray& x, const Array& indices, std::int64_t axis);
HEARTH_API QuantizedArray gather(const QuantizedArray& x, const Array& indices, std::int64_t axis);
HEARTH_API QuantizedArray repeat(const QuantizedArray& x, const Dims& times);
// By the scheme of the first, with scales of the result.
HEARTH_API QuantizedArray cat(const std::vector<QuantizedArray>& arrays, std::int64_t axis);

}  // namespace v0
}  // namespace hearth
