#include "graph/implementation.h"

namespace hearth {

Strides batch_strides(const TensorSpec& spec, int batch_rank) {
  const int own = spec.shape.rank() - 2;
  Strides strides = Strides::filled(batch_rank, 0);
  for (int i = 0; i < own; ++i) {
    if (spec.shape[i] != 1) strides[batch_rank - own + i] = spec.strides[i];
  }
  return strides;
}

bool has_dense_matrices(const Shape& shape, const Strides& strides) {
  const int rank = shape.rank();
  if (rank < 2) return false;
  const auto lies = [&](int lines, int elements) {
    return (shape[elements] == 1 || strides[elements] == 1) &&
           (shape[lines] == 1 || strides[lines] >= shape[elements]);
  };
  return lies(rank - 2, rank - 1) || lies(rank - 1, rank - 2);
}

bool has_aligned_rows(const TensorSpec& spec, const Strides& strides, std::int64_t offset) {
  const std::int64_t item = size_of(spec.dtype);
  if (offset * item % kRowAlignment != 0) return false;
  for (int axis = 0; axis < spec.shape.rank(); ++axis) {
    if (spec.shape[axis] == 1) continue;
    const bool last = axis == spec.shape.rank() - 1;
    const bool steps = strides[axis] > 0 && strides[axis] * item % kRowAlignment == 0;
    if (last ? strides[axis] != 1 : !steps) return false;
  }
  return true;
}

}  // namespace hearth
