#include "hearth/nn/normalization.h"

#include <string>

#include "core/require_listed.h"

namespace hearth {
inline namespace v0 {
namespace nn {

Normalization::Normalization(std::int64_t features, const NormalizationOptions& options) {
  require_listed("normalization", "kind", options.kind, NormKind::rms);
  const ParameterOptions& parameters = options.parameters;
  const NormOptions of_channels = {options.epsilon, options.affine, parameters};
  switch (options.kind) {
    case NormKind::none:
      break;
    case NormKind::batch:
      norm = BatchNorm(features, {options.epsilon, options.momentum, parameters});
      break;
    case NormKind::group:
      norm = GroupNorm(options.groups, features, of_channels);
      break;
    case NormKind::instance:
      norm = InstanceNorm(features, of_channels);
      break;
    case NormKind::layer:
      norm = LayerNorm(features, options.epsilon, options.bias, parameters);
      break;
    case NormKind::rms:
      norm = RmsNorm(features, options.epsilon, parameters);
      break;
  }
}

Array Normalization::forward(const Array& x, bool training) {
  if (auto* const batch = std::get_if<BatchNorm>(&norm)) return batch->forward(x, training);
  return evaluate(x);
}

Array Normalization::evaluate(const Array& x) const {
  return std::visit(
      [&](const auto& each) {
        if constexpr (requires { each.evaluate(x); }) {
          return each.evaluate(x);
        } else {
          return each.forward(x);
        }
      },
      norm);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
