// Models of a shape with random weights, made in memory or written as a file.
#pragma once

#include <cstdint>
#include <functional>

#include "hearth/io.h"
#include "models/quantize/tensor_types.h"
#include "tools/model_bench/shapes.h"

namespace hearth::tools {

// Weights of about N(0, 0.02), in the dtypes that `hearth quantize` would give them; norms are 1.
// Some rows are drawn and repeated: speeds do not depend on values, and blocks of some formats
// would take minutes. Nothing is evaluated later: arrays are on `device` when this returns.
// `progress` is called with the share of the weights' bytes that are there, from 0 to 1. Throws
// Error{out_of_memory}, before anything is drawn, where the memory of the device has no room for
// the weights.
GgufContents random_model(const ModelShape& shape, const models::QuantizeType& type,
                          std::int64_t context, Device device,
                          const std::function<void(double)>& progress = {});

}  // namespace hearth::tools
