// Tensor<Rank, K>: an Array whose rank and kind the compiler checks.
//
//   Tensor<2> x = Tensor<2>::random({64, 3}, Normal(0, 1));
//   Tensor<1, Int> best = x.argmax(1).squeeze_dim(1);
//
// Methods carry Burn's names and meaning: binary methods take a tensor of the same rank (extents of
// 1 stretch) or a number, reductions over everything give Tensor<1> of one element, reductions over
// a dimension keep it with extent 1, negative dimensions count from the end. A rank or a kind that
// does not fit does not compile; extents and dtypes are checked when an op is recorded and throw
// hearth::Error. A Tensor is a handle like Array: copies share, nothing runs until it is read.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/array.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/random.h"

namespace hearth {
inline namespace v0 {

// The kinds of tensor.
struct Float {
  using Item = double;
  static constexpr Kind kKind = Kind::float_;
  static constexpr DType kDefault = DType::f32;
};
struct Int {
  using Item = std::int64_t;
  static constexpr Kind kKind = Kind::int_;
  static constexpr DType kDefault = DType::i64;
};
struct Bool {
  using Item = bool;
  static constexpr Kind kKind = Kind::bool_;
  static constexpr DType kDefault = DType::bool_;
};

template <class K>
concept TensorKind = std::same_as<K, Float> || std::same_as<K, Int> || std::same_as<K, Bool>;
template <class K>
concept NumericKind = std::same_as<K, Float> || std::same_as<K, Int>;

// A number that may stand beside a tensor of kind K: a fraction beside Int does not compile.
template <class T, class K>
concept ScalarOf = std::is_arithmetic_v<T> && (std::same_as<T, bool> == std::same_as<K, Bool>) &&
                   (!std::same_as<K, Int> || std::integral<T>);

// How random() draws.
struct Uniform {
  explicit Uniform(double from = 0, double to = 1) : low(from), high(to) {}
  double low, high;  // [low, high)
};
struct Normal {
  explicit Normal(double center = 0, double spread = 1) : mean(center), deviation(spread) {}
  double mean, deviation;
};
struct Bernoulli {
  explicit Bernoulli(double chance = 0.5) : probability(chance) {}
  double probability;
};
using Distribution = std::variant<Uniform, Normal, Bernoulli>;

template <int Rank>
using ExtentArray = std::array<std::int64_t, static_cast<std::size_t>(Rank)>;

// Exactly Rank extents: {2, 3} for a Tensor<2>.
template <int Rank>
struct Extents {
  template <class... I>
    requires(sizeof...(I) == Rank && (std::convertible_to<I, std::int64_t> && ...))
  Extents(I... extents) : values{static_cast<std::int64_t>(extents)...} {}  // NOLINT
  Extents(const ExtentArray<Rank>& extents) : values(extents) {}            // NOLINT
  Shape shape() const { return Shape(values); }

  ExtentArray<Rank> values;
};

// Where a tensor is made and in which dtype; the default is the kind's (f32, i64, bool).
struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(DType type) : dtype(type) {}      // NOLINT(google-explicit-constructor)
  TensorOptions(Device place) : device(place) {}  // NOLINT(google-explicit-constructor)
  TensorOptions(DType type, Device place) : dtype(type), device(place) {}

  std::optional<DType> dtype;
  Device device;
};

namespace tensor_detail {

template <class T, int Rank>
struct NestedList {
  using type = std::initializer_list<typename NestedList<T, Rank - 1>::type>;
};
template <class T>
struct NestedList<T, 1> {
  using type = std::initializer_list<T>;
};

// Appends the values of nested lists; `extents` is filled on the way. Throws on ragged lists.
template <int Rank, class T, class List>
void flatten_list(const List& list, std::int64_t* extents, bool first, std::vector<T>& out) {
  const auto count = static_cast<std::int64_t>(list.size());
  if (first) *extents = count;
  if (*extents != count) {
    throw Error(ErrorCode::shape, "from_data: lists of different lengths; got " +
                                      std::to_string(count) + ", expected " +
                                      std::to_string(*extents));
  }
  if constexpr (Rank == 1) {
    out.insert(out.end(), list.begin(), list.end());
  } else {
    bool head = first;
    for (const auto& part : list) {
      flatten_list<Rank - 1, T>(part, extents + 1, head, out);
      head = false;
    }
  }
}

template <class T>
inline constexpr Kind kKindOf = std::same_as<T, bool> ? Kind::bool_
                                : std::integral<T>    ? Kind::int_
                                                      : Kind::float_;

template <class N>
Array scalar(N value) {
  if constexpr (std::same_as<N, bool>) {
    return Array(value);
  } else if constexpr (std::integral<N>) {
    return Array(static_cast<std::int64_t>(value));
  } else {
    return Array(static_cast<double>(value));
  }
}

inline void check(const Array& array, int rank, Kind wanted) {
  constexpr const char* kNames[] = {"a float", "an integer", "bool"};
  if (array.rank() != rank) {
    throw Error(ErrorCode::shape, "tensor: wrong rank; got " + to_string(array.shape()) +
                                      ", expected rank " + std::to_string(rank));
  }
  if (kind(array.dtype()) != wanted) {
    throw Error(ErrorCode::dtype, "tensor: wrong kind; got " + std::string(name(array.dtype())) +
                                      ", expected " + kNames[static_cast<int>(wanted)] + " dtype");
  }
}

inline DType dtype_for(const char* op, const TensorOptions& options, Kind wanted, DType fallback) {
  const DType dtype = options.dtype.value_or(fallback);
  if (kind(dtype) != wanted) {
    throw Error(ErrorCode::dtype, std::string(op) + ": dtype of another kind; got " +
                                      std::string(name(dtype)) + ", expected one like " +
                                      std::string(name(fallback)));
  }
  return dtype;
}

}  // namespace tensor_detail

template <int Rank, TensorKind K = Float>
class Tensor {
  static_assert(Rank >= 1 && Rank <= kMaxRank, "a tensor has 1 to 8 dimensions");

