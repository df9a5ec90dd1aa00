// Activations made of other ops. Where two branches meet, the derivative is the one that PyTorch
// gives; no branch that is not taken sees an argument that would spoil its gradient.
#include <cmath>
#include <string>
#include <utility>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

// Self-normalizing networks: Klambauer et al., 2017.
constexpr double kSeluAlpha = 1.6732632423543772;
constexpr double kSeluScale = 1.0507009873554805;
// From here on mish(x) is x in f64, and tanh(softplus(x)) is 1.
constexpr double kMishIsIdentity = 20;
// Below, mish(x) is 0 in f64.
constexpr double kMishIsZero = -800;

// x as floats; a number as an array. Errors are those of `op`.
Array real(const char* op, const Array& x) {
  require_defined(op, x);
  if (node_of(x)->device == nullptr) return cast(x, DType::f32);
  require_float_array(op, x);
  return x;
}

void require(bool holds, const char* op, const char* what, double got, const char* expected) {
  if (holds) return;
  throw Error(ErrorCode::invalid_argument, std::string(op) + ": " + what + " out of range; got " +
                                               number_text(got) + ", expected " + expected);
}
void require_width(const char* op, double lambda) {
  require(lambda >= 0, op, "lambda", lambda, "0 or more");
}

// x where it is positive, else scale (e^(x / alpha) - 1).
Array exponential_unit(const Array& x, double scale, double alpha) {
  const Array above = greater(x, 0.0);
  const Array below = where(above, 0.0, x);
  return where(above, x, mul(expm1(alpha == 1 ? below : div(below, alpha)), scale));
}

// -|x|, whose derivative at 0 is that of x.
Array folded(const Array& x, const Array& above) { return where(above, neg(x), x); }

Array softplus_of(const Array& x, double beta) {
  const Array above = greater(x, 0.0);
  const Array least = folded(x, above);
  const Array rest = beta == 1 ? log1p(exp(least)) : div(log1p(exp(mul(least, beta))), beta);
  return add(where(above, x, 0.0), rest);
}

// low and high where x is not between them, with gradient 0 at both.
Array between(const Array& x, double low, double high) {
  return where(less_equal(x, low), low, where(greater_equal(x, high), high, x));
}

}  // namespace

