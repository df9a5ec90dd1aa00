// Tensor<Rank, K>: an Array whose rank and kind the compiler checks.
//
//   Tensor<2> x = Tensor<2>::random({64, 3}, Normal(0, 1));
//   Tensor<1, Int> best = x.argmax(1).squeeze_dim(1);
//
// Methods carry Burn's names and meaning: binary methods take a tensor of the same rank (extents of
// 1 stretch) or a number, reductions over everything give Tensor<1> of one element, reductions over
// a dimension keep it with extent 1, negative dimensions count from the end. A rank or a kind that
// does not fit does not compile; extents and dtypes are checked when an op is recorded and throw
// hearth::Error, with the caller's line where a method was called by name: `site` is left to the
// compiler. A Tensor is a handle like Array: copies share, nothing runs until it is read.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/grad.h"
#include "hearth/indexing.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "hearth/tensor_methods.h"
#include "hearth/tensor_types.h"

namespace hearth {
inline namespace v0 {

template <int Rank, TensorKind K>
class [[nodiscard]] Tensor : public tensor_detail::Methods<Rank, K> {
  static_assert(Rank >= 1 && Rank <= kMaxRank, "a tensor has 1 to 8 dimensions");

 public:
  using Item = typename K::Item;
  using Lists = typename tensor_detail::NestedList<Item, Rank>::type;
  static constexpr int kRank = Rank;

  // No value: only assignment and destruction are allowed.
  Tensor() = default;
  // Throws Error{shape} or Error{dtype} when rank or kind differ.
  explicit Tensor(Array array, CallSite site = CallSite::here()) : array_(std::move(array)) {
    located(site, [&] { tensor_detail::check(array_, Rank, K::kKind); });
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  explicit Tensor(N) = delete;  // a list of one number is {3}; extents are those of zeros({3})
  // Nested lists: {{1, 2}, {3, 4}} for rank 2, in the kind's default dtype.
  Tensor(Lists lists, CallSite site = CallSite::here())  // NOLINT(google-explicit-constructor)
      : Tensor(from_data(lists, Device(), site)) {}

  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  template <class T>
  void operator=(const T&) & {
    static_assert(tensor_detail::kNever<T>,
                  "a variable keeps its rank and kind: declare another one, convert by float_() or "
                  "int_(), or wrap an Array by Tensor<R>(array)");
  }
  template <class T>
  void operator=(const T&) && {
    static_assert(tensor_detail::kNever<T>,
                  "x[i] = v changes a copy that is dropped at once: write x = x.set({i}, v)");
  }
  template <class T>
    requires std::same_as<T, bool>
  explicit operator T() const {
    static_assert(tensor_detail::kNever<T>,
                  "a tensor is not a condition: reduce it by any() or all() and read item()");
    return false;
  }

  const Array& array() const& noexcept { return array_; }
  Array array() && noexcept { return std::move(array_); }

  // ---- Creation

  static Tensor zeros(const Extents<Rank>& shape, const TensorOptions& options = {},
                      CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Tensor(hearth::zeros(shape.shape(), dtype_for("zeros", options), options.device));
    });
  }
  static Tensor ones(const Extents<Rank>& shape, const TensorOptions& options = {},
                     CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Tensor(hearth::ones(shape.shape(), dtype_for("ones", options), options.device));
    });
  }
  template <ScalarOf<K> N>
  static Tensor full(const Extents<Rank>& shape, N value, const TensorOptions& options = {},
                     CallSite site = CallSite::here()) {
    return located(site, [&] {
      return Tensor(hearth::full(shape.shape(), tensor_detail::scalar(value),
                                 dtype_for("full", options), options.device));
    });
  }
  Tensor zeros_like(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::zeros_like(array_)); });
  }
  Tensor ones_like(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::ones_like(array_)); });
  }
  template <ScalarOf<K> N>
  Tensor full_like(N value, CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Tensor(hearth::full_like(array_, tensor_detail::scalar(value))); });
  }
  // Float: Uniform, Normal or Bernoulli. Int: Uniform over the integers in [low, high) or
  // Bernoulli.
  static Tensor random(const Extents<Rank>& shape, const Distribution& distribution = Uniform(),
                       const TensorOptions& options = {}, Generator* source = nullptr,
                       CallSite site = CallSite::here())
    requires NumericKind<K>
  {
    return located(site, [&] {
      const DType dtype = dtype_for("random", options);
      const Shape extents = shape.shape();
      if (const auto* normal = std::get_if<Normal>(&distribution)) {
        return Tensor(
            random_normal(extents, normal->mean, normal->deviation, dtype, options.device, source));
      }
      if (const auto* bernoulli = std::get_if<Bernoulli>(&distribution)) {
        return Tensor(
            random_bernoulli(extents, bernoulli->probability, dtype, options.device, source));
      }
      const Uniform& uniform = std::get<Uniform>(distribution);
      if constexpr (std::same_as<K, Int>) {
        return Tensor(random_integers(extents, first_integer(uniform.low),
                                      first_integer(uniform.high), dtype, options.device, source));
      } else {
        return Tensor(
            random_uniform(extents, uniform.low, uniform.high, dtype, options.device, source));
      }
    });
  }
  // Row-major elements, kept in the dtype of T.
  template <class T>
    requires(tensor_detail::kKindOf<T> == K::kKind)
  static Tensor from_data(const std::vector<T>& data, const Extents<Rank>& shape,
                          Device device = Device(), CallSite site = CallSite::here()) {
    return located(site, [&] {
      if constexpr (std::same_as<T, bool>) {
        const std::vector<std::uint8_t> bytes(data.begin(), data.end());
        return Tensor(Array::from_bytes(std::as_bytes(std::span<const std::uint8_t>(bytes)),
                                        DType::bool_, shape.shape(), device));
      } else {
        return Tensor(Array::from_data(data, shape.shape(), device));
      }
    });
  }
  // Nested lists, {{1, 2}, {3, 4}} for rank 2: f32, i64 or bool.
  static Tensor from_data(typename tensor_detail::NestedList<typename K::Item, Rank>::type lists,
                          Device device = Device(), CallSite site = CallSite::here()) {
    return located(site, [&] {
      using Stored =
          std::conditional_t<std::same_as<K, Float>, float,
                             std::conditional_t<std::same_as<K, Int>, std::int64_t, std::uint8_t>>;
      std::vector<typename K::Item> items;
      ExtentArray<Rank> extents{};
      tensor_detail::flatten_list<Rank>(lists, extents.data(), true, items);
      const std::vector<Stored> stored(items.begin(), items.end());
      return Tensor(Array::from_bytes(std::as_bytes(std::span<const Stored>(stored)), K::kDefault,
                                      Shape(extents), device));
    });
  }
  static Tensor from_floats(typename tensor_detail::NestedList<double, Rank>::type lists,
                            Device device = Device(), CallSite site = CallSite::here())
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return from_data(lists, device); });
  }
  static Tensor from_ints(typename tensor_detail::NestedList<std::int64_t, Rank>::type lists,
                          Device device = Device(), CallSite site = CallSite::here())
    requires std::same_as<K, Int>
  {
    return located(site, [&] { return from_data(lists, device); });
  }
  static Tensor from_bool(typename tensor_detail::NestedList<bool, Rank>::type lists,
                          Device device = Device(), CallSite site = CallSite::here())
    requires std::same_as<K, Bool>
  {
    return located(site, [&] { return from_data(lists, device); });
  }
  static Tensor arange(std::int64_t start, std::int64_t end, const TensorOptions& options = {},
                       CallSite site = CallSite::here())
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return located(site, [&] { return arange_step(start, end, 1, options); });
  }
  static Tensor arange_step(std::int64_t start, std::int64_t end, std::int64_t step,
                            const TensorOptions& options = {}, CallSite site = CallSite::here())
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return located(site, [&] {
      return Tensor(hearth::arange(start, end, step, dtype_for("arange", options), options.device));
    });
  }
  static Tensor eye(std::int64_t size, const TensorOptions& options = {},
                    CallSite site = CallSite::here())
    requires(NumericKind<K> && Rank == 2)
  {
    return located(
        site, [&] { return Tensor(hearth::eye(size, dtype_for("eye", options), options.device)); });
  }
  // False on and above (below) the diagonal that is `offset` right of the main one: what mask_fill
  // would erase.
  static Tensor triu_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                          Device device = Device(), CallSite site = CallSite::here())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return located(site, [&] {
      return Tensor(hearth::triu_mask(shape.values[0], shape.values[1], offset, device));
    });
  }
  static Tensor tril_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                          Device device = Device(), CallSite site = CallSite::here())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return located(site, [&] {
      return Tensor(hearth::tril_mask(shape.values[0], shape.values[1], offset, device));
    });
  }

  // ---- Facts and data

  static constexpr int rank() noexcept { return Rank; }
  ExtentArray<Rank> dims() const {
    ExtentArray<Rank> out;
    for (int i = 0; i < Rank; ++i) out[static_cast<std::size_t>(i)] = array_.shape()[i];
    return out;
  }
  const Shape& shape() const { return array_.shape(); }
  DType dtype() const { return array_.dtype(); }
  Device device() const { return array_.device(); }
  bool defined() const noexcept { return array_.defined(); }
  Tensor to_device(Device device, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::to_device(array_, device)); });
  }
  Tensor to(Device device, CallSite site = CallSite::here()) const {
    return located(site, [&] { return to_device(device); });
  }
  // To a dtype of the same kind; float_(), int_() and bool_() change the kind.
  Tensor to(DType dtype, CallSite site = CallSite::here()) const {
    return located(site, [&] { return cast(dtype); });
  }
  const Tensor& eval() const& {
    array_.eval();
    return *this;
  }
  Tensor eval() && {
    array_.eval();
    return std::move(*this);
  }
  // Row-major elements; T must store the tensor's dtype.
  template <class T>
  std::vector<T> to_data(CallSite site = CallSite::here()) const {
    return located(site, [&] { return array_.template to_vector<T>(); });
  }
  // The same to read, without a copy where there need not be one.
  template <class T>
  HostView<const T> host_view(CallSite site = CallSite::here()) const {
    return located(site, [&] { return array_.template host_view<T>(); });
  }
  // The only element. Throws Error{shape} where there are more or none.
  Item into_scalar(CallSite site = CallSite::here()) const {
    return located(site, [&] { return array_.template item<Item>(); });
  }
  Item item(CallSite site = CallSite::here()) const {
    return located(site, [&] { return into_scalar(); });
  }

  // ---- Kinds and dtypes

  Tensor cast(DType dtype, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(hearth::cast(array_, dtype_for("cast", TensorOptions(dtype))));
    });
  }
  Tensor<Rank, Float> float_(DType dtype = DType::f32, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Rank, Float>(hearth::cast(array_, dtype)); });
  }
  Tensor<Rank, Int> int_(DType dtype = DType::i64, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Rank, Int>(hearth::cast(array_, dtype)); });
  }
  Tensor<Rank, Bool> bool_(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Rank, Bool>(hearth::cast(array_, DType::bool_)); });
  }

  // ---- Arithmetic