 public:
  using Item = typename K::Item;
  static constexpr int kRank = Rank;

  // No value: only assignment and destruction are allowed.
  Tensor() = default;
  // Throws Error{shape} or Error{dtype} when rank or kind differ.
  explicit Tensor(Array array) : array_(std::move(array)) {
    tensor_detail::check(array_, Rank, K::kKind);
  }

  const Array& array() const& noexcept { return array_; }
  Array array() && noexcept { return std::move(array_); }

  // ---- Creation

  static Tensor zeros(const Extents<Rank>& shape, const TensorOptions& options = {}) {
    return Tensor(hearth::zeros(shape.shape(), dtype_for("zeros", options), options.device));
  }
  static Tensor ones(const Extents<Rank>& shape, const TensorOptions& options = {}) {
    return Tensor(hearth::ones(shape.shape(), dtype_for("ones", options), options.device));
  }
  template <ScalarOf<K> N>
  static Tensor full(const Extents<Rank>& shape, N value, const TensorOptions& options = {}) {
    return Tensor(hearth::full(shape.shape(), tensor_detail::scalar(value),
                               dtype_for("full", options), options.device));
  }
  Tensor zeros_like() const { return Tensor(hearth::zeros_like(array_)); }
  Tensor ones_like() const { return Tensor(hearth::ones_like(array_)); }
  template <ScalarOf<K> N>
  Tensor full_like(N value) const {
    return Tensor(hearth::full_like(array_, tensor_detail::scalar(value)));
  }
  // Float: Uniform, Normal or Bernoulli. Int: Uniform over the integers in [low, high) or
  // Bernoulli.
  static Tensor random(const Extents<Rank>& shape, const Distribution& distribution = Uniform(),
                       const TensorOptions& options = {}, Generator* source = nullptr)
    requires NumericKind<K>
  {
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
  }
  // Row-major elements, kept in the dtype of T.
  template <class T>
    requires(tensor_detail::kKindOf<T> == K::kKind)
  static Tensor from_data(const std::vector<T>& data, const Extents<Rank>& shape,
                          Device device = Device()) {
    if constexpr (std::same_as<T, bool>) {
      const std::vector<std::uint8_t> bytes(data.begin(), data.end());
      return Tensor(Array::from_bytes(std::as_bytes(std::span<const std::uint8_t>(bytes)),
                                      DType::bool_, shape.shape(), device));
    } else {
      return Tensor(Array::from_data(data, shape.shape(), device));
    }
  }
  // Nested lists, {{1, 2}, {3, 4}} for rank 2: f32, i64 or bool.
  static Tensor from_data(typename tensor_detail::NestedList<typename K::Item, Rank>::type lists,
                          Device device = Device()) {
    using Stored =
        std::conditional_t<std::same_as<K, Float>, float,
                           std::conditional_t<std::same_as<K, Int>, std::int64_t, std::uint8_t>>;
    std::vector<typename K::Item> items;
    ExtentArray<Rank> extents{};
    tensor_detail::flatten_list<Rank>(lists, extents.data(), true, items);
    const std::vector<Stored> stored(items.begin(), items.end());
    return Tensor(Array::from_bytes(std::as_bytes(std::span<const Stored>(stored)), K::kDefault,
                                    Shape(extents), device));
  }
  static Tensor from_floats(typename tensor_detail::NestedList<double, Rank>::type lists,
                            Device device = Device())
    requires std::same_as<K, Float>
  {
    return from_data(lists, device);
  }
  static Tensor from_ints(typename tensor_detail::NestedList<std::int64_t, Rank>::type lists,
                          Device device = Device())
    requires std::same_as<K, Int>
  {
    return from_data(lists, device);
  }
  static Tensor from_bool(typename tensor_detail::NestedList<bool, Rank>::type lists,
                          Device device = Device())
    requires std::same_as<K, Bool>
  {
    return from_data(lists, device);
  }
  static Tensor arange(std::int64_t start, std::int64_t end, const TensorOptions& options = {})
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return arange_step(start, end, 1, options);
  }
  static Tensor arange_step(std::int64_t start, std::int64_t end, std::int64_t step,
                            const TensorOptions& options = {})
    requires(std::same_as<K, Int> && Rank == 1)
  {
    return Tensor(hearth::arange(start, end, step, dtype_for("arange", options), options.device));
  }
  static Tensor eye(std::int64_t size, const TensorOptions& options = {})
    requires(NumericKind<K> && Rank == 2)
  {
    return Tensor(hearth::eye(size, dtype_for("eye", options), options.device));
  }
  // False on and above (below) the diagonal that is `offset` right of the main one: what mask_fill
  // would erase.
  static Tensor triu_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                          Device device = Device())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return Tensor(hearth::triu_mask(shape.values[0], shape.values[1], offset, device));
  }
  static Tensor tril_mask(const Extents<Rank>& shape, std::int64_t offset = 0,
                          Device device = Device())
    requires(std::same_as<K, Bool> && Rank == 2)
  {
    return Tensor(hearth::tril_mask(shape.values[0], shape.values[1], offset, device));
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
  Tensor to_device(Device device) const { return Tensor(hearth::to_device(array_, device)); }
  const Tensor& eval() const {
    array_.eval();
    return *this;
  }
  // Row-major elements; T must store the tensor's dtype.
  template <class T>
  std::vector<T> to_data() const {
    return array_.template to_vector<T>();
  }
  // The same to read, without a copy where there need not be one.
  template <class T>
  HostView<const T> host_view() const {
    return array_.template host_view<T>();
  }
  // The only element. Throws Error{shape} where there are more or none.
  Item into_scalar() const { return array_.template item<Item>(); }
  Item item() const { return into_scalar(); }

  // ---- Kinds and dtypes

  Tensor cast(DType dtype) const {
    return Tensor(hearth::cast(array_, dtype_for("cast", TensorOptions(dtype))));
  }
  Tensor<Rank, Float> float_(DType dtype = DType::f32) const {
    return Tensor<Rank, Float>(hearth::cast(array_, dtype));
  }
  Tensor<Rank, Int> int_(DType dtype = DType::i64) const {
    return Tensor<Rank, Int>(hearth::cast(array_, dtype));
  }
  Tensor<Rank, Bool> bool_() const {
    return Tensor<Rank, Bool>(hearth::cast(array_, DType::bool_));
  }

  // ---- Arithmetic

#define HEARTH_TENSOR_BINARY(method, function)                              \
  Tensor method(const Tensor& other) const                                  \
    requires NumericKind<K>                                                 \
  {                                                                         \
    return Tensor(hearth::function(array_, other.array_));                  \
  }                                                                         \
  template <ScalarOf<K> N>                                                  \
    requires NumericKind<K>                                                 \
  Tensor method(N number) const {                                           \
    return Tensor(hearth::function(array_, tensor_detail::scalar(number))); \
  }                                                                         \
  template <ScalarOf<K> N>                                                  \
    requires NumericKind<K>                                                 \
  Tensor method##_scalar(N number) const {                                  \
    return method(number);                                                  \
  }
  HEARTH_TENSOR_BINARY(add, add)
  HEARTH_TENSOR_BINARY(sub, sub)
  HEARTH_TENSOR_BINARY(mul, mul)
  HEARTH_TENSOR_BINARY(div, div)
  HEARTH_TENSOR_BINARY(remainder, remainder)
