// Quantization by scales as they are stored.
#pragma once

#include "hearth/array.h"
#include "hearth/quantization/quantized_array.h"

namespace hearth::quantization {

// x, f32, in codes of these scales.
QuantizedArray quantize_by(const Array& x, const QuantScheme& scheme, DType dtype,
                           const Array& stored, const Array& global);
// `scales` and `global` of two levels as they multiply codes, f32.
Array combined(const Array& stored, const Array& global, const QuantScheme& scheme);

// A range as large as compute_range() gives, by one reduction.
CalibrationRange magnitude_range(const Array& x, const QuantScheme& scheme,
                                 Calibration calibration);

void require_quantized(const char* op, const QuantizedArray& x);

}  // namespace hearth::quantization
