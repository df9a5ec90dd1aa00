#include "nn/rope_options.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/require.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth::nn_detail {

RopeOptions rope_options(const char* layer, std::int64_t dim,
                         const nn::RotaryEncoding::Options& options) {
  require_in_range(options.dims >= 0 && options.dims <= dim && options.dims % 2 == 0, layer, "dims",
                   options.dims, "an even number from 0 to " + std::to_string(dim));
  const RopeScaling& scaling = options.scaling;
  RopeOptions out;
  out.base = options.base;
  out.interleaved = options.interleaved;
  out.dims = options.dims;
  out.frequencies = options.frequencies;
  if (!out.frequencies.defined() && scaling.kind != RopeScalingKind::none) {
    const NoGrad no_grad;
    out.frequencies =
        rope_frequencies(options.dims != 0 ? options.dims : dim, options.base, scaling);
  }
  const bool is_yarn = scaling.kind == RopeScalingKind::yarn;
  out.magnitude = options.magnitude.value_or(is_yarn ? rope_magnitude(scaling.factor) : 1);
  require_in_range(std::isfinite(out.magnitude), layer, "magnitude", out.magnitude,
                   "a finite number");
  return out;
}

Array turned(const Array& x, RopeOptions options, std::int64_t start, const Array& positions) {
  options.offset = positions.defined() ? 0 : start;
  options.positions = positions;
  if (options.frequencies.defined()) {
    options.frequencies = to_device(options.frequencies, x.device());
  }
  return rope(x, options);
}

}  // namespace hearth::nn_detail