#undef HEARTH_TENSOR_BINARY

  // To the power of whole numbers; powf() takes any.
  Tensor powi(const Tensor& exponent) const
    requires NumericKind<K>
  {
    return Tensor(hearth::pow(array_, exponent.array_));
  }
  template <std::integral N>
    requires NumericKind<K>
  Tensor powi(N exponent) const {
    return Tensor(hearth::pow(array_, tensor_detail::scalar(exponent)));
  }
  template <std::floating_point N>
  Tensor powi(N exponent) const = delete;  // powf() takes fractions
  template <std::integral N>
    requires NumericKind<K>
  Tensor powi_scalar(N exponent) const {
    return powi(exponent);
  }

  Tensor powf(const Tensor& exponent) const
    requires std::same_as<K, Float>
  {
    return Tensor(hearth::pow(array_, exponent.array_));
  }
  Tensor powf_scalar(double exponent) const
    requires std::same_as<K, Float>
  {
    return Tensor(hearth::pow(array_, exponent));
  }
  Tensor max_pair(const Tensor& other) const
    requires NumericKind<K>
  {
    return Tensor(hearth::maximum(array_, other.array_));
  }
  Tensor min_pair(const Tensor& other) const
    requires NumericKind<K>
  {
    return Tensor(hearth::minimum(array_, other.array_));
  }

