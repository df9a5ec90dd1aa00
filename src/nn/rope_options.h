// Rotary positions as layers have them.
#pragma once

#include "hearth/nn/position.h"
#include "hearth/ops/attention.h"

namespace hearth::nn_detail {

// What rope() is told of x [..., rows, dim], but for places. Throws Error{invalid_argument} where
// options do not fit.
RopeOptions rope_options(const char* layer, std::int64_t dim,
                         const nn::RotaryEncoding::Options& options);

// rope() of rows from `start` on, or at `positions` where those have a value.
Array turned(const Array& x, RopeOptions options, std::int64_t start, const Array& positions);

}  // namespace hearth::nn_detail
