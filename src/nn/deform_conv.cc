#include "hearth/nn/deform_conv.h"

#include <algorithm>
#include <string>

#include "core/throw_as.h"
#include "nn/options.h"
#include "nn/parameter_dtype.h"

namespace hearth {
inline namespace v0 {
namespace nn {

DeformConv2d::DeformConv2d(std::int64_t in, std::int64_t out, const Kernel<2>& kernel,
                           const DeformConvOptions& options, const ConvParameters& parameters) try
    : window(options) {
  const Dims extents(kernel.extents);
  const std::int64_t groups = options.weight_groups, offset_groups = options.offset_groups;
  const bool fits = in >= 0 && out >= 0 && groups > 0 && in % groups == 0 && out % groups == 0 &&
                    offset_groups > 0 && in % offset_groups == 0 && extents[0] > 0 &&
                    extents[1] > 0;
  if (!fits) {
    throw Error(ErrorCode::invalid_argument,
                "deform_conv2d: sizes do not fit; got " + std::to_string(in) + " and " +
                    std::to_string(out) + " channels, kernel " + to_string(extents) + ", " +
                    std::to_string(groups) + " weight groups and " + std::to_string(offset_groups) +
                    " offset groups, expected kernels of at least 1 and groups that divide the "
                    "channels");
  }
  check_shape("deform_conv2d", {std::max<std::int64_t>(in, 1), std::max<std::int64_t>(out, 1),
                                extents[0], extents[1]});
  nn_detail::require_per_axis("deform_conv2d", "stride", options.stride, 2, 1);
  nn_detail::require_per_axis("deform_conv2d", "padding", options.padding, 2, 0);
  nn_detail::require_per_axis("deform_conv2d", "dilation", options.dilation, 2, 1);
  const Shape shape = {out, in / groups, extents[0], extents[1]};
  const std::int64_t taps = element_count(extents);
  const std::int64_t fan_in = in / groups * taps, fan_out = out / groups * taps;
  weight = Tensor<4>(parameters.initializer.make(shape, fan_in, fan_out, parameters.parameters));
  if (!parameters.bias) return;
  bias = Tensor<1>(parameters.initializer.make({out}, fan_in, fan_out, parameters.parameters));
} catch (const Error& error) {
  throw_as("deform_conv2d", error);
}

Array DeformConv2d::forward(const Array& x, const Array& offset, const Array& mask) const {
  return deform_conv2d(x, offset, nn_detail::as_dtype_of("deform_conv2d", weight, x), mask,
                       nn_detail::as_dtype_of("deform_conv2d", bias, x), window);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