#define HEARTH_TENSOR_UNARY(method, kinds) \
  Tensor method() const                    \
    requires kinds                         \
  {                                        \
    return Tensor(hearth::method(array_)); \
  }
  HEARTH_TENSOR_UNARY(neg, NumericKind<K>)
  HEARTH_TENSOR_UNARY(abs, NumericKind<K>)
  HEARTH_TENSOR_UNARY(sign, NumericKind<K>)
  HEARTH_TENSOR_UNARY(square, NumericKind<K>)
#define HEARTH_TENSOR_FLOAT(method) HEARTH_TENSOR_UNARY(method, (std::same_as<K, Float>))
  HEARTH_TENSOR_FLOAT(sqrt)
  HEARTH_TENSOR_FLOAT(rsqrt)
  HEARTH_TENSOR_FLOAT(recip)
  HEARTH_TENSOR_FLOAT(exp)
  HEARTH_TENSOR_FLOAT(expm1)
  HEARTH_TENSOR_FLOAT(log)
  HEARTH_TENSOR_FLOAT(log1p)
  HEARTH_TENSOR_FLOAT(tanh)
  HEARTH_TENSOR_FLOAT(erf)
  HEARTH_TENSOR_FLOAT(sin)
  HEARTH_TENSOR_FLOAT(cos)
  HEARTH_TENSOR_FLOAT(floor)
  HEARTH_TENSOR_FLOAT(ceil)
  HEARTH_TENSOR_FLOAT(round)
#undef HEARTH_TENSOR_FLOAT
#undef HEARTH_TENSOR_UNARY

  template <ScalarOf<K> Low, ScalarOf<K> High>
    requires NumericKind<K>
  Tensor clamp(Low low, High high) const {
    return Tensor(hearth::clamp(array_, tensor_detail::scalar(low), tensor_detail::scalar(high)));
  }
  template <ScalarOf<K> N>
    requires NumericKind<K>
  Tensor clamp_min(N low) const {
    return Tensor(hearth::clamp_min(array_, tensor_detail::scalar(low)));
  }
  template <ScalarOf<K> N>
    requires NumericKind<K>
  Tensor clamp_max(N high) const {
    return Tensor(hearth::clamp_max(array_, tensor_detail::scalar(high)));
  }
  // [.., m, k] x [.., k, n] = [.., m, n]; leading extents of 1 stretch.
  Tensor matmul(const Tensor& other) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return Tensor(hearth::matmul(array_, other.array_));
  }
  Tensor<1, K> dot(const Tensor& other) const
    requires(NumericKind<K> && Rank == 1)
  {
    return mul(other).sum();
  }
  // The other triangle becomes 0.
  Tensor triu(std::int64_t diagonal = 0) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return Tensor(hearth::triu(array_, diagonal));
  }
  Tensor tril(std::int64_t diagonal = 0) const
    requires(NumericKind<K> && Rank >= 2)
  {
    return Tensor(hearth::tril(array_, diagonal));
  }

  // ---- Comparison and logic

