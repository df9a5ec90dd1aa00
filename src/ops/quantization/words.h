// Codes into words and back.
#pragma once

#include "hearth/array.h"
#include "hearth/quantization/quantized_array.h"
#include "ops/quantization/split.h"

namespace hearth::quantization {

// By how many bits the codes of a word are shifted, u32; undefined where a code has a byte.
Array shifts_of(const QuantScheme& scheme, Device device);
// i32 codes, split, to the payload.
Array packed(const Array& codes, const QuantScheme& scheme, const Shape& shape, const Split& split);
// The payload to what its codes stand for, f32, split.
Array unpacked(const QuantizedArray& x, const Split& split);

}  // namespace hearth::quantization
