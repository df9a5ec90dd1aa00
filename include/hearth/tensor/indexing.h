// Parts of a tensor: x[i], slice() of words, set(), narrow(), one_hot(). The base of Tensor that
// has them; gather() and select() are in tensor/methods.h.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/indexing.h"
#include "hearth/ops.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int Rank, TensorKind K>
class Indexing {
  using Self = Tensor<Rank, K>;

 public:
  // x[i]: element i of the first axis, which goes; of rank 1 a tensor of one element. Negative
  // positions count from the end; Error{invalid_argument} where there is no such element.
  template <std::integral I>
  Tensor<(Rank > 1 ? Rank - 1 : 1), K> operator[](I position) const {
    const IndexWord word(position);
    if constexpr (Rank > 1) {
      return made<Tensor<Rank - 1, K>>(hearth::index(array(), {word}));
    } else {
      return made<Self>(hearth::index(array(), {word, new_axis}));
    }
  }
  // x[from(1)], x[range(0, 8, 2)]: a part of the first axis.
  Self operator[](const Slice& part) const { return made<Self>(hearth::index(array(), {part})); }
  // The elements of the first axis that `positions` name, which are not counted from the end.
  Self operator[](const Tensor<1, Int>& positions) const { return self().select(0, positions); }
  // The same of a list, x[{2, 0, -1}], where negative ones are counted from the end.
  template <std::integral I, std::size_t N>
    requires(!std::same_as<I, bool> && !std::same_as<I, char>)
  Self operator[](const I (&positions)[N]) const {
    return made<Self>(tensor_detail::elements(array(), listed(positions)));
  }
  template <std::size_t N>
  Self operator[](const char (&)[N]) const {
    static_assert(N == 0, "slices are words: write x[range(0, 2)] or x.slice(all, from(1))");
    return {};
  }
  template <int R>
  Self operator[](const Tensor<R, Bool>&) const {
    static_assert(R < 0,
                  "a mask picks a number of elements that only its values tell: write "
                  "x.mask_select(mask), which waits for it, or x.set(mask, v), mask_where()");
    return {};
  }
  // Words of indexing.h, one for each leading axis: x.slice(at(0), from(2), new_axis). Where no
  // axis is left the result is a tensor of one element.
  template <class... W>
    requires(sizeof...(W) > 0 && (std::convertible_to<W, IndexWord> && ...))
  auto slice(W... words) const {
    constexpr int kLeft = Rank + (kRankChange<W> + ...);
    static_assert(kLeft >= 0, "more words than the tensor has dimensions");
    if constexpr (kLeft < 0) {
      return self();
    } else if constexpr (kLeft == 0) {
      return made<Tensor<1, K>>(hearth::index(array(), {IndexWord(words)..., new_axis}));
    } else {
      return made<Tensor<kLeft, K>>(hearth::index(array(), {IndexWord(words)...}));
    }
  }
  // This tensor with `value`, which broadcasts, in the part that the words name.
  // x = x.set({at(0), from(2)}, y) reuses x's memory where nothing else holds it.
  template <int R>
    requires(R <= Rank)
  Self set(std::initializer_list<IndexWord> words, const Tensor<R, K>& value,
           CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return made<Self>(tensor_detail::set(array(), words, value.array())); });
  }
  // With a list for a value: x.set({1}, {9.0}).
  Self set(std::initializer_list<IndexWord> words, const Self& value,
           CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return made<Self>(tensor_detail::set(array(), words, value.array())); });
  }
  template <ScalarOf<K> N>
  Self set(std::initializer_list<IndexWord> words, N value,
           CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(tensor_detail::set(array(), words, tensor_detail::scalar(value)));
    });
  }
  // x.set({{2, 0, -1}}, value): in the elements of the first axis at a list of positions, one after
  // the other.
  template <std::integral I, std::size_t Lists, std::size_t N, int R>
    requires(!std::same_as<I, bool> && R <= Rank)
  Self set(const I (&positions)[Lists][N], const Tensor<R, K>& value,
           CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(tensor_detail::set(array(), only_list(positions), value.array()));
    });
  }
  template <std::integral I, std::size_t Lists, std::size_t N>
    requires(!std::same_as<I, bool>)
  Self set(const I (&positions)[Lists][N], const Self& value,
           CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(tensor_detail::set(array(), only_list(positions), value.array()));
    });
  }
  template <std::integral I, std::size_t Lists, std::size_t N, ScalarOf<K> Number>
    requires(!std::same_as<I, bool>)
  Self set(const I (&positions)[Lists][N], Number value, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(
          tensor_detail::set(array(), only_list(positions), tensor_detail::scalar(value)));
    });
  }
  // Where a mask is true: mask and value broadcast to the shape of this tensor.
  Self set(const Tensor<Rank, Bool>& mask, const Self& value,
           CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(tensor_detail::set_where("set", array(), mask.array(), value.array()));
    });
  }
  template <ScalarOf<K> N>
  Self set(const Tensor<Rank, Bool>& mask, N value, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(
          tensor_detail::set_where("set", array(), mask.array(), tensor_detail::scalar(value)));
    });
  }
  template <int R, class Value>
  Self set(const Tensor<R, Int>&, const Value&) const {
    static_assert(tensor_detail::kNever<Value>,
                  "set() takes words, a list of positions such as {{2, 0}}, or a mask: "
                  "select_assign() adds at the positions of a tensor");
    return {};
  }
  // Over the first axis: for (const auto& row : x).
  auto begin() const { return Elements<Self>{self(), 0}; }
  auto end() const { return Elements<Self>{self(), array().shape()[0]}; }

  // One Slice for each leading dimension: slice({{0, 2}, {1, std::nullopt, 2}}).
  template <std::size_t N>
    requires(N <= Rank)
  Self slice(const Slice (&slices)[N], CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(hearth::slice(array(), std::vector<Slice>(slices, slices + N)));
    });
  }
  Self slice_dim(std::int64_t dim, const Slice& part, CallSite site = CallSite::here()) const {
    return located_as("slice_dim", site, [&] {
      return made<Self>(hearth::slice(array(), only_along("slice_dim", dim, part)));
    });
  }
  template <std::size_t N>
    requires(N <= Rank)
  Self slice_assign(const Slice (&slices)[N], const Self& value,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(
          hearth::slice_assign(array(), std::vector<Slice>(slices, slices + N), value.array()));
    });
  }
  template <std::size_t N, ScalarOf<K> Number>
    requires(N <= Rank)
  Self slice_fill(const Slice (&slices)[N], Number value, CallSite site = CallSite::here()) const {
    return located_as("slice_fill", site, [&] {
      return made<Self>(hearth::slice_assign(array(), std::vector<Slice>(slices, slices + N),
                                             tensor_detail::scalar(value)));
    });
  }
  // `length` elements of `dim` from `start`.
  Self narrow(std::int64_t dim, std::int64_t start, std::int64_t length,
              CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::narrow(array(), dim, start, length)); });
  }
  // 1 at the index, 0 elsewhere, in a new last dimension of `classes`.
  Tensor<Rank + 1, K> one_hot(std::int64_t classes, CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank < kMaxRank)
  {
    return located_as("one_hot", site, [&] {
      return Tensor<Rank + 1, K>(
          hearth::one_hot(hearth::cast(array(), DType::i64), classes, array().dtype()));
    });
  }
  // As one_hot(), of `on` and `off`, with the new dimension at `dim` of the result.
  template <ScalarOf<K> On, ScalarOf<K> Off>
  Tensor<Rank + 1, K> one_hot_fill(std::int64_t classes, On on, Off off, std::int64_t dim = -1,
                                   CallSite site = CallSite::here()) const
    requires(NumericKind<K> && Rank < kMaxRank)
  {
    return located_as("one_hot_fill", site, [&] {
      return Tensor<Rank + 1, K>(
          hearth::one_hot_fill(hearth::cast(array(), DType::i64), classes, static_cast<double>(on),
                               static_cast<double>(off), dim, array().dtype()));
    });
  }
  // The slices along `dim` that indices name: `dim` becomes the dimensions of indices.
  template <int R>
  Tensor<Rank + R - 1, K> take(std::int64_t dim, const Tensor<R, Int>& indices,
                               CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Tensor<Rank + R - 1, K>>(hearth::take(array(), indices.array(), dim));
    });
  }
  // scatter() and select_assign() of tensor/methods.h, which add, with any update.
  Self scatter(std::int64_t dim, const Tensor<Rank, Int>& indices, const Self& values,
               IndexingUpdateOp update, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(hearth::scatter(array(), indices.array(), values.array(), dim, update));
    });
  }
  Self select_assign(std::int64_t dim, const Tensor<Rank * 0 + 1, Int>& indices, const Self& values,
                     IndexingUpdateOp update, CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(
          hearth::select_assign(array(), indices.array(), values.array(), dim, update));
    });
  }
  // Indices [..., k] address the first k dimensions; To is the rank of the result [..., rest].
  template <int To, int R>
  Tensor<To, K> gather_nd(const Tensor<R, Int>& indices, CallSite site = CallSite::here()) const {
    return located_as("gather_nd", site,
                      [&] { return Tensor<To, K>(hearth::gather_nd(array(), indices.array())); });
  }
  template <int R, int V>
  Self scatter_nd(const Tensor<R, Int>& indices, const Tensor<V, K>& values,
                  IndexingUpdateOp update = IndexingUpdateOp::assign,
                  CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Self>(hearth::scatter_nd(array(), indices.array(), values.array(), update));
    });
  }

 private:
  const Array& array() const noexcept { return static_cast<const Self&>(*this).array(); }
  const Self& self() const noexcept { return static_cast<const Self&>(*this); }
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
};

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