#define HEARTH_TENSOR_COMPARE(method, function, kinds)                                  \
  Tensor<Rank, Bool> method(const Tensor& other) const                                  \
    requires kinds                                                                      \
  {                                                                                     \
    return Tensor<Rank, Bool>(hearth::function(array_, other.array_));                  \
  }                                                                                     \
  template <ScalarOf<K> N>                                                              \
    requires kinds                                                                      \
  Tensor<Rank, Bool> method(N number) const {                                           \
    return Tensor<Rank, Bool>(hearth::function(array_, tensor_detail::scalar(number))); \
  }                                                                                     \
  template <ScalarOf<K> N>                                                              \
    requires kinds                                                                      \
  Tensor<Rank, Bool> method##_elem(N number) const {                                    \
    return method(number);                                                              \
  }
  HEARTH_TENSOR_COMPARE(equal, equal, TensorKind<K>)
  HEARTH_TENSOR_COMPARE(not_equal, not_equal, TensorKind<K>)
  HEARTH_TENSOR_COMPARE(greater, greater, NumericKind<K>)
  HEARTH_TENSOR_COMPARE(greater_equal, greater_equal, NumericKind<K>)
  HEARTH_TENSOR_COMPARE(lower, less, NumericKind<K>)
  HEARTH_TENSOR_COMPARE(lower_equal, less_equal, NumericKind<K>)
#undef HEARTH_TENSOR_COMPARE

  Tensor bool_and(const Tensor& other) const
    requires std::same_as<K, Bool>
  {
    return Tensor(hearth::logical_and(array_, other.array_));
  }
  Tensor bool_or(const Tensor& other) const
    requires std::same_as<K, Bool>
  {
    return Tensor(hearth::logical_or(array_, other.array_));
  }
  Tensor bool_xor(const Tensor& other) const
    requires std::same_as<K, Bool>
  {
    return Tensor(hearth::logical_xor(array_, other.array_));
  }
  Tensor bool_not() const
    requires std::same_as<K, Bool>
  {
    return Tensor(hearth::logical_not(array_));
  }
  Tensor<Rank, Bool> is_nan() const
    requires std::same_as<K, Float>
  {
    return Tensor<Rank, Bool>(hearth::is_nan(array_));
  }
  // `value` where the mask is true, this tensor elsewhere.
  Tensor mask_where(const Tensor<Rank, Bool>& mask, const Tensor& value) const {
    return Tensor(hearth::where(mask.array(), value.array_, array_));
  }
  template <ScalarOf<K> N>
  Tensor mask_fill(const Tensor<Rank, Bool>& mask, N value) const {
    return Tensor(hearth::where(mask.array(), tensor_detail::scalar(value), array_));
  }

  // ---- Reductions

#define HEARTH_TENSOR_REDUCE(method)                                   \
  Tensor<1, K> method() const                                          \
    requires NumericKind<K>                                            \
  {                                                                    \
    return Tensor<1, K>(hearth::reshape(hearth::method(array_), {1})); \
  }                                                                    \
  Tensor method##_dim(std::int64_t dim) const                          \
    requires NumericKind<K>                                            \
  {                                                                    \
    return Tensor(hearth::method(array_, {dim}, true));                \
  }                                                                    \
  Tensor method##_dims(const Dims& dims) const                         \
    requires NumericKind<K>                                            \
  {                                                                    \
    return Tensor(hearth::method(array_, dims, true));                 \
  }
  HEARTH_TENSOR_REDUCE(sum)
  HEARTH_TENSOR_REDUCE(mean)
  HEARTH_TENSOR_REDUCE(prod)
  HEARTH_TENSOR_REDUCE(max)
  HEARTH_TENSOR_REDUCE(min)
