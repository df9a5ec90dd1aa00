// Packed weights of random values, made on the device.
#pragma once

#include "hearth/array.h"

namespace hearth::tools {

// [out, in] in blocks of `format`, normally distributed. Encoders are the host's and slow: of the
// rows only some are different.
Array random_blocks(DType format, const Shape& shape, Device device);

}  // namespace hearth::tools
