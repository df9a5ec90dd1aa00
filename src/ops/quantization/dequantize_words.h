// Words of codes times scales, in one op: what devices have a kernel for.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "hearth/device.h"
#include "hearth/quantization/scheme.h"

namespace hearth::quantization {

// words [lines, words], u32 or u8, scales [lines, blocks] to [lines, count]: the first
// `count` codes of each line, each times the scale of its block of count / blocks, in the compute
// precision of the scales; rounded to `dtype`.
Array dequantize_words(const Array& words, const Array& scales, QuantValue value,
                       std::int64_t count, DType dtype);

// Whether the device has an implementation of it. Words along the last axis are then better taken
// apart by whole lines than within a region, which would begin a row for each word.
bool has_dequantize_words(Device device);

}  // namespace hearth::quantization
