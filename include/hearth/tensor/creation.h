// How tensors are made: Tensor<2>::zeros({2, 3}), random(), from_data() and others, and
// zeros_like() of a tensor that is there. A base class of Tensor.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int Rank, TensorKind K>
class Creation {
  using Self = Tensor<Rank, K>;

 public:
  static Self zeros(const Extents<Rank>& shape, const TensorOptions& options = {},
                    CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Self(hearth::zeros(shape.shape(), dtype_for("zeros", options), options.device));
    });
  }
  static Self ones(const Extents<Rank>& shape, const TensorOptions& options = {},
                   CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Self(hearth::ones(shape.shape(), dtype_for("ones", options), options.device));
    });
  }
  // The same with the extents in a row: zeros(2, 3).
  template <std::integral... I>
    requires(sizeof...(I) > 0 && sizeof...(I) == Rank - 1)
  static Self zeros(LocatedExtent first, I... others) {
    return Creation::zeros({first.value, others...}, {}, first.site);
  }
  template <std::integral... I>
    requires(sizeof...(I) > 0 && sizeof...(I) == Rank - 1)
  static Self ones(LocatedExtent first, I... others) {
    return Creation::ones({first.value, others...}, {}, first.site);
  }
  template <ScalarOf<K> N>
  static Self full(const Extents<Rank>& shape, N value, const TensorOptions& options = {},
                   CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Self(hearth::full(shape.shape(), tensor_detail::scalar(value),
                               dtype_for("full", options), options.device));
    });
  }
  // To be written over: the values are unspecified.
  static Self empty(const Extents<Rank>& shape, const TensorOptions& options = {},
                    CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Self(hearth::empty(shape.shape(), dtype_for("empty", options), options.device));
    });
  }
  Self empty_like(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Self(hearth::empty_like(array())); });
  }
  Self zeros_like(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Self(hearth::zeros_like(array())); });
  }
  Self ones_like(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Self(hearth::ones_like(array())); });
  }
  template <ScalarOf<K> N>
  Self full_like(N value, CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Self(hearth::full_like(array(), tensor_detail::scalar(value))); });
  }
  // Float: Uniform, Normal or Bernoulli, or Uniform in [0, 1) where none is given. Int: Uniform
  // over the integers in [low, high) or Bernoulli.
  static Self random(const Extents<Rank>& shape, CallSite site = CallSite::here())
    requires NumericKind<K>
  {
    static_assert(std::same_as<K, Float>, "integers below what? write random({5}, Uniform(0, 10))");
    return random(shape, Uniform(), {}, nullptr, site);
  }
  static Self random(const Extents<Rank>& shape, const Distribution& distribution,
                     const TensorOptions& options = {}, Generator* source = nullptr,
                     CallSite site = CallSite::here())
    requires NumericKind<K>
  {
    return located_as("random", site, [&] {
      const DType dtype = dtype_for("random", options);
      const Shape extents = shape.shape();
      if (const auto* normal = std::get_if<Normal>(&distribution)) {
        return Self(
            random_normal(extents, normal->mean, normal->deviation, dtype, options.device, source));
      }
      if (const auto* bernoulli = std::get_if<Bernoulli>(&distribution)) {
        return Self(
            random_bernoulli(extents, bernoulli->probability, dtype, options.device, source));
      }
      const Uniform& uniform = std::get<Uniform>(distribution);
      if constexpr (std::same_as<K, Int>) {
        return Self(random_integers(extents, first_integer(uniform.low),
                                    first_integer(uniform.high), dtype, options.device, source));
      } else {
        return Self(
            random_uniform(extents, uniform.low, uniform.high, dtype, options.device, source));
      }
    });
  }
  Self random_like(const Distribution& distribution, Generator* source = nullptr,
                   CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located_as("random_like", site, [&] {
      ExtentArray<Rank> extents;
      for (int i = 0; i < Rank; ++i) extents[static_cast<std::size_t>(i)] = array().shape()[i];
      return random(extents, distribution, {array().dtype(), array().device()}, source);
    });
  }
  // Row-major elements, kept in the dtype of T.
  template <class T>
    requires(tensor_detail::kKindOf<T> == K::kKind)
  static Self from_data(const std::vector<T>& data, const Extents<Rank>& shape,
                        Device device = Device(), CallSite site = CallSite::here()) {
    return located(site, [&] {
      if constexpr (std::same_as<T, bool>) {
        const std::vector<std::uint8_t> bytes(data.begin(), data.end());
        return Self(Array::from_bytes(std::as_bytes(std::span<const std::uint8_t>(bytes)),
                                      DType::bool_, shape.shape(), device));
      } else {
        return Self(Array::from_data(data, shape.shape(), device));
      }
    });
  }
  // Nested lists, {{1, 2}, {3, 4}} for rank 2: f32, i64 or bool.
  static Self from_data(typename tensor_detail::NestedList<typename K::Item, Rank>::type lists,
                        Device device = Device(), CallSite site = CallSite::here()) {
    return located(site, [&] {
      using Stored =
          std::conditional_t<std::same_as<K, Float>, float,
                             std::conditional_t<std::same_as<K, Int>, std::int64_t, std::uint8_t>>;
      std::vector<typename K::Item> items;
      ExtentArray<Rank> extents{};
      tensor_detail::flatten_list<Rank>(lists, extents.data(), true, items);
      const std::vector<Stored> stored(items.begin(), items.end());
      return Self(Array::from_bytes(std::as_bytes(std::span<const Stored>(stored)), K::kDefault,
                                    Shape(extents), device));
    });
  }
  static Self from_floats(typename tensor_detail::NestedList<double, Rank>::type lists,
                          Device device = Device(), CallSite site = CallSite::here())
    requires std::same_as<K, Float>
  {
    return located_as("from_floats", site, [&] { return from_data(lists, device); });
  }
  static Self from_ints(typename tensor_detail::NestedList<std::int64_t, Rank>::type lists,
                        Device device = Device(), CallSite site = CallSite::here())
    requires std::same_as<K, Int>
  {
    return located_as("from_ints", site, [&] { return from_data(lists, device); });
  }
  static Self from_bool(typename tensor_detail::NestedList<bool, Rank>::type lists,
                        Device device = Device(), CallSite site = CallSite::here())
    requires std::same_as<K, Bool>
  {
    return located_as("from_bool", site, [&] { return from_data(lists, device); });
  }
  static Self arange(std::int64_t start, std::int64_t end, const TensorOptions& options = {},
                     CallSite site = CallSite::here())
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return located_as("arange", site, [&] { return arange_step(start, end, 1, options); });
  }
  // Fractions would be cut off: linspace() and linear_ramp() are of floats.
  template <class... Arguments>
    requires(std::floating_point<Arguments> || ...)
  static Self arange(const Arguments&...) = delete;
  static Self arange_step(std::int64_t start, std::int64_t end, std::int64_t step,
                          const TensorOptions& options = {}, CallSite site = CallSite::here())
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return located_as("arange_step", site, [&] {
      return Self(hearth::arange(start, end, step, dtype_for("arange", options), options.device));
    });
  }
  template <class... Arguments>
    requires(std::floating_point<Arguments> || ...)
  static Self arange_step(const Arguments&...) = delete;
  // At each position of a grid of these extents its indices.
  template <std::size_t N>
    requires(N == Rank - 1)
  static Self cartesian_grid(const std::int64_t (&extents)[N], const TensorOptions& options = {},
                             CallSite site = CallSite::here())
    requires std::same_as<K, Int>
  {
    return located_as("cartesian_grid", site, [&] {
      return Self(hearth::cartesian_grid(Shape(extents, N), dtype_for("cartesian_grid", options),
                                         options.device));
    });
  }
  // `count` values from `start` to `end`, both included.
  static Self linspace(double start, double end, std::int64_t count,
                       const TensorOptions& options = {}, CallSite site = CallSite::here())
    requires(std::same_as<K, Float> && Rank == 1)
  {
    return located(site, [&] {
      return Self(
          hearth::linspace(start, end, count, dtype_for("linspace", options), options.device));
    });
  }
  // The integers below `count` in random order.
  static Self random_permutation(std::int64_t count, const TensorOptions& options = {},
                                 Generator* source = nullptr, CallSite site = CallSite::here())
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return located(site, [&] {
      return Self(hearth::random_permutation(count, dtype_for("random_permutation", options),
                                             options.device, source));
    });
  }
  static Self eye(std::int64_t size, const TensorOptions& options = {},
                  CallSite site = CallSite::here())
    requires(NumericKind<K> && Rank == 2)
  {
    return located(
        site, [&] { return Self(hearth::eye(size, dtype_for("eye", options), options.device)); });
  }
  // False on and above (below) the diagonal that is `offset` right of the main one: what mask_fill
  // would erase.
  static Self triu_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                        Device device = Device(), CallSite site = CallSite::here())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return located(site, [&] {
      return Self(hearth::triu_mask(shape.values[0], shape.values[1], offset, device));
    });
  }
  static Self tril_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                        Device device = Device(), CallSite site = CallSite::here())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return located(site, [&] {
      return Self(hearth::tril_mask(shape.values[0], shape.values[1], offset, device));
    });
  }
  static Self diag_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                        Device device = Device(), CallSite site = CallSite::here())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return located(site, [&] {
      return Self(hearth::diag_mask(shape.values[0], shape.values[1], offset, device));
    });
  }

 private:
  const Array& array() const noexcept { return static_cast<const Self&>(*this).array(); }
  // The least integer of [bound, ...).
  static std::int64_t first_integer(double bound) {
    if (!(bound >= -0x1p63 && bound < 0x1p63)) {
      throw Error(ErrorCode::invalid_argument, "random: bound out of range; got " +
                                                   std::to_string(bound) +
                                                   ", expected a number that i64 holds");
    }
    return static_cast<std::int64_t>(std::ceil(bound));
  }
  static DType dtype_for(const char* op, const TensorOptions& options) {
    return tensor_detail::dtype_for(op, options, K::kKind, K::kDefault);
  }
};

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
