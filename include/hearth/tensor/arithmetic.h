// Ops of numbers whose methods follow from no rule of the op table: powers, bounds, products,
// masks, means. A base class of Tensor.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/indexing.h"
#include "hearth/ops.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int Rank, TensorKind K>
class Arithmetic {
  using Self = Tensor<Rank, K>;

 public:
  // To the power of whole numbers; powf() takes any.
  Self powi(const Self& exponent, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located_as("powi", site,
                      [&] { return made<Self>(hearth::pow(array(), exponent.array())); });
  }
  template <std::integral N>
    requires NumericKind<K>
  Self powi(N exponent, CallSite site = CallSite::here()) const {
    return located_as("powi", site, [&] {
      return made<Self>(hearth::pow(array(), tensor_detail::scalar(exponent)));
    });
  }
  template <std::floating_point N>
  Self powi(N exponent) const = delete;  // powf() takes fractions
  template <std::integral N>
    requires NumericKind<K>
  Self powi_scalar(N exponent, CallSite site = CallSite::here()) const {
    return located_as("powi_scalar", site, [&] { return powi(exponent); });
  }

  template <class N>
  Self pow(const N&) const {
    static_assert(kNever<N>, "Burn's names: powi(2) of whole numbers, powf(0.5) of any");
    return {};
  }
  Self powf(const Self& exponent, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("powf", site,
                      [&] { return made<Self>(hearth::pow(array(), exponent.array())); });
  }
  Self powf(double exponent, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("powf", site, [&] { return powf_scalar(exponent); });
  }
  Self powf_scalar(double exponent, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("powf_scalar", site,
                      [&] { return made<Self>(hearth::pow(array(), exponent)); });
  }

