// Functions of typed tensors for products, norms and distances, and Burn's module linalg. What is
// taken along `dim` stays with extent 1. `site` is the caller's line.
#pragma once

#include <cstdint>
#include <limits>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

template <int R, NumericKind K>
Tensor<1, K> trace(const Tensor<R, K>& x, CallSite site = CallSite::here())
  requires(R == 2)
{
  return located(site,
                 [&] { return Tensor<1, K>(hearth::reshape(hearth::trace(x.array()), {1})); });
}
// a [..., m] times b [..., n], each with each: [..., m, n].
template <int R, NumericKind K>
Tensor<R + 1, K> outer(const Tensor<R, K>& a, const Tensor<R, K>& b,
                       CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R + 1, K>(hearth::outer(a.array(), b.array())); });
}
template <int R, NumericKind K>
Tensor<R - 1, K> matvec(const Tensor<R, K>& a, const Tensor<R - 1, K>& b,
                        CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R - 1, K>(hearth::matvec(a.array(), b.array())); });
}
template <int R, NumericKind K>
Tensor<R, K> cross(const Tensor<R, K>& a, const Tensor<R, K>& b, std::int64_t dim = -1,
                   CallSite site = CallSite::here()) {
  return a.cross(b, dim, site);
}
inline Tensor<2> cov(const Tensor<2>& x, std::int64_t dim = 0, std::int64_t correction = 1,
                     CallSite site = CallSite::here()) {
  return x.cov(dim, correction, site);
}
inline Tensor<2> corrcoef(const Tensor<2>& x, std::int64_t dim = 0,
                          CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<2>(hearth::corrcoef(x.array(), dim)); });
}

// Of everything.
template <int R, NumericKind K>
Tensor<1, K> vector_norm(const Tensor<R, K>& x, double p = 2, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<1, K>(hearth::reshape(hearth::vector_norm(x.array(), p), {1})); });
}
template <int R, NumericKind K>
Tensor<R, K> vector_norm(const Tensor<R, K>& x, double p, std::int64_t dim,
                         CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R, K>(hearth::vector_norm(x.array(), p, {dim}, true)); });
}
template <int R>
Tensor<R> vector_normalize(const Tensor<R>& x, double p = 2, std::int64_t dim = -1,
                           double epsilon = 1e-12, CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R>(hearth::vector_normalize(x.array(), p, dim, epsilon)); });
}
template <int R, NumericKind K>
Tensor<1, K> max_abs(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.max_abs(site);
}
template <int R>
Tensor<R> cosine_similarity(const Tensor<R>& a, const Tensor<R>& b, std::int64_t dim = -1,
                            double epsilon = 1e-8, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::cosine_similarity(a.array(), b.array(), dim, true, epsilon));
  });
}
// a [..., m, d], b [..., n, d]: the norm of the difference of each row with each, [..., m, n].
template <int R>
Tensor<R> cdist(const Tensor<R>& a, const Tensor<R>& b, double p = 2,
                CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::cdist(a.array(), b.array(), p)); });
}

template <int R>
Tensor<R, Bool> is_close(const Tensor<R>& a, const Tensor<R>& b, double relative = 1e-5,
                         double absolute = 1e-8, CallSite site = CallSite::here()) {
  return a.is_close(b, relative, absolute, site);
}
template <int R>
bool all_close(const Tensor<R>& a, const Tensor<R>& b, double relative = 1e-5,
               double absolute = 1e-8, CallSite site = CallSite::here()) {
  return a.all_close(b, relative, absolute, site);
}
template <int R>
Tensor<1, Bool> contains_nan(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return x.contains_nan(site);
}

namespace linalg {
using hearth::cosine_similarity;
using hearth::matvec;
using hearth::outer;
using hearth::vector_norm;
using hearth::vector_normalize;

// Of vectors along `dim`: a [..., m, ...], b [..., n, ...], the result [..., m, n, ...].
template <int R, NumericKind K>
Tensor<R + 1, K> outer_dim(const Tensor<R, K>& a, const Tensor<R, K>& b, std::int64_t dim,
                           CallSite site = CallSite::here()) {
  return located_as("outer_dim", site, [&] {
    const int at = normalize_axis("outer_dim", dim, R);
    return a.unsqueeze_dim(at + 1).mul(b.unsqueeze_dim(at));
  });
}
// The diagonal of the last two dimensions; trace: its sum, [..., 1].
template <int R, TensorKind K>
Tensor<R - 1, K> diag(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return located_as("diag", site, [&] { return x.diagonal(); });
}
template <int R, NumericKind K>
Tensor<R - 1, K> trace(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return located_as("trace", site, [&] { return x.diagonal().sum_dim(-1); });
}
template <int R, NumericKind K>
Tensor<R, K> lp_norm(const Tensor<R, K>& x, double p, std::int64_t dim,
                     CallSite site = CallSite::here()) {
  return located_as("lp_norm", site, [&] { return hearth::vector_norm(x, p, dim); });
}
// How many are not 0.
template <int R, NumericKind K>
Tensor<R, K> l0_norm(const Tensor<R, K>& x, std::int64_t dim, CallSite site = CallSite::here()) {
  return located_as("l0_norm", site, [&] { return hearth::vector_norm(x, 0, dim); });
}
template <int R, NumericKind K>
Tensor<R, K> l1_norm(const Tensor<R, K>& x, std::int64_t dim, CallSite site = CallSite::here()) {
  return located_as("l1_norm", site, [&] { return hearth::vector_norm(x, 1, dim); });
}
template <int R>
Tensor<R> l2_norm(const Tensor<R>& x, std::int64_t dim, CallSite site = CallSite::here()) {
  return located_as("l2_norm", site, [&] { return hearth::vector_norm(x, 2, dim); });
}
template <int R, NumericKind K>
Tensor<R, K> max_abs_norm(const Tensor<R, K>& x, std::int64_t dim,
                          CallSite site = CallSite::here()) {
  return located_as("max_abs_norm", site, [&] {
    return hearth::vector_norm(x, std::numeric_limits<double>::infinity(), dim);
  });
}
template <int R, NumericKind K>
Tensor<R, K> min_abs_norm(const Tensor<R, K>& x, std::int64_t dim,
                          CallSite site = CallSite::here()) {
  return located_as("min_abs_norm", site, [&] {
    return hearth::vector_norm(x, -std::numeric_limits<double>::infinity(), dim);
  });
}
}  // namespace linalg

}  // namespace v0
}  // namespace hearth
