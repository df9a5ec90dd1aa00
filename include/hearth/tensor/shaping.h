// The same elements in another shape, joined or taken apart: reshape(), permute(), squeeze(),
// cat(), split() and others. A base class of Tensor.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int Rank, TensorKind K>
class Shaping {
  using Self = Tensor<Rank, K>;

 public:
  // The result's rank is the number of extents: reshape({2, -1}); one may be -1.
  template <std::integral I, std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const I (&extents)[R],
                                         CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Tensor<static_cast<int>(R), K>>(hearth::reshape(array(), shape_of(extents)));
    });
  }
  template <std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const Extent (&extents)[R],
                                         CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Tensor<static_cast<int>(R), K>>(hearth::reshape(array(), shape_of(extents)));
    });
  }
  template <std::size_t R>
  Tensor<static_cast<int>(R), K> reshape(const std::array<std::int64_t, R>& extents,
                                         CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<static_cast<int>(R), K>(hearth::reshape(array(), Shape(extents)));
    });
  }
  template <std::integral... I>
  Tensor<static_cast<int>(sizeof...(I)) + 1, K> reshape(LocatedExtent first, I... others) const {
    return reshape({first.value, static_cast<std::int64_t>(others)...}, first.site);
  }
  // Stretches extents of 1 and adds dimensions in front; -1 keeps an extent.
  template <std::integral I, std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const I (&extents)[R],
                                        CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Tensor<static_cast<int>(R), K>>(hearth::expand(array(), shape_of(extents)));
    });
  }
  template <std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const Extent (&extents)[R],
                                        CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return made<Tensor<static_cast<int>(R), K>>(hearth::expand(array(), shape_of(extents)));
    });
  }
  template <std::size_t R>
    requires(R >= Rank)
  Tensor<static_cast<int>(R), K> expand(const std::array<std::int64_t, R>& extents,
                                        CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return Tensor<static_cast<int>(R), K>(hearth::expand(array(), Shape(extents)));
    });
  }
  template <std::integral... I>
    requires(sizeof...(I) >= Rank - 1)
  Tensor<static_cast<int>(sizeof...(I)) + 1, K> expand(LocatedExtent first, I... others) const {
    return expand({first.value, static_cast<std::int64_t>(others)...}, first.site);
  }
  // Swaps the last two dimensions.
  Self transpose(CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located(site, [&] { return made<Self>(hearth::transpose(array())); });
  }
  template <std::integral A, std::integral B>
  Self transpose(A, B) const {
    static_assert(kNever<A>, "transpose() swaps the last two dimensions: write swap_dims(0, 1)");
    return {};
  }
  Self t(CallSite site = CallSite::here()) const
    requires(Rank == 2)
  {
    return located_as("t", site, [&] { return transpose(); });
  }
  Self swap_dims(std::int64_t a, std::int64_t b, CallSite site = CallSite::here()) const {
    return located_as("swap_dims", site,
                      [&] { return made<Self>(hearth::swap_axes(array(), a, b)); });
  }
  Self permute(const Extents<Rank>& axes, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::permute(array(), axes.shape())); });
  }
  template <std::integral... I>
    requires(sizeof...(I) > 0 && sizeof...(I) == Rank - 1)
  Self permute(LocatedExtent first, I... others) const {
    return permute({first.value, others...}, first.site);
  }
  Self flip(const Dims& dims, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::flip(array(), dims)); });
  }
  // Merges dimensions first..last, both included, into one; R says how many are left.
  template <int R>
    requires(R <= Rank)
  Tensor<R, K> flatten(std::int64_t first, std::int64_t last,
                       CallSite site = CallSite::here()) const {
    return located_as("flatten", site,
                      [&] { return Tensor<R, K>(hearth::flatten(array(), first, last)); });
  }
  template <class D = K>
  Self flatten() const {
    static_assert(kNever<D>, "say the rank that is left, and the dimensions: flatten<1>(0, -1)");
    return {};
  }
  // Drops all dimensions of extent 1; R are left.
  template <int R>
    requires(R <= Rank)
  Tensor<R, K> squeeze(CallSite site = CallSite::here()) const {
    return located_as("squeeze", site, [&] { return Tensor<R, K>(hearth::squeeze(array())); });
  }
  template <class D = K>
  Self squeeze() const {
    static_assert(kNever<D>,
                  "say the dimension, squeeze(1), or the rank that is left, squeeze<1>()");
    return {};
  }
  Tensor<Rank - 1, K> squeeze(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located_as("squeeze", site, [&] { return squeeze_dim(dim); });
  }
  Tensor<Rank - 1, K> squeeze_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located_as("squeeze_dim", site,
                      [&] { return made<Tensor<Rank - 1, K>>(hearth::squeeze(array(), {dim})); });
  }
  template <int R>
    requires(R < Rank)
  Tensor<R, K> squeeze_dims(const Dims& dims, CallSite site = CallSite::here()) const {
    return located_as("squeeze_dims", site,
                      [&] { return Tensor<R, K>(hearth::squeeze(array(), dims)); });
  }
  // Adds dimensions of extent 1 in front until there are R.
  template <int R>
    requires(R >= Rank)
  Tensor<R, K> unsqueeze(CallSite site = CallSite::here()) const {
    return located_as("unsqueeze", site, [&] {
      Shape extents = Shape::filled(R, 1);
      for (int i = 0; i < Rank; ++i) extents[R - Rank + i] = array().shape()[i];
      return Tensor<R, K>(hearth::reshape(array(), extents));
    });
  }
  Tensor<Rank + 1, K> unsqueeze(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank < kMaxRank)
  {
    return located_as("unsqueeze", site, [&] { return unsqueeze_dim(dim); });
  }
  Tensor<Rank + 1, K> unsqueeze_dim(std::int64_t dim, CallSite site = CallSite::here()) const
    requires(Rank < kMaxRank)
  {
    return located_as("unsqueeze_dim", site,
                      [&] { return made<Tensor<Rank + 1, K>>(hearth::unsqueeze(array(), {dim})); });
  }
  template <int R>
    requires(R > Rank)
  Tensor<R, K> unsqueeze_dims(const Dims& dims, CallSite site = CallSite::here()) const {
    return located_as("unsqueeze_dims", site,
                      [&] { return Tensor<R, K>(hearth::unsqueeze(array(), dims)); });
  }
  Self repeat_dim(std::int64_t dim, std::int64_t times, CallSite site = CallSite::here()) const {
    return located_as("repeat_dim", site, [&] {
      Dims repeats = Dims::filled(Rank, 1);
      repeats[normalize_axis("repeat_dim", dim, Rank)] = times;
      return made<Self>(hearth::repeat(array(), repeats));
    });
  }
  Self repeat(const Extents<Rank>& times, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::repeat(array(), times.shape())); });
  }
  template <std::integral... I>
    requires(sizeof...(I) > 0 && sizeof...(I) == Rank - 1)
  Self repeat(LocatedExtent first, I... others) const {
    return repeat({first.value, others...}, first.site);
  }

  Self movedim(const Dims& source, const Dims& destination,
               CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::movedim(array(), source, destination)); });
  }
  template <std::integral A, std::integral B>
  Self movedim(A source, B destination, CallSite site = CallSite::here()) const {
    return movedim(Dims{static_cast<std::int64_t>(source)},
                   Dims{static_cast<std::int64_t>(destination)}, site);
  }
  // What leaves at one end enters at the other: shifts[k] places along dims[k], towards the end as
  // in PyTorch and NumPy. Burn's go towards the start.
  Self roll(const Dims& shifts, const Dims& dims, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::roll(array(), shifts, dims)); });
  }
  Self roll_dim(std::int64_t shift, std::int64_t dim, CallSite site = CallSite::here()) const {
    return located_as("roll_dim", site, [&] { return roll({shift}, {dim}); });
  }
  Self rot90(std::int64_t times = 1, std::int64_t first = 0, std::int64_t second = 1,
             CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located(site, [&] { return made<Self>(hearth::rot90(array(), times, first, second)); });
  }
  Self repeat_interleave(std::int64_t times, std::int64_t dim,
                         CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return made<Self>(hearth::repeat_interleave(array(), times, dim)); });
  }
  Self repeat_interleave(const std::vector<std::int64_t>& times, std::int64_t dim,
                         CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return made<Self>(hearth::repeat_interleave(array(), times, dim)); });
  }
  // Windows of `size` elements along `dim`, which becomes their number; `size` is the new last one.
  Tensor<Rank + 1, K> unfold(std::int64_t dim, std::int64_t size, std::int64_t step = 1,
                             CallSite site = CallSite::here()) const
    requires(Rank < kMaxRank)
  {
    return located(
        site, [&] { return made<Tensor<Rank + 1, K>>(hearth::unfold(array(), dim, size, step)); });
  }
  // Counts {before, after} of the last N dimensions: pad({{1, 1}, {0, 2}}, PadMode::edge).
  template <std::size_t N>
    requires(N <= Rank)
  Self pad(const std::int64_t (&counts)[N][2], PadMode mode = PadMode::constant,
           CallSite site = CallSite::here()) const {
    return padded(counts, mode, Array(), site);
  }
  // The same with a number in the new places.
  template <std::size_t N, ScalarOf<K> Number>
    requires(N <= Rank)
  Self pad(const std::int64_t (&counts)[N][2], Number value,
           CallSite site = CallSite::here()) const {
    return padded(counts, PadMode::constant, tensor_detail::scalar(value), site);
  }
  Tensor<Rank - 1, K> diagonal(std::int64_t offset = 0, std::int64_t first = -2,
                               std::int64_t second = -1, CallSite site = CallSite::here()) const
    requires(Rank >= 2)
  {
    return located(site, [&] {
      return made<Tensor<Rank - 1, K>>(hearth::diagonal(array(), offset, first, second));
    });
  }

  // The same value, dense and row-major.
  Self contiguous(CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::contiguous(array())); });
  }
  // `count` parts of nearly one size; split: parts of `size`, the last may be smaller.
  std::vector<Self> chunk(std::int64_t count, std::int64_t dim,
                          CallSite site = CallSite::here()) const {
    return located(site, [&] { return typed(hearth::chunk(array(), count, dim)); });
  }
  std::vector<Self> split(std::int64_t size, std::int64_t dim,
                          CallSite site = CallSite::here()) const {
    return located(site, [&] {
      if (size < 1) {
        throw Error(ErrorCode::invalid_argument, "split: size of a part is not positive; got " +
                                                     std::to_string(size) + ", expected >= 1");
      }
      const std::int64_t extent = array().shape(normalize_axis("split", dim, Rank));
      std::vector<std::int64_t> sizes;
      for (std::int64_t at = 0; at < extent; at += size) {
        sizes.push_back(extent - at < size ? extent - at : size);
      }
      return typed(hearth::split(array(), sizes, dim));
    });
  }
  std::vector<Self> split_with_sizes(const std::vector<std::int64_t>& sizes, std::int64_t dim,
                                     CallSite site = CallSite::here()) const {
    return located_as("split_with_sizes", site,
                      [&] { return typed(hearth::split(array(), sizes, dim)); });
  }
  static Self cat(const std::vector<Self>& tensors, std::int64_t dim,
                  CallSite site = CallSite::here()) {
    return located(site, [&] { return made<Self>(hearth::cat(erased(tensors), dim)); });
  }
  // Joins along a new dimension at `dim` of the result.
  static Tensor<Rank + 1, K> stack(const std::vector<Self>& tensors, std::int64_t dim,
                                   CallSite site = CallSite::here())
    requires(Rank < kMaxRank)
  {
    return located(site, [&] { return Tensor<Rank + 1, K>(hearth::stack(erased(tensors), dim)); });
  }

 private:
  const Array& array() const noexcept { return static_cast<const Self&>(*this).array(); }
  template <std::size_t N>
  Self padded(const std::int64_t (&counts)[N][2], PadMode mode, const Array& value,
              CallSite site) const {
    Dims before = Dims::filled(Rank, 0), after = Dims::filled(Rank, 0);
    for (std::size_t i = 0; i < N; ++i) {
      const int at = Rank - static_cast<int>(N - i);
      before[at] = counts[i][0];
      after[at] = counts[i][1];
    }
    return located_as("pad", site,
                      [&] { return made<Self>(hearth::pad(array(), before, after, mode, value)); });
  }
  static std::vector<Self> typed(std::vector<Array> arrays) {
    std::vector<Self> out;
    out.reserve(arrays.size());
    for (Array& array : arrays) out.emplace_back(std::move(array));
    return out;
  }
  static std::vector<Array> erased(const std::vector<Self>& tensors) {
    std::vector<Array> out;
    out.reserve(tensors.size());
    for (const Self& tensor : tensors) out.push_back(tensor.array());
    return out;
  }
};

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
