// Elements in order: sort(), argsort(), topk(), median() and others, with the contracts of ops.h.
// A base class of Tensor. `dim` stays, with extent 1 in a median; it may be negative.
#pragma once

#include <cstdint>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor/types.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int Rank, TensorKind K>
class Sorting {
  using Self = Tensor<Rank, K>;
  using Places = Tensor<Rank, Int>;

 public:
  Self sort(std::int64_t dim, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::sort(array(), dim)); });
  }
  Self sort_descending(std::int64_t dim, CallSite site = CallSite::here()) const {
    return located_as("sort_descending", site,
                      [&] { return made<Self>(hearth::sort(array(), dim, true)); });
  }
  std::pair<Self, Places> sort_with_indices(std::int64_t dim,
                                            CallSite site = CallSite::here()) const {
    return located(site, [&] { return typed(hearth::sort_with_indices(array(), dim)); });
  }
  std::pair<Self, Places> sort_descending_with_indices(std::int64_t dim,
                                                       CallSite site = CallSite::here()) const {
    return located_as("sort_descending_with_indices", site,
                      [&] { return typed(hearth::sort_with_indices(array(), dim, true)); });
  }
  Places argsort(std::int64_t dim, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Places>(hearth::argsort(array(), dim)); });
  }
  Places argsort_descending(std::int64_t dim, CallSite site = CallSite::here()) const {
    return located_as("argsort_descending", site,
                      [&] { return made<Places>(hearth::argsort(array(), dim, true)); });
  }
  // The k largest along `dim`, in descending order.
  Self topk(std::int64_t k, std::int64_t dim, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Self>(hearth::topk(array(), k, dim)); });
  }
  Places argtopk(std::int64_t k, std::int64_t dim, CallSite site = CallSite::here()) const {
    return located(site, [&] { return made<Places>(hearth::argtopk(array(), k, dim)); });
  }
  std::pair<Self, Places> topk_with_indices(std::int64_t k, std::int64_t dim,
                                            CallSite site = CallSite::here()) const {
    return located(site, [&] { return typed(hearth::topk_with_indices(array(), k, dim)); });
  }
  // Of an even number of elements the lower of the two in the middle.
  Self median(std::int64_t dim, CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return made<Self>(hearth::median(array(), dim, true)); });
  }
  std::pair<Self, Places> median_with_indices(std::int64_t dim,
                                              CallSite site = CallSite::here()) const
    requires NumericKind<K>
  {
    return located(site, [&] { return typed(hearth::median_with_indices(array(), dim, true)); });
  }

 private:
  const Array& array() const noexcept { return static_cast<const Self&>(*this).array(); }
  static std::pair<Self, Places> typed(std::pair<Array, Array> both) {
    return {made<Self>(std::move(both.first)), made<Places>(std::move(both.second))};
  }
};

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