  template <ScalarOf<K> Low, ScalarOf<K> High>
    requires NumericKind<K>
  Self clamp(Low low, High high, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(
          hearth::clamp(array(), tensor_detail::scalar(low), tensor_detail::scalar(high)));
    });
  }
  template <ScalarOf<K> N>
    requires NumericKind<K>
  Self clamp_min(N low, CallSite site = CallSite::here()) const {
    return located(
        site, [&] { return made<Self>(hearth::clamp_min(array(), tensor_detail::scalar(low))); });
  }
  template <ScalarOf<K> N>
    requires NumericKind<K>
  Self clamp_max(N high, CallSite site = CallSite::here()) const {
    return located(
        site, [&] { return made<Self>(hearth::clamp_max(array(), tensor_detail::scalar(high))); });
  }
  // This + (other - this) * t.
  Self lerp(const Self& other, double t, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return made<Self>(hearth::lerp(array(), other.array(), t)); });
  }
  Self lerp(const Self& other, const Self& t, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site,
                   [&] { return made<Self>(hearth::lerp(array(), other.array(), t.array())); });
  }
  // By tanh; gelu() is by erf.
  Self gelu_approximate(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("gelu_approximate", site,
                      [&] { return made<Self>(hearth::gelu(array(), true)); });
  }
  // [.., m, k] x [.., k, n] = [.., m, n]; leading extents of 1 stretch.
  Self matmul(const Self& other, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return located(site, [&] { return made<Self>(hearth::matmul(array(), other.array())); });
  }
  Tensor<1, K> dot(const Self& other, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank == 1)
  {
    return located_as("dot", site,
                      [&] { return static_cast<const Self&>(*this).mul(other).sum(); });
  }
  // The other triangle becomes 0.
  Self triu(std::int64_t diagonal = 0, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return located(site, [&] { return made<Self>(hearth::triu(array(), diagonal)); });
  }
  Self tril(std::int64_t diagonal = 0, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return located(site, [&] { return made<Self>(hearth::tril(array(), diagonal)); });
  }

  // a x b of the 3 elements along `dim`.
  Self cross(const Self& other, std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return made<Self>(hearth::cross(array(), other.array(), dim)); });
  }
  // The covariances of the variables, over the observations along `dim`.
  Self cov(std::int64_t dim, std::int64_t correction = 1, CallSite site = CallSite::here()) const
    requires(std::same_as<K, Float> && Rank == 2)
  {
    return located(site, [&] { return made<Self>(hearth::cov(array(), dim, correction)); });
  }
  // The largest magnitude, of everything or along dimensions, which stay with extent 1.
  Tensor<1, K> max_abs(CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site,
                   [&] { return Tensor<1, K>(hearth::reshape(hearth::max_abs(array()), {1})); });
  }
  Self max_abs_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located_as("max_abs_dim", site,
                      [&] { return made<Self>(hearth::max_abs(array(), {dim}, true)); });
  }
  Self max_abs_dims(const Dims& dims, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located_as("max_abs_dims", site,
                      [&] { return made<Self>(hearth::max_abs(array(), dims, true)); });
  }
  // |this - other| <= absolute + relative * |other|, or equal.
  Tensor<Rank, Bool> is_close(const Self& other, double relative = 1e-5, double absolute = 1e-8,
                              CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] {
      return made<Tensor<Rank, Bool>>(hearth::is_close(array(), other.array(), relative, absolute));
    });
  }
  // Whether is_close() holds everywhere: waits for both.
  bool all_close(const Self& other, double relative = 1e-5, double absolute = 1e-8,
                 CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] {
      return hearth::all_close(array(), other.array(), relative, absolute).template item<bool>();
    });
  }
  Tensor<Rank * 0 + 1, Bool> contains_nan(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] {
      return Tensor<Rank * 0 + 1, Bool>(hearth::reshape(hearth::contains_nan(array()), {1}));
    });
  }

  // `value` where the mask is true, this tensor elsewhere: mask and value broadcast to its shape.
  Self mask_where(const Tensor<Rank, Bool>& mask, const Self& value,
                  CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(
          tensor_detail::set_where("mask_where", array(), mask.array(), value.array()));
    });
  }
  template <ScalarOf<K> N>
  Self mask_fill(const Tensor<Rank, Bool>& mask, N value, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(tensor_detail::set_where("mask_fill", array(), mask.array(),
                                                 tensor_detail::scalar(value)));
    });
  }

  // Of integers: an integer, the quotient without its fraction.
  Tensor<1, K> mean(CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor<1, K>(hearth::reshape(hearth::mean(array()), {1})); });
  }
  template <class D = K>
    requires BoolKind<D>
  Tensor<1, K> mean() const {
    static_assert(kNever<D>, "bool is not a numeric kind: write float_().mean()");
    return {};
  }
  template <std::integral D, class... More>
  Tensor<1, K> mean(D, More...) const {
    static_assert(tensor_detail::kNever<D>,
                  "mean() is over everything: write mean_dim(1) or mean_dims({0, 1})");
    return {};
  }
  template <class D>
  Tensor<1, K> mean(std::initializer_list<D>) const {
    return mean(0);
  }
  Self mean_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located_as("mean_dim", site,
                      [&] { return made<Self>(hearth::mean(array(), {dim}, true)); });
  }
  Self mean_dims(const Dims& dims, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located_as("mean_dims", site,
                      [&] { return made<Self>(hearth::mean(array(), dims, true)); });
  }

  // Over the whole tensor, or over `dim`, which stays with extent 1: divided by count - correction.
  Tensor<1, K> var(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor<1, K>(hearth::reshape(hearth::var(array()), {1})); });
  }
  Self var(std::int64_t dim, std::int64_t correction = 1, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return made<Self>(hearth::var(array(), {dim}, true, correction)); });
  }
  Tensor<1, K> std(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor<1, K>(hearth::reshape(hearth::std(array()), {1})); });
  }
  Self std(std::int64_t dim, std::int64_t correction = 1, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return made<Self>(hearth::std(array(), {dim}, true, correction)); });
  }
  // var() of a whole population, divided by the count; the mean beside it.
  Self var_bias(std::int64_t dim, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("var_bias", site, [&] { return var(dim, 0); });
  }
  std::pair<Self, Self> var_mean(std::int64_t dim, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("var_mean", site, [&] { return std::pair(var(dim), mean_dim(dim)); });
  }
  std::pair<Self, Self> var_mean_bias(std::int64_t dim, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("var_mean_bias", site, [&] { return std::pair(var(dim, 0), mean_dim(dim)); });
  }

 private:
  const Array& array() const noexcept { return static_cast<const Self&>(*this).array(); }
};

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
