// The elements of packed dtypes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hearth/dtype.h"

namespace hearth {

// Writes the elements of blocks as floats, bit for bit those of ggml's reference. `dtype` is
// packed, `elements` a multiple of block_of(dtype); `blocks` are bytes_of(dtype, elements) bytes of
// any alignment and contents: a scale may be infinite or NaN.
void decode(DType dtype, const std::byte* blocks, std::int64_t elements, float* out);

}  // namespace hearth
