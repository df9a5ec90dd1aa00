// Norms of vectors and what is made of them: unit vectors, cosines.
#include <cmath>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"
#include "ops/linalg/powers.h"

namespace hearth {
namespace {

Dims norm_axes(const Array& x, const AllAxes& axes) {
  if (axes.axes) return *axes.axes;
  Dims everything;
  for (int i = 0; i < x.rank(); ++i) everything.push_back(i);
  return everything;
}

// abs() of the element farthest from 0. The least integer is that, and abs() leaves it as it is.
Array largest_magnitude(const Array& x, const Dims& axes, bool keepdim) {
  if (is_float(x.dtype()) || !info(x.dtype()).is_signed) return max(abs(x), axes, keepdim);
  const Array most = max(x, axes, keepdim), least = min(x, axes, keepdim);
  return where(greater_equal(sub(std::int64_t{-1}, least), most), abs(least), most);
}

// Of values in a dtype that sums are computed in.
Array norm_of(const Array& x, double p, const Dims& axes, bool keepdim) {
  if (p == kInfinity) return largest_magnitude(x, axes, keepdim);
  if (p == -kInfinity) return min(abs(x), axes, keepdim);
  if (p == 0) {
    const Array count = sum(cast(not_equal(x, std::int64_t{0}), x.dtype()), axes, keepdim);
    return with_zero_gradients(count, {&x});
  }
  return root_of_powers(sum(power_of_magnitude(x, p), axes, keepdim), p);
}

}  // namespace

inline namespace v0 {

Array vector_norm(const Array& x, double p, const AllAxes& axes, bool keepdim) try {
  if (std::isnan(p)) {
    throw Error(ErrorCode::invalid_argument, "vector_norm: no power; got NaN, expected a number");
  }
  const Dims over = norm_axes(x, axes);
  const bool any_dtype = p == 0 || p == 1 || std::isinf(p);
  if (!any_dtype || !numeric_dtype(x.dtype())) require_float_array("vector_norm", x);
  if (!is_float(x.dtype())) return norm_of(x, p, over, keepdim);
  return cast(norm_of(wide(x), p, over, keepdim), x.dtype());
} catch (const Error& error) {
  throw_as("vector_norm", error);
}

Array vector_normalize(const Array& x, double p, std::int64_t axis, double epsilon) try {
  require_float_array("vector_normalize", x);
  const Array values = wide(x);
  return cast(div(values, clamp_min(vector_norm(values, p, {axis}, true), epsilon)), x.dtype());
} catch (const Error& error) {
  throw_as("vector_normalize", error);
}

Array max_abs(const Array& x, const AllAxes& axes, bool keepdim) try {
  return largest_magnitude(x, norm_axes(x, axes), keepdim);
} catch (const Error& error) {
  throw_as("max_abs", error);
}

Array cosine_similarity(const Array& a, const Array& b, std::int64_t axis, bool keepdim,
                        double epsilon) try {
  require_float_array("cosine_similarity", a);
  const Shape shape = broadcast_shapes("cosine_similarity", a.shape(), b.shape());
  const int along = normalize_axis("cosine_similarity", axis, shape.rank());
  if (a.dtype() != b.dtype()) {
    throw Error(ErrorCode::dtype, "cosine_similarity: inputs differ in dtype; got " +
                                      std::string(name(a.dtype())) + " and " +
                                      std::string(name(b.dtype())) + ", expected one dtype");
  }
  const Array left = wide(expand(a, shape)), right = wide(expand(b, shape));
  const Array products = sum(mul(left, right), {along}, keepdim);
  const auto length = [&](const Array& x) {
    return clamp_min(vector_norm(x, 2, {along}, keepdim), epsilon);
  };
  return cast(div(products, mul(length(left), length(right))), a.dtype());
} catch (const Error& error) {
  throw_as("cosine_similarity", error);
}

}  // namespace v0
}  // namespace hearth
