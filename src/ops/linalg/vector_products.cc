// Products of vectors, and covariances.
#include <algorithm>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

void require_vectors(const char* op, const Array& x) {
  if (x.rank() >= 1) return;
  throw Error(ErrorCode::shape,
              std::string(op) + ": no vector; got " + to_string(x.shape()) + ", expected [..., n]");
}

// x [n, variables] as it is computed in; products of distances from the mean, undivided.
Array scatter_matrix(const char* op, const Array& x, std::int64_t axis) {
  if (x.rank() != 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": no table; got " + to_string(x.shape()) +
                                      ", expected [n, variables] or [variables, n]");
  }
  const int along = normalize_axis(op, axis, 2);
  require_float_array(op, x);
  const Array values = wide(along == 0 ? x : transpose(x));
  const Array centred = sub(values, mean(values, {0}, true));
  return matmul(transpose(centred), centred);
}

}  // namespace

inline namespace v0 {

Array outer(const Array& a, const Array& b) try {
  require_vectors("outer", a);
  require_vectors("outer", b);
  return mul(unsqueeze(a, {-1}), unsqueeze(b, {-2}));
} catch (const Error& error) {
  throw_as("outer", error);
}

Array matvec(const Array& a, const Array& b) try {
  require_vectors("matvec", b);
  if (a.rank() < 2) {
    throw Error(ErrorCode::shape,
                "matvec: no matrix; got " + to_string(a.shape()) + ", expected [..., m, n]");
  }
  return squeeze(matmul(a, unsqueeze(b, {-1})), {-1});
} catch (const Error& error) {
  throw_as("matvec", error);
}

Array cross(const Array& a, const Array& b, std::int64_t axis) try {
  const Shape shape = broadcast_shapes("cross", a.shape(), b.shape());
  const int along = normalize_axis("cross", axis, shape.rank());
  const auto extent_of = [&](const Array& x) {
    const int own = along - (shape.rank() - x.rank());
    return own < 0 ? 1 : x.shape()[own];
  };
  if (extent_of(a) != 3 || extent_of(b) != 3) {
    throw Error(ErrorCode::shape, "cross: no vectors of 3 elements; got " + to_string(a.shape()) +
                                      " and " + to_string(b.shape()) +
                                      ", expected extents of 3 along axis " +
                                      std::to_string(along));
  }
  const Array left = expand(a, shape), right = expand(b, shape);
  const auto component = [&](int i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    return sub(mul(narrow(left, along, j, 1), narrow(right, along, k, 1)),
               mul(narrow(left, along, k, 1), narrow(right, along, j, 1)));
  };
  return cat({component(0), component(1), component(2)}, along);
} catch (const Error& error) {
  throw_as("cross", error);
}

Array cov(const Array& x, std::int64_t axis, std::int64_t correction) try {
  const Array products = scatter_matrix("cov", x, axis);
  const std::int64_t count = x.shape(axis);
  const double divisor =
      std::max(static_cast<double>(count) - static_cast<double>(correction), 0.0);
  return cast(div(products, divisor), x.dtype());
} catch (const Error& error) {
  throw_as("cov", error);
}

Array corrcoef(const Array& x, std::int64_t axis) try {
  const Array products = scatter_matrix("corrcoef", x, axis);
  const Array deviations = sqrt(diagonal(products));
  const Array scaled = div(div(products, unsqueeze(deviations, {0})), unsqueeze(deviations, {1}));
  return cast(clamp(scaled, -1.0, 1.0), x.dtype());
} catch (const Error& error) {
  throw_as("corrcoef", error);
}

}  // namespace v0
}  // namespace hearth
