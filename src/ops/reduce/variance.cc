// Variance and standard deviation, made of other ops.
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "graph/switches.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

// Elements of a row from which on one pass over it beats a sum and another, where there are rows
// enough for the threads of a device.
constexpr std::int64_t kOnePass = 2048, kOnePassRows = 32;

// The squares about the mean of the last axes, `count` elements, summed up in one pass.
Array squares_of_rows(const Array& x, int kept, std::int64_t count, bool keepdim) {
  Shape shape;
  for (int i = 0; i < kept; ++i) shape.push_back(x.shape()[i]);
  const Array rows = reshape(x, {1, element_count(shape), count});
  if (keepdim) {
    for (int i = kept; i < x.rank(); ++i) shape.push_back(1);
  }
  const Array variance = call_outputs(defs::channel_moments_op, kNoParams, {&rows})[1];
  return reshape(mul(variance, static_cast<double>(count)), shape);
}

Array var_over(const char* op, const Array& x, const Dims& axes, bool keepdim,
               std::int64_t correction) {
  const std::uint32_t bits = axis_bits(op, axes, x.rank());
  require_float_array(op, x);
  std::int64_t count = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if ((bits >> i & 1u) != 0) count *= x.shape()[i];
  }
  const int kept = x.rank() - std::popcount(bits);
  Array squares;
  if (count >= kOnePass && x.size() / count >= kOnePassRows && std::countr_zero(bits) == kept &&
      !switches().precise_sums) {
    squares = squares_of_rows(x, kept, count, keepdim);
  } else {
    const Array values = cast(x, compute_dtype(x.dtype()));
    squares = sum(square(sub(values, mean(values, axes, true))), axes, keepdim);
  }
  // In f64, where no difference overflows.
  const double divisor = static_cast<double>(count) - static_cast<double>(correction);
  return div(squares, divisor > 0 ? divisor : std::numeric_limits<double>::quiet_NaN());
}

// The root, and 0 at 0 with all its derivatives.
Array root(const Array& squares) {
  const Array zero = equal(squares, 0.0);
  return where(zero, 0.0, sqrt(where(zero, 1.0, squares)));
}

Dims all_axes(const char* op, const Array& x) {
  require_defined(op, x);
  Dims axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

}  // namespace

inline namespace v0 {

Array var(const Array& x) { return var(x, all_axes("var", x)); }
Array var(const Array& x, const Dims& axes, bool keepdim, std::int64_t correction) {
  all_axes("var", x);
  return cast(var_over("var", x, axes, keepdim, correction), x.dtype());
}

Array std(const Array& x) { return hearth::std(x, all_axes("std", x)); }
Array std(const Array& x, const Dims& axes, bool keepdim, std::int64_t correction) {
  all_axes("std", x);
  return cast(root(var_over("std", x, axes, keepdim, correction)), x.dtype());
}

std::pair<Array, Array> var_mean(const Array& x, const Dims& axes, bool keepdim,
                                 std::int64_t correction) try {
  return {var(x, axes, keepdim, correction), mean(x, axes, keepdim)};
} catch (const Error& error) {
  throw_as("var_mean", error);
}

}  // namespace v0
}  // namespace hearth
