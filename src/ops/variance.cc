// Variance and standard deviation, made of other ops.
#include <limits>
#include <string>

#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

Array var_over(const char* op, const Array& x, const Dims& axes, bool keepdim,
               std::int64_t correction) {
  const std::uint32_t bits = axis_bits(op, axes, x.rank());
  require_float_array(op, x);
  std::int64_t count = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if ((bits >> i & 1u) != 0) count *= x.shape()[i];
  }
  const Array values = cast(x, compute_dtype(x.dtype()));
  const Array squares = sum(square(sub(values, mean(values, axes, true))), axes, keepdim);
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

}  // namespace v0
}  // namespace hearth
