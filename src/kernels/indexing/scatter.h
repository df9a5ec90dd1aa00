// What the kernels of scatter_add have in common.
#pragma once

#include <cstdint>
#include <string>

#include "hearth/dtype.h"
#include "kernels/launch/kernel_call.h"

namespace hearth::gpu {

// The axes of `over`, merged, with the steps of indices, values and output over them.
struct ScatterAxes {
  ScatterAxes(Shape over, const TensorSpec& indices, const TensorSpec& values,
              const TensorSpec& output);
  std::int64_t count() const { return element_count(shape); }
  std::string rank() const { return std::to_string(shape.rank()); }
  // The output begins where its memory does.
  Axes<kRuntimeRank> index_axes() const { return {index.base, &shape, &index_strides}; }
  Axes<kRuntimeRank> value_axes() const { return {value.base, &shape, &value_strides}; }
  Axes<kRuntimeRank> output_axes() const { return {0, &shape, &output_strides}; }

  Shape shape;
  Strides index_strides, value_strides, output_strides;
  StridedOperand index, value;
};
// `shape` with one element for each of its lines along `axis`.
inline Shape lines_along(int axis, Shape shape) {
  shape[axis] = 1;
  return shape;
}

// What the forms with sums in threadgroup memory are for: so many elements in all, and so many
// destinations an index at most; they are read and written whole, which has to be less than
// sorting.
inline constexpr std::int64_t kMaxSummed = std::int64_t{1} << 31;
inline constexpr std::int64_t kSparsest = 32;
// Lines that they take together where lines are not contiguous: 32 bytes of 64-bit indices.
inline constexpr std::int64_t kNeighbours = 4;

// Atomic additions: of integers always, their sums do not depend on the order; of floats where
// equal runs may differ.
bool by_atomics(DType dtype);

// Whether one thread for each line is soonest done, of `count` elements in lines of `length`.
bool adds_by_thread(const runtime::DeviceTraits& device, std::int64_t count, std::int64_t length);

}  // namespace hearth::gpu
