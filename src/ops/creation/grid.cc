// Evenly spaced numbers, grids of them, and arrays to be written over.
#include <algorithm>
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"

namespace hearth {
inline namespace v0 {

Array empty(const Shape& shape, DType dtype, Device device) try {
  return zeros(shape, dtype, device);
} catch (const Error& error) {
  throw_as("empty", error);
}

Array empty_like(const Array& x) try { return zeros_like(x); } catch (const Error& error) {
  throw_as("empty_like", error);
}

Array linspace(double start, double end, std::int64_t count, DType dtype, Device device) try {
  if (count < 2) return linear_ramp(count, start, 0, dtype, device);
  const double step = (end - start) / static_cast<double>(count - 1);
  const Array ramp = linear_ramp(count, start, step, dtype, device);
  // The last one is `end` itself, whatever the steps before have rounded to.
  const Array last = equal(arange(0, count, 1, DType::i64, device), count - 1);
  return where(last, full({}, end, dtype, device), ramp);
} catch (const Error& error) {
  throw_as("linspace", error);
}

std::vector<Array> meshgrid(const std::vector<Array>& arrays, GridIndexing indexing) try {
  if (arrays.empty() || arrays.size() > kMaxRank) {
    throw Error(ErrorCode::invalid_argument,
                "meshgrid: no grid; got " + std::to_string(arrays.size()) +
                    " arrays, expected 1 to " + std::to_string(kMaxRank));
  }
  const auto rank = static_cast<int>(arrays.size());
  // Axis of the grid that array i runs along.
  const auto axis_of_grid = [&](int i) {
    return indexing == GridIndexing::cartesian && rank > 1 && i < 2 ? 1 - i : i;
  };
  Shape grid = Shape::filled(rank, 0);
  for (int i = 0; i < rank; ++i) {
    const Array& array = arrays[static_cast<std::size_t>(i)];
    if (array.rank() != 1) {
      throw Error(ErrorCode::shape,
                  "meshgrid: no list; got " + to_string(array.shape()) + ", expected [n]");
    }
    grid[axis_of_grid(i)] = array.shape()[0];
  }
  check_shape("meshgrid", grid);
  std::vector<Array> grids;
  for (int i = 0; i < rank; ++i) {
    Shape along = Shape::filled(rank, 1);
    along[axis_of_grid(i)] = -1;
    const Array& array = arrays[static_cast<std::size_t>(i)];
    if (array.size() == 0) along[axis_of_grid(i)] = 0;
    grids.push_back(expand(reshape(array, along), grid));
  }
  return grids;
} catch (const Error& error) {
  throw_as("meshgrid", error);
}

Array cartesian_grid(const Shape& shape, DType dtype, Device device) try {
  check_shape("cartesian_grid", shape);
  if (shape.rank() == 0 || shape.rank() == kMaxRank) {
    throw Error(ErrorCode::shape, "cartesian_grid: no grid; got " + to_string(shape) +
                                      ", expected rank 1 to " + std::to_string(kMaxRank - 1));
  }
  std::vector<Array> indices;
  for (const std::int64_t extent : shape) {
    indices.push_back(arange(0, extent, 1, dtype, device));
  }
  return stack(meshgrid(indices), -1);
} catch (const Error& error) {
  throw_as("cartesian_grid", error);
}

}  // namespace v0
}  // namespace hearth
