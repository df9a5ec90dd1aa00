// What several families do to a folder's tensors so that they are what a GGUF file holds.
#pragma once

#include "hearth/ops.h"
#include "models/language/family.h"

namespace hearth::models {

// Weights of norms that count from 1.
inline Array plus_one(const Array& x, const FolderContext&) { return x + 1; }

// Decays of their logarithms.
inline Array negative_exp(const Array& x, const FolderContext&) { return neg(exp(x)); }

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

// Every second column of the last axis.
inline Array every_second(const Array& x, std::int64_t first) {
  const std::int64_t axis = x.rank() - 1;
  Shape pairs = x.shape();
  pairs[axis] = x.shape(axis) / 2;
  pairs.push_back(2);
  return squeeze(narrow(reshape(x, pairs), axis + 1, first, 1), {axis + 1});
}
inline Array even_columns(const Array& x, const FolderContext&) { return every_second(x, 0); }
inline Array odd_columns(const Array& x, const FolderContext&) { return every_second(x, 1); }

// Weights of experts as [experts, out, in], which folders have so where they are blocks, and as
// [experts, in, out] where they are floats; of these rows all, or every second.
inline Array expert_rows(const Array& x, const FolderContext&) {
  return is_packed(x.dtype()) ? x : contiguous(swap_axes(x, 1, 2));
}
inline Array every_second_row(const Array& x, std::int64_t first) {
  if (is_packed(x.dtype())) return slice(x, {Slice(), Slice(first, x.shape(1), 2)});
  return contiguous(swap_axes(every_second(x, first), 1, 2));
}
inline Array even_rows(const Array& x, const FolderContext&) { return every_second_row(x, 0); }
inline Array odd_rows(const Array& x, const FolderContext&) { return every_second_row(x, 1); }

}  // namespace hearth::models
