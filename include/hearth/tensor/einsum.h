// einsum of typed tensors. `site` is the caller's line.
#pragma once

#include <string_view>

#include "hearth/call_site.h"
#include "hearth/ops/einsum.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

namespace tensor_detail {
// Subscripts, and the line that they stand in.
struct Subscripts {
  std::string_view text;
  CallSite site;
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  Subscripts(const Text& subscripts, CallSite own = CallSite::here())  // NOLINT
      : text(subscripts), site(own) {}
};
}  // namespace tensor_detail

// The rank of the result stands first: einsum<2>("ij,jk->ik", a, b). One number is of shape [1]:
// einsum<1>("ij->", x).
template <int R, NumericKind K, int... Ranks>
Tensor<R, K> einsum(const tensor_detail::Subscripts& subscripts, const Tensor<Ranks, K>&... tensors)
  requires(sizeof...(Ranks) > 0)
{
  return located_as("einsum", subscripts.site, [&] {
    const Array result = hearth::einsum(subscripts.text, {tensors.array()...});
    return Tensor<R, K>(R == 1 && result.rank() == 0 ? hearth::reshape(result, {1}) : result);
  });
}

}  // namespace v0
}  // namespace hearth