#undef HEARTH_TENSOR_REDUCE

  // The largest (smallest) along `dim` and where it is; the lowest index of equals.
  std::pair<Tensor, Tensor<Rank, Int>> max_dim_with_indices(std::int64_t dim) const
    requires NumericKind<K>
  {
    auto [values, indices] = hearth::max_with_indices(array_, dim, true);
    return {Tensor(std::move(values)), Tensor<Rank, Int>(std::move(indices))};
  }
  std::pair<Tensor, Tensor<Rank, Int>> min_dim_with_indices(std::int64_t dim) const
    requires NumericKind<K>
  {
    auto [values, indices] = hearth::min_with_indices(array_, dim, true);
    return {Tensor(std::move(values)), Tensor<Rank, Int>(std::move(indices))};
  }
  Tensor<Rank, Int> argmax(std::int64_t dim) const
    requires NumericKind<K>
  {
    return Tensor<Rank, Int>(hearth::argmax(array_, dim, true));
  }
  Tensor<Rank, Int> argmin(std::int64_t dim) const
    requires NumericKind<K>
  {
    return Tensor<Rank, Int>(hearth::argmin(array_, dim, true));
  }
  // Whether any (all) elements are not 0; NaN is not 0.
  Tensor<1, Bool> any() const { return Tensor<1, Bool>(hearth::reshape(hearth::any(array_), {1})); }
  Tensor<Rank, Bool> any_dim(std::int64_t dim) const {
    return Tensor<Rank, Bool>(hearth::any(array_, {dim}, true));
  }
  Tensor<1, Bool> all() const { return Tensor<1, Bool>(hearth::reshape(hearth::all(array_), {1})); }
  Tensor<Rank, Bool> all_dim(std::int64_t dim) const {
    return Tensor<Rank, Bool>(hearth::all(array_, {dim}, true));
  }

  // ---- Shape

  // The result's rank is the number of extents: reshape({2, -1}); one may be -1.
  template <std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const std::int64_t (&extents)[R]) const {
    return Tensor<static_cast<int>(R), K>(hearth::reshape(array_, Shape(extents, R)));
  }
  template <std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const std::array<std::int64_t, R>& extents) const {
    return Tensor<static_cast<int>(R), K>(hearth::reshape(array_, Shape(extents)));
  }
  // Stretches extents of 1 and adds dimensions in front; -1 keeps an extent.
  template <std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const std::int64_t (&extents)[R]) const {
    return Tensor<static_cast<int>(R), K>(hearth::expand(array_, Shape(extents, R)));
  }
  template <std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const std::array<std::int64_t, R>& extents) const {
    return Tensor<static_cast<int>(R), K>(hearth::expand(array_, Shape(extents)));
  }
  // Swaps the last two dimensions.
  Tensor transpose() const
    requires(Rank >= 2)
  {
    return Tensor(hearth::transpose(array_));
  }
  Tensor t() const
    requires(Rank == 2)
  {
    return transpose();
  }
  Tensor swap_dims(std::int64_t a, std::int64_t b) const {
    return Tensor(hearth::swap_axes(array_, a, b));
  }
  Tensor permute(const Extents<Rank>& axes) const {
    return Tensor(hearth::permute(array_, axes.shape()));
  }
  Tensor flip(const Dims& dims) const { return Tensor(hearth::flip(array_, dims)); }
  // Merges dimensions first..last, both included, into one; R says how many are left.
  template <int R>
    requires(R <= Rank)
  Tensor<R, K> flatten(std::int64_t first, std::int64_t last) const {
    return Tensor<R, K>(hearth::flatten(array_, first, last));
  }
  // Drops all dimensions of extent 1; R are left.
  template <int R>
    requires(R <= Rank)
  Tensor<R, K> squeeze() const {
    return Tensor<R, K>(hearth::squeeze(array_));
  }
  Tensor<Rank - 1, K> squeeze_dim(std::int64_t dim) const
    requires(Rank >= 2)
  {
    return Tensor<Rank - 1, K>(hearth::squeeze(array_, {dim}));
  }
  template <int R>
    requires(R < Rank)
  Tensor<R, K> squeeze_dims(const Dims& dims) const {
    return Tensor<R, K>(hearth::squeeze(array_, dims));
  }
  // Adds dimensions of extent 1 in front until there are R.
  template <int R>
    requires(R >= Rank)
  Tensor<R, K> unsqueeze() const {
    Shape extents = Shape::filled(R, 1);
    for (int i = 0; i < Rank; ++i) extents[R - Rank + i] = array_.shape()[i];
    return Tensor<R, K>(hearth::reshape(array_, extents));
  }
  Tensor<Rank + 1, K> unsqueeze_dim(std::int64_t dim) const
    requires(Rank < kMaxRank)
  {
    return Tensor<Rank + 1, K>(hearth::unsqueeze(array_, {dim}));
  }
  template <int R>
    requires(R > Rank)
  Tensor<R, K> unsqueeze_dims(const Dims& dims) const {
    return Tensor<R, K>(hearth::unsqueeze(array_, dims));
  }
  Tensor repeat_dim(std::int64_t dim, std::int64_t times) const {
    Dims all = Dims::filled(Rank, 1);
    all[normalize_axis("repeat_dim", dim, Rank)] = times;
    return Tensor(hearth::repeat(array_, all));
  }
  Tensor repeat(const Extents<Rank>& times) const {
    return Tensor(hearth::repeat(array_, times.shape()));
  }

  // ---- Parts

  // One Slice for each leading dimension: slice({{0, 2}, {1, std::nullopt, 2}}).
  template <std::size_t N>
    requires(N <= Rank)
  Tensor slice(const Slice (&slices)[N]) const {
    return Tensor(hearth::slice(array_, std::vector<Slice>(slices, slices + N)));
  }
  Tensor slice_dim(std::int64_t dim, const Slice& part) const {
    return Tensor(hearth::slice(array_, only_along("slice_dim", dim, part)));
  }
  template <std::size_t N>
    requires(N <= Rank)
  Tensor slice_assign(const Slice (&slices)[N], const Tensor& value) const {
    return Tensor(
        hearth::slice_assign(array_, std::vector<Slice>(slices, slices + N), value.array_));
  }
  template <std::size_t N, ScalarOf<K> Number>
    requires(N <= Rank)
  Tensor slice_fill(const Slice (&slices)[N], Number value) const {
    return Tensor(hearth::slice_assign(array_, std::vector<Slice>(slices, slices + N),
                                       tensor_detail::scalar(value)));
  }
  // `length` elements of `dim` from `start`.
  Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
    return Tensor(hearth::narrow(array_, dim, start, length));
  }
  // `count` parts of nearly one size; split: parts of `size`, the last may be smaller.
  std::vector<Tensor> chunk(std::int64_t count, std::int64_t dim) const {
    return typed(hearth::chunk(array_, count, dim));
  }
  std::vector<Tensor> split(std::int64_t size, std::int64_t dim) const {
    if (size < 1) {
      throw Error(ErrorCode::invalid_argument, "split: size of a part is not positive; got " +
                                                   std::to_string(size) + ", expected >= 1");
    }
    const std::int64_t extent = array_.shape(static_cast<int>(dim));
    std::vector<std::int64_t> sizes;
    for (std::int64_t at = 0; at < extent; at += size) {
      sizes.push_back(extent - at < size ? extent - at : size);
    }
    return typed(hearth::split(array_, sizes, dim));
  }
  std::vector<Tensor> split_with_sizes(const std::vector<std::int64_t>& sizes,
                                       std::int64_t dim) const {
    return typed(hearth::split(array_, sizes, dim));
  }
  static Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim) {
    return Tensor(hearth::cat(erased(tensors), dim));
  }
  // Joins along a new dimension at `dim` of the result.
  static Tensor<Rank + 1, K> stack(const std::vector<Tensor>& tensors, std::int64_t dim)
    requires(Rank < kMaxRank)
  {
    return Tensor<Rank + 1, K>(hearth::stack(erased(tensors), dim));
  }

  // ---- Indexing

  Tensor gather(std::int64_t dim, const Tensor<Rank, Int>& indices) const {
    return Tensor(hearth::gather(array_, indices.array(), dim));
  }
  // Adds `values` at `indices` along `dim`, in order (Bool: or).
  Tensor scatter(std::int64_t dim, const Tensor<Rank, Int>& indices, const Tensor& values) const {
    return Tensor(hearth::scatter_add(array_, indices.array(), values.array_, dim));
  }
  Tensor select(std::int64_t dim, const Tensor<1, Int>& indices) const {
    return Tensor(hearth::select(array_, indices.array(), dim));
  }
  // Adds slice i of `values` to slice indices[i] along `dim`, in order (Bool: or).
  Tensor select_assign(std::int64_t dim, const Tensor<1, Int>& indices,
                       const Tensor& values) const {
    return Tensor(hearth::select_add(array_, indices.array(), values.array_, dim));
  }
  // 1 at the index, 0 elsewhere, in a new last dimension of `classes`.
  Tensor<Rank + 1, K> one_hot(std::int64_t classes) const
    requires(NumericKind<K> && Rank < kMaxRank)
  {
    return Tensor<Rank + 1, K>(
        hearth::one_hot(hearth::cast(array_, DType::i64), classes, array_.dtype()));
  }

  // ---- Differentiation

  // Marks a leaf; see Array::require_grad.
  Tensor require_grad() const
    requires std::same_as<K, Float>
  {
    return Tensor(array_.require_grad());
  }
  Tensor set_require_grad(bool required) const
    requires std::same_as<K, Float>
  {
    return required ? require_grad() : detach();
  }
  bool is_require_grad() const noexcept { return array_.is_require_grad(); }
  Tensor detach() const { return Tensor(array_.detach()); }
  // Gradients of this tensor's one element with respect to all leaves.
  Gradients backward() const
    requires std::same_as<K, Float>
  {
    return hearth::backward(array_);
  }
  // This leaf's gradient, if the differentiated value depends on it.
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

  Array array_;
};

