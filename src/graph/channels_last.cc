#include "graph/channels_last.h"

#include "graph/record/node.h"

namespace hearth {

bool has_channels_innermost(const Shape& shape, const Strides& strides) {
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
  return has_order ? has_channels_innermost(shape, strides) : is_dense(shape, strides);
}

bool is_only_channels_last(const Shape& shape, const Strides& strides) {
  return is_channels_last(shape, strides) && !is_dense(shape, strides);
}

}  // namespace hearth
