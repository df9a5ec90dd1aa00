#include "graph/implementation.h"

#include "graph/record/node.h"

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

bool has_innermost_channels(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  const auto is_next = [&](int axis) {
    const bool fits = shape[axis] == 1 || strides[axis] == step;
    step *= shape[axis];
    return fits;
  };
  bool fits = is_next(1);
  for (int axis = shape.rank() - 1; axis > 1; --axis) fits = is_next(axis) && fits;
  return is_next(0) && fits;
}

Strides channels_last_strides(const Shape& shape) {
  const int rank = shape.rank();
  if (rank != 4 && rank != 5) return contiguous_strides(shape);
  Shape in_memory = shape;
  in_memory.erase(1);
  in_memory.push_back(shape[1]);
  const Strides steps = contiguous_strides(in_memory);
  Strides strides = Strides::filled(rank, steps[0]);
  strides[1] = 1;
  for (int axis = 2; axis < rank; ++axis) strides[axis] = steps[axis - 1];
  return is_dense(shape, strides) ? contiguous_strides(shape) : strides;
}

bool is_channels_last(const Shape& shape, const Strides& strides) {
  if (element_count(shape) == 0) return true;
  const bool has_order = shape.rank() == 4 || shape.rank() == 5;
  return has_order ? has_innermost_channels(shape, strides) : is_dense(shape, strides);
}

bool is_only_channels_last(const Shape& shape, const Strides& strides) {
  return is_channels_last(shape, strides) && !is_dense(shape, strides);
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