// Evaluates.
template <int Rank, TensorKind K>
std::ostream& operator<<(std::ostream& out, const Tensor<Rank, K>& tensor) {
  return out << tensor.array();
}

// ---- Operators

#define HEARTH_TENSOR_OPERATOR(symbol, method)                                          \
  template <int Rank, NumericKind K>                                                    \
  Tensor<Rank, K> operator symbol(const Tensor<Rank, K>& a, const Tensor<Rank, K>& b) { \
    return a.method(b);                                                                 \
  }                                                                                     \
  template <int Rank, NumericKind K, ScalarOf<K> N>                                     \
  Tensor<Rank, K> operator symbol(const Tensor<Rank, K>& a, N b) {                      \
    return a.method(b);                                                                 \
  }                                                                                     \
  template <int Rank, NumericKind K, ScalarOf<K> N>                                     \
  Tensor<Rank, K> operator symbol(N a, const Tensor<Rank, K>& b) {                      \
    return Tensor<Rank, K>(hearth::method(tensor_detail::scalar(a), b.array()));        \
  }
HEARTH_TENSOR_OPERATOR(+, add)
HEARTH_TENSOR_OPERATOR(-, sub)
HEARTH_TENSOR_OPERATOR(*, mul)
HEARTH_TENSOR_OPERATOR(/, div)
HEARTH_TENSOR_OPERATOR(%, remainder)
#undef HEARTH_TENSOR_OPERATOR

