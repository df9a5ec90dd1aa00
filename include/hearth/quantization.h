// Quantized arrays: floats kept as packed codes of a few bits, with scales.
//
//   const QuantScheme q4 = QuantScheme().with_value(QuantValue::q4s).per_block({32});
//   QuantizedArray w = quantize_dynamic(weights, q4);  // a little over an eighth of f32's memory
//   Array y = matmul(x, dequantize(w));                // which is what matmul(x, w) records
//   FloatOrQuantized e = flow([](const Array& a) { return exp(a); }, w);
#pragma once

#include "hearth/quantization/affine.h"
#include "hearth/quantization/flow.h"
#include "hearth/quantization/movement.h"
#include "hearth/quantization/packed.h"
#include "hearth/quantization/quantized_array.h"
#include "hearth/quantization/scheme.h"
