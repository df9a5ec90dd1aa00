// What typed tensors are made of: kinds, extents, options, distributions.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/array.h"

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
template <class K>
concept BoolKind = std::same_as<K, Bool>;

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
    requires(sizeof...(I) == Rank && (std::integral<I> && ...))
  Extents(I... extents) : values{static_cast<std::int64_t>(extents)...} {}  // NOLINT
  Extents(const ExtentArray<Rank>& extents) : values(extents) {}            // NOLINT
  Shape shape() const { return Shape(values); }

  ExtentArray<Rank> values;
};

// One extent of a list whose numbers are of several types; lists of one type are integers.
struct Extent {
  template <std::integral I>
  Extent(I extent) : value(static_cast<std::int64_t>(extent)) {}  // NOLINT
  explicit operator std::int64_t() const noexcept { return value; }

  std::int64_t value;
};

// Where a tensor is made and in which dtype; the default is the kind's (f32, i64, bool).
struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(DType type) : dtype(type) {}      // NOLINT(google-explicit-constructor)
  TensorOptions(Device where) : device(where) {}  // NOLINT(google-explicit-constructor)
  TensorOptions(DType type, Device where) : dtype(type), device(where) {}

  std::optional<DType> dtype;
  Device device;
};

template <int Rank, TensorKind K = Float>
class Tensor;

namespace tensor_detail {

template <class>
inline constexpr bool kIsTensor = false;
template <int Rank, TensorKind K>
inline constexpr bool kIsTensor<Tensor<Rank, K>> = true;

// Says that rank and kind need no check.
struct Unchecked {};

struct Access {
  // The array of a tensor, to be changed by who keeps rank and kind.
  template <class T>
  static auto& array(T& tensor) noexcept {
    return tensor.array_;
  }
  template <class T>
  static T made(Array&& array) {
    return T(std::move(array), Unchecked());
  }
};

// The tensor of an array whose rank and kind follow from the types of an op's inputs.
template <class T>
T made(Array&& array) {
  return Access::made<T>(std::move(array));
}

template <class E, std::size_t N>
Shape shape_of(const E (&extents)[N]) {
  ExtentArray<static_cast<int>(N)> values;
  for (std::size_t i = 0; i < N; ++i) values[i] = static_cast<std::int64_t>(extents[i]);
  return Shape(values);
}

// For static_asserts that fail only where a template is used.
template <class>
inline constexpr bool kNever = false;

// Elements of a tensor along its first axis.
template <class T>
struct Elements {
  using difference_type = std::int64_t;
  using value_type = decltype(std::declval<const T&>()[0]);

  T tensor;
  std::int64_t position = 0;

  value_type operator*() const { return tensor[position]; }
  Elements& operator++() {
    ++position;
    return *this;
  }
  Elements operator++(int) {
    Elements before = *this;
    ++position;
    return before;
  }
  friend bool operator==(const Elements& a, const Elements& b) { return a.position == b.position; }
};

template <class T, int Rank>
struct NestedList {
  using type = std::initializer_list<typename NestedList<T, Rank - 1>::type>;
};
template <class T>
struct NestedList<T, 0> {
  using type = T;
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
    if (!std::in_range<std::int64_t>(+value)) {
      throw Error(ErrorCode::dtype, "scalar: out of range; got " + std::to_string(value) +
                                        ", expected a number that i64 holds");
    }
    return Array(static_cast<std::int64_t>(value));
  } else {
    return Array(static_cast<double>(value));
  }
}

// Throws Error{shape} or Error{dtype} unless the array has this rank and a dtype of this kind.
HEARTH_API void check(const Array& array, int rank, Kind wanted);

// The dtype that is asked for, or else `fallback`; throws Error{dtype} for one of another kind.
HEARTH_API DType dtype_for(const char* op, const TensorOptions& options, Kind wanted,
                           DType fallback);

}  // namespace tensor_detail

}  // namespace v0
}  // namespace hearth
