// What several families do to a folder's tensors so that they are what a GGUF file holds.
#pragma once

#include "hearth/ops.h"
#include "models/language/family.h"

namespace hearth::models {

// What values of halves are computed in, which halves would round.
inline Array wide(const Array& x) { return x.dtype() == DType::f64 ? x : cast(x, DType::f32); }

// Weights of norms that count from 1.
inline Array plus_one(const Array& x, const FolderContext&) { return wide(x) + 1; }

// Decays of their logarithms.
inline Array negative_exp(const Array& x, const FolderContext&) { return neg(exp(wide(x))); }

// Depthwise kernels [channels, 1, rows] as [channels, rows].
inline Array flat_kernel(const Array& x, const FolderContext&) {
  return x.rank() == 3 ? squeeze(x, {1}) : x;
}

// Of each expert, [experts, rows, in], the gates, then what they gate.
inline Array first_half(const Array& x, const FolderContext&) {
  return narrow(x, 1, 0, x.shape(1) / 2);
}
inline Array second_half(const Array& x, const FolderContext&) {
  return narrow(x, 1, x.shape(1) / 2, x.shape(1) / 2);
}

}  // namespace hearth::models
