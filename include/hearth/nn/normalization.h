// A norm that is chosen at run time. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/nn/layer_norm.h"
#include "hearth/nn/norm.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

enum class NormKind : std::uint8_t { none, batch, group, instance, layer, rms };

// What a norm is, but for the features that it is of: those of a layer that takes one.
struct NormalizationOptions {
  NormKind kind = NormKind::batch;
  double epsilon = 1e-5;
  double momentum = 0.1;    // batch
  std::int64_t groups = 1;  // group
  bool affine = true;       // group, instance
  bool bias = true;         // layer
  ParameterOptions parameters = {};
};

// One of the norms or, for NormKind::none, nothing, as Burn's wrapper of that name. Batch, group
// and instance norms are of x [batch, features, ...], the others of x [..., features]. Parameters
// have the names that they have in the norm.
//
//   nn::Normalization norm(16, {.kind = nn::NormKind::group, .groups = 4});
struct HEARTH_API Normalization {
  Normalization() = default;
  // Throws Error{invalid_argument} as the norm does, and for no kind of NormKind.
  explicit Normalization(std::int64_t features, const NormalizationOptions& options);
  template <class Norm>
    requires(std::is_same_v<Norm, Identity> || std::is_same_v<Norm, BatchNorm> ||
             std::is_same_v<Norm, GroupNorm> || std::is_same_v<Norm, InstanceNorm> ||
             std::is_same_v<Norm, LayerNorm> || std::is_same_v<Norm, RmsNorm>)
  Normalization(Norm its_norm) : norm(std::move(its_norm)) {}  // NOLINT

  // `training` is for batch norms, whose statistics it changes.
  Array forward(const Array& x, bool training = true);
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, CallSite site = CallSite::here()) {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training)); });
  }
  // forward() without training, which changes nothing.
  Array evaluate(const Array& x) const;
  template <int R>
  Tensor<R> evaluate(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(evaluate(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    std::visit([&](auto& each) { std::remove_cvref_t<decltype(each)>::members(each, visitor); },
               self.norm);
  }

  std::variant<Identity, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm> norm;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
