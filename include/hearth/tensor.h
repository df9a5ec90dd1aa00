// Tensor<Rank, K>: an Array whose rank and kind the compiler checks.
//
//   Tensor<2> x = Tensor<2>::random({64, 3}, Normal(0, 1));
//   Tensor<1, Int> best = x.argmax(1).squeeze_dim(1);
//
// Methods carry Burn's names and meaning: binary methods take a tensor of the same rank (extents of
// 1 stretch) or a number, reductions over everything give Tensor<1> of one element, reductions over
// a dimension keep it with extent 1, negative dimensions count from the end. A rank or a kind that
// does not fit does not compile; extents and dtypes are checked when an op is recorded and throw
// hearth::Error, with the caller's line: `site` is left to the compiler. slice() of words, [], ==,
// != and operators of one tensor have no room for it. A Tensor is a handle like Array:
// copies share, nothing runs until it is read.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/print.h"
#include "hearth/tensor/arithmetic.h"
#include "hearth/tensor/creation.h"
#include "hearth/tensor/indexing.h"
#include "hearth/tensor/methods.h"
#include "hearth/tensor/selecting.h"
#include "hearth/tensor/shaping.h"
#include "hearth/tensor/sorting.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {

template <int Rank, TensorKind K>
class [[nodiscard("an op changes nothing in place: write x = x.relu()")]] Tensor
    : public tensor_detail::Methods<Rank, K>,
      public tensor_detail::Arithmetic<Rank, K>,
      public tensor_detail::Creation<Rank, K>,
      public tensor_detail::Indexing<Rank, K>,
      public tensor_detail::Selecting<Rank, K>,
      public tensor_detail::Shaping<Rank, K>,
      public tensor_detail::Sorting<Rank, K> {
  static_assert(Rank >= 1 && Rank <= kMaxRank, "a tensor has 1 to 8 dimensions");

 public:
  using Item = typename K::Item;
  using Lists = typename tensor_detail::NestedList<Item, Rank>::type;
  static constexpr int kRank = Rank;
  using tensor_detail::Methods<Rank, K>::scatter;
  using tensor_detail::Indexing<Rank, K>::scatter;
  using tensor_detail::Methods<Rank, K>::select_assign;
  using tensor_detail::Indexing<Rank, K>::select_assign;

  // No value: defined() is false, and what needs one throws Error{invalid_argument}.
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
      : Tensor(Tensor::from_data(lists, Device(), site)) {}

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
                  "a tensor is not a condition: reduce it by any() or all() and read item(), or "
                  "choose by where(mask, a, b)");
    return false;
  }

  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  operator T() const {  // NOLINT(google-explicit-constructor)
    static_assert(
        tensor_detail::kNever<T>,
        "a tensor is not a number: read its only element by item(), as in x[0][1].item()");
    return T();
  }

  const Array& array() const& noexcept { return array_; }
  Array array() && noexcept { return std::move(array_); }

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
  // By its name, as of Device::named().
  Tensor to(std::string_view device, CallSite site = CallSite::here()) const {
    return located(site, [&] { return to_device(Device::named(device)); });
  }
  // To a dtype of the same kind; float_(), int_() and bool_() change the kind.
  Tensor to(DType dtype, CallSite site = CallSite::here()) const {
    return located_as("to", site, [&] { return cast(dtype); });
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
    located(site, [&] { array_.eval(); });
    return located_as("to_data", site, [&] { return array_.template to_vector<T>(); });
  }
  template <std::size_t None = 0>
  std::vector<Item> to_data() const {
    static_assert(tensor_detail::kNever<std::array<Item, None>>,
                  "to_data() is asked for the type of an element: write to_data<float>(), or of "
                  "the tensor's dtype");
    return {};
  }
  // The same to read, without a copy where there need not be one.
  template <class T>
  HostView<const T> host_view(CallSite site = CallSite::here()) const {
    located(site, [&] { array_.eval(); });
    return located_as("host_view", site, [&] { return array_.template host_view<T>(); });
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
      return Tensor(
          hearth::cast(array_, tensor_detail::dtype_for("cast", dtype, K::kKind, K::kDefault)));
    });
  }
  Tensor<Rank, Float> float_(DType dtype = DType::f32, CallSite site = CallSite::here()) const {
    return located_as("float_", site,
                      [&] { return Tensor<Rank, Float>(hearth::cast(array_, dtype)); });
  }
  Tensor<Rank, Int> int_(DType dtype = DType::i64, CallSite site = CallSite::here()) const {
    return located_as("int_", site, [&] { return Tensor<Rank, Int>(hearth::cast(array_, dtype)); });
  }
  Tensor<Rank, Bool> bool_(CallSite site = CallSite::here()) const {
    return located_as("bool_", site,
                      [&] { return Tensor<Rank, Bool>(hearth::cast(array_, DType::bool_)); });
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
  void grad_replace(Gradients& gradients, const Tensor& gradient,
                    CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    located_as("grad_replace", site, [&] { gradients.set(array_, gradient.array_); });
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
  static std::optional<Tensor> present(Array array) {
    if (!array.defined()) return std::nullopt;
    return Tensor(std::move(array));
  }

  friend struct tensor_detail::Access;
  // Of a value whose rank and kind are known to be right.
  Tensor(Array array, tensor_detail::Unchecked) noexcept : array_(std::move(array)) {}

  Array array_;
};

// As of an Array: `Tensor f32 [3] [1, 2.5, nan]`. Evaluates.
template <int Rank, TensorKind K>
std::ostream& operator<<(std::ostream& out, const Tensor<Rank, K>& tensor) {
  return print_as("Tensor", out, tensor.array());
}

}  // namespace v0
}  // namespace hearth

#include "hearth/tensor/functions.h"
#include "hearth/tensor/operators.h"
