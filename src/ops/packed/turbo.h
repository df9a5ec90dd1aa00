// The ops of turbo_quantize() and turbo_dequantize(), as their kernels know them.
#pragma once

#include <cstdint>

#include "graph/op_def.h"
#include "graph/params.h"

namespace hearth {

inline constexpr ParamSpec kTurboBitsParam = {
    .name = "bits", .type = ParamType::i64, .range = "2, 3 or 4"};

// Floats but f64, to u8.
extern const OpDef turbo_quantize_op;

inline std::int64_t read_turbo_bits(ParamReader statics) { return statics.i64(); }

}  // namespace hearth
