// grid_sample_2d and affine_grid_2d: images at the points of a grid, of sums of their
// elements, weighted.
#include <string>
#include <vector>

#include "core/require_listed.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/image.h"
#include "ops/definition/rules.h"
#include "ops/image/weighted_gather.h"

namespace hearth {
namespace grids {
namespace {

// Where coordinates from -1 to 1 lie, counted in elements of an axis. What lies far outside is
// moved nearer, where it meets as little.
Array points(const Array& coordinates, std::int64_t extent, const GridSampleOptions& options) {
  const auto size = static_cast<double>(extent);
  const Array from_edge = add(where(is_nan(coordinates), -1.0, coordinates), 1.0);
  Array at = options.align_corners ? mul(from_edge, (size - 1) / 2)
                                   : mul(sub(mul(from_edge, size), 1.0), 0.5);
  if (options.padding == GridSamplePadding::reflection) {
    const double low = options.align_corners ? 0 : -0.5;
    const double span = options.align_corners ? size - 1 : size;
    if (span == 0) return mul(where(is_finite(at), at, 0.0), 0.0);  // all are that element
    const Array turn = remainder(sub(at, low), 2 * span);
    at = add(sub(span, abs(sub(turn, span))), low);
  }
  at = where(is_nan(at), 0.0, at);  // of infinite ones
  if (options.padding == GridSamplePadding::zeros) return clamp(at, -2.0, size + 1);
  return clamp(at, 0.0, size - 1);
}

void check_operands(const Array& x, const Array& grid) {
  const auto fail = [&](const char* what, const std::string& expected) {
    throw Error(ErrorCode::shape, std::string("grid_sample_2d: ") + what + "; got x " +
                                      to_string(x.shape()) + " and grid " +
                                      to_string(grid.shape()) + ", expected " + expected);
  };
  if (x.rank() != 4 || grid.rank() != 4 || grid.shape()[3] != 2 ||
      grid.shape()[0] != x.shape()[0]) {
    fail("operands do not fit",
         "x [batch, channels, height, width] and grid [batch, rows, columns, 2]");
  }
  for (int axis = 2; axis < 4; ++axis) {
    if (x.shape()[axis] >= 1 && x.shape()[axis] <= INT32_MAX) continue;
    fail("image out of range", "a height and width from 1 to " + std::to_string(INT32_MAX));
  }
  require_float_array("grid_sample_2d", x);
  if (grid.dtype() != x.dtype()) {
    throw Error(ErrorCode::dtype, "grid_sample_2d: dtypes differ; got x " +
                                      std::string(name(x.dtype())) + " and grid " +
                                      std::string(name(grid.dtype())) + ", expected one dtype");
  }
}

}  // namespace
}  // namespace grids

inline namespace v0 {

Array grid_sample_2d(const Array& x, const Array& grid, const GridSampleOptions& options) try {
  grids::check_operands(x, grid);
  require_listed("grid_sample_2d", "mode", options.mode, GridSampleMode::bilinear);
  require_listed("grid_sample_2d", "padding", options.padding, GridSamplePadding::reflection);
  const Shape& shape = x.shape();
  const std::int64_t batch = shape[0], channels = shape[1], height = shape[2], width = shape[3];
  const std::int64_t rows = grid.shape()[1], columns = grid.shape()[2];
  const Shape result = {batch, channels, rows, columns};
  check_shape("grid_sample_2d", result);
  const Array at = reshape(wide(grid), {batch, 1, rows * columns, 2});
  const Array across = grids::points(squeeze(narrow(at, 3, 0, 1), {3}), width, options);
  const Array down = grids::points(squeeze(narrow(at, 3, 1, 1), {3}), height, options);
  return reshape(sampled_points(x, down, across, options.mode == GridSampleMode::nearest), result);
} catch (const Error& error) {
  throw_as("grid_sample_2d", error);
}

Array affine_grid_2d(const Array& theta, std::int64_t height, std::int64_t width,
                     bool align_corners) try {
  if (theta.rank() != 3 || theta.shape()[1] != 2 || theta.shape()[2] != 3) {
    throw Error(ErrorCode::shape, "affine_grid_2d: theta does not fit; got " +
                                      to_string(theta.shape()) + ", expected [batch, 2, 3]");
  }
  require_float_array("affine_grid_2d", theta);
  const std::int64_t batch = theta.shape()[0];
  if (height < 0 || width < 0) {
    throw Error(ErrorCode::invalid_argument, "affine_grid_2d: no image; got height " +
                                                 std::to_string(height) + " and width " +
                                                 std::to_string(width) + ", expected at least 0");
  }
  check_shape("affine_grid_2d", {batch, height, width, 2});
  const Array map = wide(theta);
  // The points of an axis of the image.
  const auto line = [&](std::int64_t count) {
    const double end = align_corners ? (count > 1 ? 1.0 : 0.0)
                                     : 1 - 1 / static_cast<double>(count > 0 ? count : 1);
    return linspace(-end, end, count, map.dtype(), theta.device());
  };
  const auto column = [&](std::int64_t i) {
    return reshape(narrow(map, 2, i, 1), {batch, 1, 1, 2});
  };
  const Array x = reshape(line(width), {1, 1, width, 1}),
              y = reshape(line(height), {1, height, 1, 1});
  return cast(add(add(mul(column(0), x), mul(column(1), y)), column(2)), theta.dtype());
} catch (const Error& error) {
  throw_as("affine_grid_2d", error);
}

}  // namespace v0
}  // namespace hearth
