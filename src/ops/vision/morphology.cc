// erode and dilate: extremes over windows of padded images.
#include <cstdint>
#include <string>
#include <vector>

#include "core/require_listed.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/ops/vision.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace morphology {
namespace {

enum class Extreme { least, largest };

// The element that leaves every extreme as it is, of rank 0.
Array neutral(DType dtype, Device device, Extreme extreme) {
  const bool is_least = extreme == Extreme::least;
  if (is_bool(dtype)) return full({}, is_least, dtype, device);
  if (is_float(dtype)) return full({}, is_least ? kInfinity : -kInfinity, dtype, device);
  if (is_least && dtype == DType::u64) return bitwise_not(zeros({}, dtype, device));
  const IntegerLimits limits = integer_limits(dtype);
  return full({}, is_least ? limits.highest : limits.least, dtype, device);
}

Array extreme_over(const Array& windows, const Dims& axes, Extreme extreme) {
  const bool is_least = extreme == Extreme::least;
  if (is_bool(windows.dtype())) return is_least ? all(windows, axes) : any(windows, axes);
  return is_least ? min(windows, axes) : max(windows, axes);
}

// Elements mirrored with the border element.
Array reflected(const Array& x, int axis, std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return x;
  const std::int64_t extent = x.shape()[axis];
  const Array at = arange(-before, extent + after, 1, DType::i64, x.device());
  const Array along = remainder(at, 2 * extent);
  return select(x, minimum(along, sub(2 * extent - 1, along)), axis);
}

struct Kernel {
  std::int64_t rows, cols;
  Array mask;  // bool [rows, cols]; undefined: a whole rectangle
};

struct Reach {
  std::int64_t above, below, left, right;
};

Reach reach_of(const char* op, const Kernel& kernel, const MorphOptions& options) {
  if (kernel.rows < 1 || kernel.cols < 1) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": kernel without elements; got " + std::to_string(kernel.rows) +
                    " by " + std::to_string(kernel.cols) + ", expected at least 1 by 1");
  }
  if (options.anchor && options.anchor->rank() != 2) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": anchor is no place; got " +
                                                 to_string(*options.anchor) +
                                                 ", expected a row and a column");
  }
  const std::int64_t row = options.anchor ? (*options.anchor)[0] : kernel.rows / 2;
  const std::int64_t col = options.anchor ? (*options.anchor)[1] : kernel.cols / 2;
  if (row < 0 || row >= kernel.rows || col < 0 || col >= kernel.cols) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": anchor outside the kernel; got row " + std::to_string(row) +
                    " and column " + std::to_string(col) + ", expected a place in " +
                    std::to_string(kernel.rows) + " by " + std::to_string(kernel.cols));
  }
  return {row, kernel.rows - 1 - row, col, kernel.cols - 1 - col};
}

// x [images, height, width] with what the kernel reaches around it.
Array bordered(const Array& x, const Reach& reach, const MorphOptions& options, Extreme extreme) {
  const Dims before = {0, reach.above, reach.left}, after = {0, reach.below, reach.right};
  switch (options.border) {
    case MorphBorder::constant: {
      const Array value = options.border_value
                              ? full({}, *options.border_value, x.dtype(), x.device())
                              : neutral(x.dtype(), x.device(), extreme);
      return pad(x, before, after, PadMode::constant, value);
    }
    case MorphBorder::replicate:
      return pad(x, before, after, PadMode::edge);
    case MorphBorder::reflect:
      return reflected(reflected(x, 1, reach.above, reach.below), 2, reach.left, reach.right);
    case MorphBorder::reflect101:
      return pad(x, before, after, PadMode::reflect);
    case MorphBorder::wrap:
      return pad(x, before, after, PadMode::wrap);
  }
  return x;
}

// Of `around`, which the kernel's reach has been added to.
Array filtered(const Array& around, const Kernel& kernel, Extreme extreme) {
  const Array rows = unfold(around, 1, kernel.rows);  // [images, height, width + reach, rows]
  if (!kernel.mask.defined()) {
    const Array columns = extreme_over(rows, {3}, extreme);
    return extreme_over(unfold(columns, 2, kernel.cols), {3}, extreme);
  }
  const Array windows = unfold(rows, 2, kernel.cols);
  const Array nothing = neutral(around.dtype(), around.device(), extreme);
  return extreme_over(where(kernel.mask, windows, nothing), {3, 4}, extreme);
}

// Each is recorded.
constexpr std::int64_t kMaxIterations = 4096;

Array morphed(const char* op, const Array& x, const Kernel& kernel, const MorphOptions& options,
              Extreme extreme) {
  if (x.rank() < 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": no image; got shape " +
                                      to_string(x.shape()) + ", expected [..., height, width]");
  }
  const Reach reach = reach_of(op, kernel, options);
  require_listed(op, "border", options.border, MorphBorder::wrap);
  if (options.iterations < 0 || options.iterations > kMaxIterations) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": iterations out of range; got " +
                                                 std::to_string(options.iterations) +
                                                 ", expected 0 to " +
                                                 std::to_string(kMaxIterations));
  }
  if (x.size() == 0) return x;
  const std::int64_t height = x.shape(-2), width = x.shape(-1);
  Array image = reshape(x, {x.size() / (height * width), height, width});
  for (std::int64_t i = 0; i < options.iterations; ++i) {
    image = filtered(bordered(image, reach, options, extreme), kernel, extreme);
  }
  return reshape(image, x.shape());
}

Array masked(const char* op, const Array& x, const Array& kernel, const MorphOptions& options,
             Extreme extreme) {
  require_defined(op, x);
  require_defined(op, kernel);
  if (!is_bool(kernel.dtype())) {
    throw Error(ErrorCode::dtype, std::string(op) + ": kernel is no bool array; got " +
                                      std::string(name(kernel.dtype())) + ", expected bool");
  }
  if (kernel.rank() != 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": kernel is no rectangle; got shape " +
                                      to_string(kernel.shape()) + ", expected [rows, cols]");
  }
  // In the order of windows, which have columns last.
  return morphed(op, x, {kernel.shape(0), kernel.shape(1), kernel}, options, extreme);
}

Array whole(const char* op, const Array& x, std::int64_t rows, std::int64_t cols,
            const MorphOptions& options, Extreme extreme) {
  require_defined(op, x);
  return morphed(op, x, {rows, cols, Array()}, options, extreme);
}

}  // namespace
}  // namespace morphology

inline namespace v0 {

Array erode(const Array& x, const Array& kernel, const MorphOptions& options) try {
  return morphology::masked("erode", x, kernel, options, morphology::Extreme::least);
} catch (const Error& error) {
  throw_as("erode", error);
}
Array erode_rectangle(const Array& x, std::int64_t rows, std::int64_t cols,
                      const MorphOptions& options) try {
  return morphology::whole("erode_rectangle", x, rows, cols, options, morphology::Extreme::least);
} catch (const Error& error) {
  throw_as("erode_rectangle", error);
}

Array dilate(const Array& x, const Array& kernel, const MorphOptions& options) try {
  return morphology::masked("dilate", x, kernel, options, morphology::Extreme::largest);
} catch (const Error& error) {
  throw_as("dilate", error);
}
Array dilate_rectangle(const Array& x, std::int64_t rows, std::int64_t cols,
                       const MorphOptions& options) try {
  return morphology::whole("dilate_rectangle", x, rows, cols, options,
                           morphology::Extreme::largest);
} catch (const Error& error) {
  throw_as("dilate_rectangle", error);
}

}  // namespace v0
}  // namespace hearth
