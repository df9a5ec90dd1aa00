// Functions of typed tensors that factor matrices, and what is worked out by them; those of Burn's
// module linalg stand there as well. Matrices are the last two dimensions. `site` is the caller's
// line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops/decompositions.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

namespace tensor_detail {
// Of what is left of a matrix for each: [1] of one matrix.
template <int R>
inline constexpr int kBatchRank = R > 2 ? R - 2 : 1;
template <int R>
Tensor<kBatchRank<R>> of_batch(const Array& x) {
  if constexpr (R > 2) {
    return Tensor<kBatchRank<R>>(x);
  } else {
    return Tensor<1>(hearth::reshape(x, {1}));
  }
}
}  // namespace tensor_detail

template <int R>
Tensor<R> cholesky(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R>(hearth::cholesky(x.array())); });
}
// l and u in one, and for each of their rows the row of x.
template <int R>
std::pair<Tensor<R>, Tensor<R - 1, Int>> lu_decomposition(const Tensor<R>& x,
                                                          CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    auto [packed, rows] = hearth::lu_decomposition(x.array());
    return std::pair(Tensor<R>(packed), Tensor<R - 1, Int>(rows));
  });
}
// p, l and u, whose product is x.
template <int R>
std::array<Tensor<R>, 3> lu(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    auto [p, l, u] = hearth::lu(x.array());
    return std::array{Tensor<R>(p), Tensor<R>(l), Tensor<R>(u)};
  });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> qr(const Tensor<R>& x, bool reduced = true,
                                   CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    auto [q, r] = hearth::qr(x.array(), reduced);
    return std::pair(Tensor<R>(q), Tensor<R>(r));
  });
}

template <int R>
struct Svd {
  Tensor<R> u;
  Tensor<R - 1> s;
  Tensor<R> vh;
};
template <int R>
Svd<R> svd(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    auto [u, s, vh] = hearth::svd(x.array());
    return Svd<R>{Tensor<R>(u), Tensor<R - 1>(s), Tensor<R>(vh)};
  });
}
template <int R>
Tensor<R - 1> svdvals(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R - 1>(hearth::svdvals(x.array())); });
}
// Eigenvalues and eigenvectors.
template <int R>
std::pair<Tensor<R - 1>, Tensor<R>> eigh(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    auto [w, v] = hearth::eigh(x.array());
    return std::pair(Tensor<R - 1>(w), Tensor<R>(v));
  });
}
template <int R>
Tensor<R - 1> eigvalsh(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R - 1>(hearth::eigvalsh(x.array())); });
}

// Of right-hand sides [..., n, k], or of one vector b [n].
template <int R>
Tensor<R> triangular_solve(const Tensor<R>& a, const Tensor<R>& b, bool upper = false,
                           bool unit_diagonal = false, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    return Tensor<R>(hearth::triangular_solve(a.array(), b.array(), upper, unit_diagonal));
  });
}
template <int R>
Tensor<R - 1> triangular_solve(const Tensor<R>& a, const Tensor<1>& b, bool upper = false,
                               bool unit_diagonal = false, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    return Tensor<R - 1>(hearth::triangular_solve(a.array(), b.array(), upper, unit_diagonal));
  });
}
template <int R>
Tensor<R> solve(const Tensor<R>& a, const Tensor<R>& b, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R>(hearth::solve(a.array(), b.array())); });
}
template <int R>
Tensor<R - 1> solve(const Tensor<R>& a, const Tensor<1>& b, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R - 1>(hearth::solve(a.array(), b.array())); });
}
template <int R>
Tensor<R> inverse(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R>(hearth::inverse(x.array())); });
}
template <int R>
Tensor<R> pinv(const Tensor<R>& x, std::optional<double> relative = std::nullopt,
               CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R>(hearth::pinv(x.array(), relative)); });
}
template <int R>
Tensor<R> lstsq(const Tensor<R>& a, const Tensor<R>& b,
                std::optional<double> relative = std::nullopt, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R>(hearth::lstsq(a.array(), b.array(), relative)); });
}
template <int R>
Tensor<R - 1> lstsq(const Tensor<R>& a, const Tensor<1>& b,
                    std::optional<double> relative = std::nullopt, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site,
                 [&] { return Tensor<R - 1>(hearth::lstsq(a.array(), b.array(), relative)); });
}
template <int R, NumericKind K>
Tensor<R, K> matrix_power(const Tensor<R, K>& x, std::int64_t power,
                          CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return Tensor<R, K>(hearth::matrix_power(x.array(), power)); });
}

// [1] of one matrix.
template <int R>
Tensor<tensor_detail::kBatchRank<R>> det(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] { return tensor_detail::of_batch<R>(hearth::det(x.array())); });
}
// Signs and logarithms of magnitudes of det.
template <int R>
auto slogdet(const Tensor<R>& x, CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site, [&] {
    auto [sign, log] = hearth::slogdet(x.array());
    return std::pair(tensor_detail::of_batch<R>(sign), tensor_detail::of_batch<R>(log));
  });
}
template <int R>
Tensor<tensor_detail::kBatchRank<R>> matrix_norm(const Tensor<R>& x,
                                                 MatrixNorm norm = MatrixNorm::frobenius,
                                                 CallSite site = CallSite::here())
  requires(R >= 2)
{
  return located(site,
                 [&] { return tensor_detail::of_batch<R>(hearth::matrix_norm(x.array(), norm)); });
}

namespace linalg {
using hearth::det;
using hearth::lu;
using hearth::lu_decomposition;
using hearth::qr;
}  // namespace linalg

}  // namespace v0
}  // namespace hearth