template <int Rank, NumericKind K>
Tensor<Rank, K> operator-(const Tensor<Rank, K>& x) {
  return x.neg();
}

// ---- Activations

namespace activation {

template <int R>
Tensor<R> relu(const Tensor<R>& x) {
  return Tensor<R>(hearth::relu(x.array()));
}
// By erf; gelu_approximate: by tanh.
template <int R>
Tensor<R> gelu(const Tensor<R>& x) {
  return Tensor<R>(hearth::gelu(x.array()));
}
template <int R>
Tensor<R> gelu_approximate(const Tensor<R>& x) {
  return Tensor<R>(hearth::gelu(x.array(), true));
}
template <int R>
Tensor<R> silu(const Tensor<R>& x) {
  return Tensor<R>(hearth::silu(x.array()));
}
template <int R>
Tensor<R> sigmoid(const Tensor<R>& x) {
  return Tensor<R>(hearth::sigmoid(x.array()));
}
template <int R>
Tensor<R> tanh(const Tensor<R>& x) {
  return Tensor<R>(hearth::tanh(x.array()));
}
template <int R>
Tensor<R> softmax(const Tensor<R>& x, std::int64_t dim) {
  return Tensor<R>(hearth::softmax(x.array(), dim));
}
template <int R>
Tensor<R> log_softmax(const Tensor<R>& x, std::int64_t dim) {
  return Tensor<R>(hearth::log_softmax(x.array(), dim));
}

}  // namespace activation

// ---- Functions of layers

namespace module {

// Rows of weights [entries, dim] by indices [batch, length]: [batch, length, dim].
inline Tensor<3> embedding(const Tensor<2>& weights, const Tensor<2, Int>& indices) {
  return Tensor<3>(hearth::embedding(weights.array(), indices.array()));
}
// x [.., in] x weight [out, in]^T + bias [out].
template <int R>
Tensor<R> linear(const Tensor<R>& x, const Tensor<2>& weight,
                 const std::optional<Tensor<1>>& bias = std::nullopt) {
  return Tensor<R>(hearth::linear(x.array(), weight.array(), bias ? bias->array() : Array()));
}
// q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, dv].
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const AttentionOptions& options = {}) {
  return Tensor<4>(hearth::attention(q.array(), k.array(), v.array(), options));
}

}  // namespace module

namespace loss {

// Mean of -log softmax(logits)[target] over the rows, in nats: logits [rows, classes].
inline Tensor<1> cross_entropy_with_logits(const Tensor<2>& logits, const Tensor<1, Int>& targets) {
  return Tensor<1>(hearth::reshape(hearth::cross_entropy(logits.array(), targets.array()), {1}));
}

}  // namespace loss

}  // namespace v0
}  // namespace hearth
