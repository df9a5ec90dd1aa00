// What the kernels of updates by index have in common.
#pragma once

#include <cstdint>
#include <string>

#include "hearth/dtype.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {

#include "kernels/indexing/params.h"

// What becomes of the elements: a rule of kernels/indexing/updates.metal and the type that it is
// computed in.
struct UpdateRule {
  explicit UpdateRule(const Signature& signature);

  const char* name;
  const char* sum;
  bool rounds = false;  // so that small floats are summed in f32
};

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
// The lines along an axis, and the axes that they lie along.
struct LineAxes : ScatterAxes {
  LineAxes(int axis, const TensorSpec& indices, const TensorSpec& values, const TensorSpec& output);
  ScatterLines<kRuntimeRank> params() const;

  std::int64_t length, extent;
  std::int64_t index_step, value_step, output_step;
};

// Lines that the forms with sums in threadgroup memory take together where lines are not
// contiguous: 32 bytes of 64-bit indices.
inline constexpr std::int64_t kNeighbours = 4;
inline constexpr std::int64_t kMaxSummed = std::int64_t{1} << 31;

// What those forms divide: each has its simdgroups in a threadgroup of kThreads, and its own way to
// share out the destinations.
struct SummedLines {
  explicit SummedLines(const Signature& signature);

  // Whether such sums are worth it: within limits on elements, and on destinations for each index.
  // Destinations are read and written whole, which must cost less than sorting.
  bool are_worth_it(const Signature& signature) const;

  static constexpr std::int64_t kSimdgroups = kThreads / kSimdWidth;

  int axis;
  std::int64_t length, extent, count, lines;  // of and along the axis; count: elements
};

// Sums of a threadgroup of kThreads that keeps `other` bytes beside them: whole rows of its
// threads, and no more than lanes can tell apart.
std::int64_t sum_places(const Signature& signature, std::int64_t other);

// Whether one thread for each line is fastest, of `count` elements in lines of `length`.
bool is_for_threads(const runtime::DeviceTraits& device, std::int64_t count, std::int64_t length);

}  // namespace hearth::gpu