inline namespace v0 {

Array leaky_relu(const Array& x, double negative_slope) try {
  const Array values = real("leaky_relu", x);
  return where(greater(values, 0.0), values, mul(values, negative_slope));
} catch (const Error& error) {
  throw_as("leaky_relu", error);
}

Array prelu(const Array& x, const Array& weight) try {
  const Array values = real("prelu", x);
  Array slope = real("prelu", weight);
  if (slope.rank() > 1) {
    if (broadcast_shapes("prelu", values.shape(), slope.shape()) != values.shape()) {
      throw Error(ErrorCode::shape, "prelu: weight does not broadcast; got shape " +
                                        to_string(slope.shape()) + " beside " +
                                        to_string(values.shape()) + ", expected x's or 1s");
    }
  } else if (slope.rank() == 1 && slope.size() != 1) {
    const int axis = values.rank() > 1 ? 1 : 0;
    if (values.rank() == 0 || values.shape()[axis] != slope.size()) {
      throw Error(ErrorCode::shape, "prelu: weight does not match the channels; got shape " +
                                        to_string(slope.shape()) + " beside " +
                                        to_string(values.shape()) +
                                        ", expected one slope or one for each channel");
    }
    Dims extents;
    for (int i = 0; i < values.rank(); ++i) extents.push_back(i == axis ? slope.size() : 1);
    slope = reshape(slope, Shape(extents));
  } else {
    slope = reshape(slope, Shape{});
  }
  const Array above = greater(values, 0.0);
  return where(above, values, mul(where(above, 0.0, values), slope));
} catch (const Error& error) {
  throw_as("prelu", error);
}

Array elu(const Array& x, double alpha) try {
  return exponential_unit(real("elu", x), alpha, 1);
} catch (const Error& error) {
  throw_as("elu", error);
}

Array celu(const Array& x, double alpha) try {
  require(alpha > 0 && std::isfinite(alpha), "celu", "alpha", alpha, "a positive number");
  return exponential_unit(real("celu", x), alpha, alpha);
} catch (const Error& error) {
  throw_as("celu", error);
}

Array selu(const Array& x) try {
  return mul(exponential_unit(real("selu", x), kSeluAlpha, 1), kSeluScale);
} catch (const Error& error) {
  throw_as("selu", error);
}

Array hard_sigmoid(const Array& x, double alpha, double beta) try {
  const Array values = real("hard_sigmoid", x);
  // A sixth of 3 is half of 1; the product with what dtypes have of 1 / 6 is beside it.
  const double divisor = 1 / alpha;
  const bool divides = divisor == std::round(divisor) && std::abs(divisor) <= 256;
  return between(add(divides ? div(values, divisor) : mul(values, alpha), beta), 0, 1);
} catch (const Error& error) {
  throw_as("hard_sigmoid", error);
}

Array hard_swish(const Array& x) try {
  const Array values = real("hard_swish", x);
  const Array low = less_equal(values, -3.0);
  const Array high = greater_equal(values, 3.0);
  const Array inside = where(logical_or(low, high), 0.0, values);
  const Array curve = div(mul(inside, add(inside, 3.0)), 6.0);
  return where(low, 0.0, where(high, values, curve));
} catch (const Error& error) {
  throw_as("hard_swish", error);
}

Array hard_shrink(const Array& x, double lambda) try {
  const Array values = real("hard_shrink", x);
  require_width("hard_shrink", lambda);
  return where(less_equal(abs(values), lambda), 0.0, values);
} catch (const Error& error) {
  throw_as("hard_shrink", error);
}

Array soft_shrink(const Array& x, double lambda) try {
  return shrink(x, lambda, lambda);
} catch (const Error& error) {
  throw_as("soft_shrink", error);
}

Array shrink(const Array& x, double lambda, double bias) try {
  const Array values = real("shrink", x);
  require_width("shrink", lambda);
  const Array nearer = sub(values, mul(sign(values), bias));
  return where(less_equal(abs(values), lambda), 0.0, nearer);
} catch (const Error& error) {
  throw_as("shrink", error);
}

Array thresholded_relu(const Array& x, double alpha) try {
  return threshold(x, alpha, 0);
} catch (const Error& error) {
  throw_as("thresholded_relu", error);
}

Array threshold(const Array& x, double limit, double value) try {
  const Array values = real("threshold", x);
  return where(less_equal(values, limit), value, values);
} catch (const Error& error) {
  throw_as("threshold", error);
}

Array softplus(const Array& x, double beta) try {
  require(beta > 0 && std::isfinite(beta), "softplus", "beta", beta, "a positive number");
  return softplus_of(real("softplus", x), beta);
} catch (const Error& error) {
  throw_as("softplus", error);
}

Array softsign(const Array& x) try {
  const Array values = real("softsign", x);
  // x / (1 + |x|) is 1 from here on, and infinities have no quotient.
  const double largest = values.dtype() == DType::f16 ? 6e4 : 1e30;
  const Array finite = clamp(values, -largest, largest);
  return div(finite, add(abs(finite), 1.0));
} catch (const Error& error) {
  throw_as("softsign", error);
}

Array mish(const Array& x) try {
  const Array values = real("mish", x);
  const Array inside = clamp(values, kMishIsZero, kMishIsIdentity);
  const Array curve = mul(inside, tanh(softplus_of(inside, 1)));
  return where(greater(values, kMishIsIdentity), values, curve);
} catch (const Error& error) {
  throw_as("mish", error);
}

Array log_sigmoid(const Array& x) try {
  const Array values = real("log_sigmoid", x);
  const Array above = greater(values, 0.0);
  return sub(where(above, 0.0, values), log1p(exp(folded(values, above))));
} catch (const Error& error) {
  throw_as("log_sigmoid", error);
}

Array hardtanh(const Array& x, double low, double high) try {
  require(low <= high, "hardtanh", "low", low, "no more than high");
  return between(real("hardtanh", x), low, high);
} catch (const Error& error) {
  throw_as("hardtanh", error);
}

Array relu6(const Array& x) try {
  return between(real("relu6", x), 0, 6);
} catch (const Error& error) {
  throw_as("relu6", error);
}

Array glu(const Array& x, std::int64_t axis) try {
  const Array values = real("glu", x);
  const int at = normalize_axis("glu", axis, values.rank());
  const std::int64_t extent = values.shape()[at];
  if (extent % 2 != 0) {
    throw Error(ErrorCode::shape, "glu: odd extent at axis " + std::to_string(at) + "; got shape " +
                                      to_string(values.shape()) + ", expected an even one");
  }
  return mul(narrow(values, at, 0, extent / 2),
             sigmoid(narrow(values, at, extent / 2, extent / 2)));
} catch (const Error& error) {
  throw_as("glu", error);
}

Array tanhshrink(const Array& x) try {
  const Array values = real("tanhshrink", x);
  return sub(values, tanh(values));
} catch (const Error& error) {
  throw_as("tanhshrink", error);
}

}  // namespace v0
}  // namespace hearth
