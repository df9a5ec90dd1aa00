// Normalisation of rows. Rules for all functions: hearth/ops.h.
#pragma once

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Normalisation

// Over the last axis, biased variance; weight [dim] and bias [dim] may be undefined. Mean and
// variance are as exact as sum() for rows of any length, however far from zero.
HEARTH_API Array layer_norm(const Array& x, const Array& weight = Array(),
                            const Array& bias = Array(), double epsilon = 1e-5);
// x / sqrt(mean(x^2) + epsilon) over the last axis, times weight [dim] if defined.
HEARTH_API Array rms_norm(const Array& x, const Array& weight = Array(), double epsilon = 1e-5);

}  // namespace v0
}  // namespace hearth
