// Elements chosen by their values, draws by weight, and Burn's other names for parts and sums:
// nonzero(), mask_select(), categorical(), select_dim() and others. A base class of Tensor. What
// counts elements waits for their number, as selection.h says.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int Rank, TensorKind K>
class Selecting {
  using Self = Tensor<Rank, K>;
  // Dependent on Rank, since no Tensor is complete here.
  template <int R, TensorKind L>
  using OfRank = Tensor<Rank * 0 + R, L>;

 public:
  // For each dimension the indices of what is not 0.
  std::vector<OfRank<1, Int>> nonzero(CallSite site = CallSite::here()) const {
    return located(site, [&] {
      std::vector<OfRank<1, Int>> indices;
      for (Array& each : hearth::nonzero(array())) {
        indices.push_back(made<OfRank<1, Int>>(std::move(each)));
      }
      return indices;
    });
  }
  // The same as rows [count, rank].
  OfRank<2, Int> argwhere(CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<OfRank<2, Int>>(hearth::argwhere(array())); });
  }
  // The elements where a mask is true, [count].
  OfRank<1, K> mask_select(const Tensor<Rank, Bool>& mask, CallSite site = CallSite::here()) const {
    return located(site,
                   [&] { return made<OfRank<1, K>>(hearth::mask_select(array(), mask.array())); });
  }
  // Categories [..., count] drawn for each row of weights [..., categories].
  Tensor<Rank, Int> categorical(std::int64_t count, Generator* source = nullptr,
                                CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located(
        site, [&] { return made<Tensor<Rank, Int>>(hearth::categorical(array(), count, source)); });
  }

  // Element `index` of `dim`, which goes; counted from the end where negative.
  Tensor<(Rank > 1 ? Rank - 1 : 1), K> select_dim(std::int64_t dim, std::int64_t index,
                                                  CallSite site = CallSite::here()) const {
    return located_as("select_dim", site, [&] {
      const int at = normalize_axis("select_dim", dim, Rank);
      const std::int64_t start = index < 0 ? index + array().shape()[at] : index;
      const Array part = hearth::narrow(array(), at, start, 1);
      if constexpr (Rank == 1) {
        return made<Self>(Array(part));
      } else {
        return made<Tensor<Rank - 1, K>>(hearth::squeeze(part, {at}));
      }
    });
  }
  // All elements of `dim`, which stays with extent 1 in each.
  std::vector<Self> iter_dim(std::int64_t dim, CallSite site = CallSite::here()) const {
    return located_as("iter_dim", site, [&] {
      const int at = normalize_axis("iter_dim", dim, Rank);
      std::vector<Self> parts;
      for (std::int64_t i = 0; i < array().shape()[at]; ++i) {
        parts.push_back(made<Self>(hearth::narrow(array(), at, i, 1)));
      }
      return parts;
    });
  }
  // The sum over `dims`, which go.
  template <std::integral I, std::size_t N>
    requires(NumericKind<K> && N < Rank)
  Tensor<Rank - static_cast<int>(N), K> sum_dims_squeeze(const I (&dims)[N],
                                                         CallSite site = CallSite::here()) const {
    return located_as("sum_dims_squeeze", site, [&] {
      std::array<std::int64_t, N> axes;
      for (std::size_t i = 0; i < N; ++i) axes[i] = static_cast<std::int64_t>(dims[i]);
      return made<Tensor<Rank - static_cast<int>(N), K>>(hearth::sum(array(), Dims(axes)));
    });
  }
  // Degrees as radians, and back.
  Self deg2rad(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("deg2rad", site, [&] { return made<Self>(hearth::mul(array(), kRadians)); });
  }
  Self rad2deg(CallSite site = CallSite::here()) const
    requires std::same_as<K, Float>
  {
    return located_as("rad2deg", site,
                      [&] { return made<Self>(hearth::mul(array(), 1 / kRadians)); });
  }

 private:
  static constexpr double kRadians = 0.017453292519943295;  // pi / 180

  const Array& array() const noexcept { return static_cast<const Self&>(*this).array(); }
};

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
