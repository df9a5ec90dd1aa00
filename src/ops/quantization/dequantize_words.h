// Words of codes times scales, in one op: what devices have a kernel for.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "hearth/quantization/scheme.h"

namespace hearth::quantization {

// words [lines, words], u32 or u8, scales [lines, blocks] to [lines, count]: the first
// `count` codes of each line, each times the scale of its block of count / blocks, in the compute
// precision of the scales; rounded to `dtype`.
Array dequantize_words(const Array& words, const Array& scales, QuantValue value,
                       std::int64_t count, DType dtype);

}  // namespace hearth::quantization