#define HEARTH_TENSOR_COMPOUND(symbol)                                                  \
  Tensor& operator symbol##=(const auto& other)& { return *this = *this symbol other; } \
  template <class T>                                                                    \
  void operator symbol##=(const T&)&& {                                                 \
    static_assert(tensor_detail::kNever<T>,                                             \
                  "this changes a copy that is dropped at once: of a part, write "      \
                  "x = x.set({i}, x[i] " #symbol " v)");                                \
  }
  HEARTH_TENSOR_COMPOUND(+)
  HEARTH_TENSOR_COMPOUND(-)
  HEARTH_TENSOR_COMPOUND(*)
  HEARTH_TENSOR_COMPOUND(/)
  HEARTH_TENSOR_COMPOUND(%)
  HEARTH_TENSOR_COMPOUND(&)
  HEARTH_TENSOR_COMPOUND(|)
  HEARTH_TENSOR_COMPOUND(^)
#undef HEARTH_TENSOR_COMPOUND

  // To the power of whole numbers; powf() takes any.
  Tensor powi(const Tensor& exponent, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor(hearth::pow(array_, exponent.array_)); });
  }
  template <std::integral N>
    requires NumericKind<K>
  Tensor powi(N exponent, CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Tensor(hearth::pow(array_, tensor_detail::scalar(exponent))); });
  }
  template <std::floating_point N>
  Tensor powi(N exponent) const = delete;  // powf() takes fractions
  template <std::integral N>
    requires NumericKind<K>
  Tensor powi_scalar(N exponent, CallSite site = CallSite::here()) const {
    return located(site, [&] { return powi(exponent); });
  }

  Tensor powf(const Tensor& exponent, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::pow(array_, exponent.array_)); });
  }
  Tensor powf(double exponent, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return powf_scalar(exponent); });
  }
  Tensor powf_scalar(double exponent, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::pow(array_, exponent)); });
  }

  template <ScalarOf<K> Low, ScalarOf<K> High>
    requires NumericKind<K>
  Tensor clamp(Low low, High high, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(hearth::clamp(array_, tensor_detail::scalar(low), tensor_detail::scalar(high)));
    });
  }
  template <ScalarOf<K> N>
    requires NumericKind<K>
  Tensor clamp_min(N low, CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Tensor(hearth::clamp_min(array_, tensor_detail::scalar(low))); });
  }
  template <ScalarOf<K> N>
    requires NumericKind<K>
  Tensor clamp_max(N high, CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return Tensor(hearth::clamp_max(array_, tensor_detail::scalar(high))); });
  }
  // This + (other - this) * t.
  Tensor lerp(const Tensor& other, double t, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::lerp(array_, other.array_, t)); });
  }
  Tensor lerp(const Tensor& other, const Tensor& t, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::lerp(array_, other.array_, t.array_)); });
  }
  // By tanh; gelu() is by erf.
  Tensor gelu_approximate(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::gelu(array_, true)); });
  }
  // [.., m, k] x [.., k, n] = [.., m, n]; leading extents of 1 stretch.
  Tensor matmul(const Tensor& other, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return located(site, [&] { return Tensor(hearth::matmul(array_, other.array_)); });
  }
  Tensor<1, K> dot(const Tensor& other, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank == 1)
  {
    return located_as("dot", site, [&] { return this->mul(other).sum(); });
  }
  // The other triangle becomes 0.
  Tensor triu(std::int64_t diagonal = 0, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return located(site, [&] { return Tensor(hearth::triu(array_, diagonal)); });
  }
  Tensor tril(std::int64_t diagonal = 0, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return located(site, [&] { return Tensor(hearth::tril(array_, diagonal)); });
  }

  // ---- Comparison and logic

  // `value` where the mask is true, this tensor elsewhere: mask and value broadcast to its shape.
  Tensor mask_where(const Tensor<Rank, Bool>& mask, const Tensor& value,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(tensor_detail::set_where("mask_where", array_, mask.array(), value.array_));
    });
  }
  template <ScalarOf<K> N>
  Tensor mask_fill(const Tensor<Rank, Bool>& mask, N value,
                   CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(tensor_detail::set_where("mask_fill", array_, mask.array(),
                                             tensor_detail::scalar(value)));
    });
  }

  // ---- Reductions

  // Of integers: an integer, the quotient without its fraction.
  Tensor<1, K> mean(CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor<1, K>(hearth::reshape(hearth::mean(array_), {1})); });
  }
  template <std::integral D>
  Tensor<1, K> mean(D) const {
    static_assert(tensor_detail::kNever<D>,
                  "mean() is over everything: write mean_dim(1) or mean_dims({0, 1})");
    return {};
  }
  template <class D>
  Tensor<1, K> mean(std::initializer_list<D>) const {
    return mean(0);
  }
  Tensor mean_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor(hearth::mean(array_, {dim}, true)); });
  }
  Tensor mean_dims(const Dims& dims, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor(hearth::mean(array_, dims, true)); });
  }

  // Over the whole tensor, or over `dim`, which stays with extent 1: divided by count - correction.
  Tensor<1, K> var(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor<1, K>(hearth::reshape(hearth::var(array_), {1})); });
  }
  Tensor var(std::int64_t dim, std::int64_t correction = 1, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::var(array_, {dim}, true, correction)); });
  }
  Tensor<1, K> std(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor<1, K>(hearth::reshape(hearth::std(array_), {1})); });
  }
  Tensor std(std::int64_t dim, std::int64_t correction = 1, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::std(array_, {dim}, true, correction)); });
  }

  // The largest (smallest) along `dim` and where it is; the lowest index of equals.
  std::pair<Tensor, Tensor<Rank, Int>> max_dim_with_indices(std::int64_t dim,
                                                            CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] {
      auto [values, indices] = hearth::max_with_indices(array_, dim, true);
      return std::pair(Tensor(std::move(values)), Tensor<Rank, Int>(std::move(indices)));
    });
  }
  std::pair<Tensor, Tensor<Rank, Int>> min_dim_with_indices(std::int64_t dim,
                                                            CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] {
      auto [values, indices] = hearth::min_with_indices(array_, dim, true);
      return std::pair(Tensor(std::move(values)), Tensor<Rank, Int>(std::move(indices)));
    });
  }
  Tensor<Rank, Int> argmax(std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor<Rank, Int>(hearth::argmax(array_, dim, true)); });
  }
  Tensor<Rank, Int> argmin(std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return Tensor<Rank, Int>(hearth::argmin(array_, dim, true)); });
  }

  Tensor softmax(std::int64_t dim, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::softmax(array_, dim)); });
  }
  Tensor log_softmax(std::int64_t dim, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::log_softmax(array_, dim)); });
  }
  Tensor logsumexp(std::int64_t dim, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(hearth::logsumexp(array_, dim, true)); });
  }

  // ---- Shape

  // The result's rank is the number of extents: reshape({2, -1}); one may be -1.
  template <std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const std::int64_t (&extents)[R],
                                         CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<static_cast<int>(R), K>(hearth::reshape(array_, Shape(extents, R)));
    });
  }
  template <std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const std::array<std::int64_t, R>& extents,
                                         CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<static_cast<int>(R), K>(hearth::reshape(array_, Shape(extents)));
    });
  }
  template <std::integral... I>
  Tensor<static_cast<int>(sizeof...(I)) + 1, K> reshape(LocatedExtent first, I... others) const {
    return reshape({first.value, static_cast<std::int64_t>(others)...}, first.site);
  }
  // Stretches extents of 1 and adds dimensions in front; -1 keeps an extent.
  template <std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const std::int64_t (&extents)[R],
                                        CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<static_cast<int>(R), K>(hearth::expand(array_, Shape(extents, R)));
    });
  }
  template <std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const std::array<std::int64_t, R>& extents,
                                        CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<static_cast<int>(R), K>(hearth::expand(array_, Shape(extents)));
    });
  }
  // Swaps the last two dimensions.
  Tensor transpose(CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located(site, [&] { return Tensor(hearth::transpose(array_)); });
  }
  Tensor t(CallSite site = CallSite::here()) const
    requires(Rank == 2)
  {
    return located(site, [&] { return transpose(); });
  }
  Tensor swap_dims(std::int64_t a, std::int64_t b, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::swap_axes(array_, a, b)); });
  }
  Tensor permute(const Extents<Rank>& axes, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::permute(array_, axes.shape())); });
  }
  Tensor flip(const Dims& dims, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::flip(array_, dims)); });
  }
  // Merges dimensions first..last, both included, into one; R says how many are left.
  template <int R>
    requires(R <= Rank)
  Tensor<R, K> flatten(std::int64_t first, std::int64_t last,
                       CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R, K>(hearth::flatten(array_, first, last)); });
  }
  // Drops all dimensions of extent 1; R are left.
  template <int R>
    requires(R <= Rank)
  Tensor<R, K> squeeze(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R, K>(hearth::squeeze(array_)); });
  }
  Tensor<Rank - 1, K> squeeze(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located(site, [&] { return squeeze_dim(dim); });
  }
  Tensor<Rank - 1, K> squeeze_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located(site, [&] { return Tensor<Rank - 1, K>(hearth::squeeze(array_, {dim})); });
  }
  template <int R>
    requires(R < Rank)
  Tensor<R, K> squeeze_dims(const Dims& dims, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R, K>(hearth::squeeze(array_, dims)); });
  }
  // Adds dimensions of extent 1 in front until there are R.
  template <int R>
    requires(R >= Rank)
  Tensor<R, K> unsqueeze(CallSite site = CallSite::here()) const {
    return located(site, [&] {
      Shape extents = Shape::filled(R, 1);
      for (int i = 0; i < Rank; ++i) extents[R - Rank + i] = array_.shape()[i];
      return Tensor<R, K>(hearth::reshape(array_, extents));
    });
  }
  Tensor<Rank + 1, K> unsqueeze_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank < kMaxRank)
  {
    return located(site, [&] { return Tensor<Rank + 1, K>(hearth::unsqueeze(array_, {dim})); });
  }
  template <int R>
    requires(R > Rank)
  Tensor<R, K> unsqueeze_dims(const Dims& dims, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R, K>(hearth::unsqueeze(array_, dims)); });
  }
  Tensor repeat_dim(std::int64_t dim, std::int64_t times, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      Dims repeats = Dims::filled(Rank, 1);
      repeats[normalize_axis("repeat_dim", dim, Rank)] = times;
      return Tensor(hearth::repeat(array_, repeats));
    });
  }
  Tensor repeat(const Extents<Rank>& times, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::repeat(array_, times.shape())); });
  }

  // The same value, dense and row-major.
  Tensor contiguous(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::contiguous(array_)); });
  }

  // ---- Parts

  // x[i]: element i of the first axis, which goes; of rank 1 a tensor of one element. Negative
  // positions count from the end; Error{invalid_argument} where there is no such element.
  template <std::integral I>
  Tensor<(Rank > 1 ? Rank - 1 : 1), K> operator[](I position) const {
    const IndexWord word(position);
    if constexpr (Rank > 1) {
      return Tensor<Rank - 1, K>(hearth::index(array_, {word}));
    } else {
      return Tensor(hearth::index(array_, {word, new_axis}));
    }
  }
  // x[from(1)], x[range(0, 8, 2)]: a part of the first axis.
  Tensor operator[](const Slice& part) const { return Tensor(hearth::index(array_, {part})); }
  // The elements of the first axis that `positions` name, which are not counted from the end.
  Tensor operator[](const Tensor<1, Int>& positions) const { return select(0, positions); }
  // The same of a list, x[{2, 0, -1}], where negative ones are counted from the end.
  template <std::integral I, std::size_t N>
    requires(!std::same_as<I, bool>)
  Tensor operator[](const I (&positions)[N]) const {
    return Tensor(tensor_detail::elements(array_, listed(positions)));
  }
  template <int R>
  Tensor operator[](const Tensor<R, Bool>&) const {
    static_assert(R < 0,
                  "a mask picks a number of elements that only its values tell: write "
                  "x.set(mask, v) or mask_where(), or reduce");
    return *this;
  }
  // Words of indexing.h, one for each leading axis: x.slice(at(0), from(2), new_axis). Where no
  // axis is left the result is a tensor of one element.
  template <class... W>
    requires(sizeof...(W) > 0 && (std::convertible_to<W, IndexWord> && ...))
  auto slice(W... words) const {
    constexpr int kLeft = Rank + (kRankChange<W> + ...);
    static_assert(kLeft >= 0, "more words than the tensor has dimensions");
    if constexpr (kLeft < 0) {
      return *this;
    } else if constexpr (kLeft == 0) {
      return Tensor<1, K>(hearth::index(array_, {IndexWord(words)..., new_axis}));
    } else {
      return Tensor<kLeft, K>(hearth::index(array_, {IndexWord(words)...}));
    }
  }
  // This tensor with `value`, which broadcasts, in the part that the words name.
  // x = x.set({at(0), from(2)}, y) reuses x's memory where nothing else holds it.
  template <int R>
    requires(R <= Rank)
  Tensor set(std::initializer_list<IndexWord> words, const Tensor<R, K>& value,
             CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(tensor_detail::set(array_, words, value.array())); });
  }
  template <ScalarOf<K> N>
  Tensor set(std::initializer_list<IndexWord> words, N value,
             CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(tensor_detail::set(array_, words, tensor_detail::scalar(value)));
    });
  }
  // x.set({{2, 0, -1}}, value): in the elements of the first axis at a list of positions, one after
  // the other.
  template <std::integral I, std::size_t Lists, std::size_t N, int R>
    requires(!std::same_as<I, bool> && R <= Rank)
  Tensor set(const I (&positions)[Lists][N], const Tensor<R, K>& value,
             CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(tensor_detail::set(array_, only_list(positions), value.array()));
    });
  }
  template <std::integral I, std::size_t Lists, std::size_t N, ScalarOf<K> Number>
    requires(!std::same_as<I, bool>)
  Tensor set(const I (&positions)[Lists][N], Number value, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(tensor_detail::set(array_, only_list(positions), tensor_detail::scalar(value)));
    });
  }
  // Where a mask is true: mask and value broadcast to the shape of this tensor.
  Tensor set(const Tensor<Rank, Bool>& mask, const Tensor& value,
             CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(tensor_detail::set_where("set", array_, mask.array(), value.array_));
    });
  }
  template <ScalarOf<K> N>
  Tensor set(const Tensor<Rank, Bool>& mask, N value, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(
          tensor_detail::set_where("set", array_, mask.array(), tensor_detail::scalar(value)));
    });
  }
  template <int R, class Value>
  Tensor set(const Tensor<R, Int>&, const Value&) const {
    static_assert(tensor_detail::kNever<Value>,
                  "set() takes words, a list of positions such as {{2, 0}}, or a mask: "
                  "select_assign() adds at the positions of a tensor");
    return *this;
  }
  // Over the first axis: for (const auto& row : x).
  auto begin() const { return tensor_detail::Elements<Tensor>{*this, 0}; }
  auto end() const { return tensor_detail::Elements<Tensor>{*this, array_.shape()[0]}; }

  // One Slice for each leading dimension: slice({{0, 2}, {1, std::nullopt, 2}}).
  template <std::size_t N>
    requires(N <= Rank)
  Tensor slice(const Slice (&slices)[N], CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(hearth::slice(array_, std::vector<Slice>(slices, slices + N)));
    });
  }
  Tensor slice_dim(std::int64_t dim, const Slice& part, CallSite site = CallSite::here()) const {
    return located(
        site, [&] { return Tensor(hearth::slice(array_, only_along("slice_dim", dim, part))); });
  }
  template <std::size_t N>
    requires(N <= Rank)
  Tensor slice_assign(const Slice (&slices)[N], const Tensor& value,
                      CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(
          hearth::slice_assign(array_, std::vector<Slice>(slices, slices + N), value.array_));
    });
  }
  template <std::size_t N, ScalarOf<K> Number>
    requires(N <= Rank)
  Tensor slice_fill(const Slice (&slices)[N], Number value,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(hearth::slice_assign(array_, std::vector<Slice>(slices, slices + N),
                                         tensor_detail::scalar(value)));
    });
  }
  // `length` elements of `dim` from `start`.
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length,
                CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::narrow(array_, dim, start, length)); });
  }
  // `count` parts of nearly one size; split: parts of `size`, the last may be smaller.
  std::vector<Tensor> chunk(std::int64_t count, std::int64_t dim,
                            CallSite site = CallSite::here()) const {
    return located(site, [&] { return typed(hearth::chunk(array_, count, dim)); });
  }
  std::vector<Tensor> split(std::int64_t size, std::int64_t dim,
                            CallSite site = CallSite::here()) const {
    return located(site, [&] {
      if (size < 1) {
        throw Error(ErrorCode::invalid_argument, "split: size of a part is not positive; got " +
                                                     std::to_string(size) + ", expected >= 1");
      }
      const std::int64_t extent = array_.shape(normalize_axis("split", dim, Rank));
      std::vector<std::int64_t> sizes;
      for (std::int64_t at = 0; at < extent; at += size) {
        sizes.push_back(extent - at < size ? extent - at : size);
      }
      return typed(hearth::split(array_, sizes, dim));
    });
  }
  std::vector<Tensor> split_with_sizes(const std::vector<std::int64_t>& sizes, std::int64_t dim,
                                       CallSite site = CallSite::here()) const {
    return located(site, [&] { return typed(hearth::split(array_, sizes, dim)); });
  }
  static Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim,
                    CallSite site = CallSite::here()) {
    return located(site, [&] { return Tensor(hearth::cat(erased(tensors), dim)); });
  }
  // Joins along a new dimension at `dim` of the result.
  static Tensor<Rank + 1, K> stack(const std::vector<Tensor>& tensors, std::int64_t dim,
                                   CallSite site = CallSite::here())
    requires(Rank < kMaxRank)
  {
    return located(site, [&] { return Tensor<Rank + 1, K>(hearth::stack(erased(tensors), dim)); });
  }

  // ---- Indexing

  Tensor gather(std::int64_t dim, const Tensor<Rank, Int>& indices,
                CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::gather(array_, indices.array(), dim)); });
  }
  // Adds `values` at `indices` along `dim`, in order (Bool: or).
  Tensor scatter(std::int64_t dim, const Tensor<Rank, Int>& indices, const Tensor& values,
                 CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(hearth::scatter_add(array_, indices.array(), values.array_, dim));
    });
  }
  Tensor select(std::int64_t dim, const Tensor<1, Int>& indices,
                CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(hearth::select(array_, indices.array(), dim)); });
  }
  // Adds slice i of `values` to slice indices[i] along `dim`, in order (Bool: or).
  Tensor select_assign(std::int64_t dim, const Tensor<1, Int>& indices, const Tensor& values,
                       CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor(hearth::select_add(array_, indices.array(), values.array_, dim));
    });
  }
  // 1 at the index, 0 elsewhere, in a new last dimension of `classes`.
  Tensor<Rank + 1, K> one_hot(std::int64_t classes, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank < kMaxRank)
  {
    return located_as("one_hot", site, [&] {
      return Tensor<Rank + 1, K>(
          hearth::one_hot(hearth::cast(array_, DType::i64), classes, array_.dtype()));
    });
  }

  // ---- Differentiation

  // Marks a leaf; see Array::require_grad.
  Tensor require_grad(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return Tensor(array_.require_grad()); });
  }
  Tensor set_require_grad(bool required, CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return required ? require_grad() : detach(); });
  }
  bool is_require_grad() const noexcept { return array_.is_require_grad(); }
  Tensor detach(CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor(array_.detach()); });
  }
  // Gradients of this tensor's one element with respect to all leaves.
  [[nodiscard]] Gradients backward(const BackwardOptions& options = {},
                                   CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(site, [&] { return hearth::backward(array_, options); });
  }
  // This leaf's gradient, if the differentiated value depends on it; gradients.at(w) throws where
  // it does not.
  std::optional<Tensor> grad(const Gradients& gradients) const
    requires std::same_as<K, Float>
  {
    return present(gradients.get(array_));
  }
  std::optional<Tensor> grad_remove(Gradients& gradients) const
    requires std::same_as<K, Float>
  {
    return present(gradients.take(array_));
  }
  void grad_replace(Gradients& gradients, const Tensor& gradient) const
    requires std::same_as<K, Float>
  {
    gradients.set(array_, gradient.array_);
  }
  // Takes the value of `value`, which has this shape, but stays the leaf that it is: how a
  // parameter is updated. Throws Error{shape} or Error{dtype} for another shape or dtype.
  void assign(const Tensor& value, CallSite site = CallSite::here()) {
    located(site, [&] {
      if (array_.is_require_grad() && gradient_id(array_) == 0) {
        throw Error(
            ErrorCode::invalid_argument,
            "assign: not a leaf; got a tensor with a history, expected one of require_grad(), "
            "or one that detach() gave");
      }
      if (value.device() != device()) {
        throw Error(ErrorCode::device, "assign: another device; got " + value.device().name() +
                                           ", expected " + device().name());
      }
      if (value.shape() != shape() || value.dtype() != dtype()) {
        throw Error(value.shape() != shape() ? ErrorCode::shape : ErrorCode::dtype,
                    "assign: another type; got " + std::string(name(value.dtype())) + " " +
                        to_string(value.shape()) + ", expected " + std::string(name(dtype())) +
                        " " + to_string(shape()));
      }
      array_.assign(value.array_);
    });
  }
  // The value without its history; from_inner is its inverse.
  Tensor inner() const { return detach(); }
  static Tensor from_inner(const Tensor& tensor) { return tensor; }

 private:
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
  static std::vector<Slice> only_along(const char* op, std::int64_t dim, const Slice& part) {
    std::vector<Slice> slices(static_cast<std::size_t>(normalize_axis(op, dim, Rank)) + 1);
    slices.back() = part;
    return slices;
  }
  template <class I, std::size_t N>
  static std::array<std::int64_t, N> listed(const I (&positions)[N]) {
    std::array<std::int64_t, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::int64_t>(positions[i]);
    return out;
  }
  template <class I, std::size_t Lists, std::size_t N>
  static auto only_list(const I (&positions)[Lists][N]) {
    static_assert(Lists == 1,
                  "set() takes one list of positions, those along the first axis; a mask is a "
                  "tensor of bool, made by a comparison or of lists of true and false");
    return listed(positions[0]);
  }
  static std::vector<Tensor> typed(std::vector<Array> arrays) {
    std::vector<Tensor> out;
    out.reserve(arrays.size());
    for (Array& array : arrays) out.emplace_back(std::move(array));
    return out;
  }
  static std::vector<Array> erased(const std::vector<Tensor>& tensors) {
    std::vector<Array> out;
    out.reserve(tensors.size());
    for (const Tensor& tensor : tensors) out.push_back(tensor.array_);
    return out;
  }
  static std::optional<Tensor> present(Array array) {
    if (!array.defined()) return std::nullopt;
    return Tensor(std::move(array));
  }

  template <int, TensorKind>
  friend class tensor_detail::Methods;
  friend struct tensor_detail::Access;
  // Of a value whose rank and kind are known to be right.
  Tensor(Array array, tensor_detail::Unchecked) noexcept : array_(std::move(array)) {}

  Array array_;
};

// Evaluates.
template <int Rank, TensorKind K>
std::ostream& operator<<(std::ostream& out, const Tensor<Rank, K>& tensor) {
  return out << tensor.array();
}

}  // namespace v0
}  // namespace hearth

#include "hearth/tensor_functions.h"
#include "hearth/tensor_operators.h"
