// Codes of elements and of scales, element by element: what is nearest, and what it stands for.
#pragma once

#include "hearth/array.h"
#include "hearth/quantization/scheme.h"

namespace hearth::quantization {

// The least positive normal f32.
inline constexpr double kMinNormal = 0x1p-126;

// f32 to i32 codes: the nearest, ties to even. Codes of floats are their bits.
Array encoded(const Array& x, QuantValue value);
// i32 codes, of which the lowest bits count, to f32.
Array decoded(const Array& codes, QuantValue value);

// f32 to scales as they are stored: rounded up.
Array stored_scales(const Array& scales, ScaleDType dtype);
// And back: f32.
Array loaded_scales(const Array& stored, ScaleDType dtype);
DType storage_of(ScaleDType dtype);

}  // namespace hearth::quantization
