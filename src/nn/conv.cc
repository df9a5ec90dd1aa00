#include <algorithm>
#include <string>

#include "core/throw_as.h"
#include "hearth/nn/conv.h"
#include "nn/options.h"
#include "nn/parameter_dtype.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

void require_channels(const char* layer, std::int64_t in, std::int64_t out, const Dims& kernel,
                      std::int64_t groups) {
  bool fits = in >= 0 && out >= 0 && groups > 0 && in % groups == 0 && out % groups == 0;
  for (const std::int64_t extent : kernel) fits = fits && extent > 0;
  if (fits) {
    // Fans are products of these.
    Shape all = kernel;
    all.push_back(std::max<std::int64_t>(in, 1));
    all.push_back(std::max<std::int64_t>(out, 1));
    return check_shape(layer, all);
  }
  throw Error(ErrorCode::invalid_argument,
              std::string(layer) + ": sizes do not fit; got " + std::to_string(in) + " and " +
                  std::to_string(out) + " channels, kernel " + to_string(kernel) + " and " +
                  std::to_string(groups) +
                  " groups, expected kernels of at least 1 and groups that divide the channels");
}

template <class Options>
void require_window(const char* layer, const Options& options, int axes) {
  nn_detail::require_per_axis(layer, "stride", options.stride, axes, 1);
  nn_detail::require_per_axis(layer, "padding", options.padding, axes, 0);
  nn_detail::require_per_axis(layer, "padding_end", options.padding_end, axes, 0);
  nn_detail::require_per_axis(layer, "dilation", options.dilation, axes, 1);
}

void require_padding_or_same(const ConvOptions& options) {
  if (!options.same || (options.padding.empty() && options.padding_end.empty())) return;
  throw Error(ErrorCode::invalid_argument,
              "conv: padding beside same; got " +
                  to_string(options.padding.empty() ? options.padding_end : options.padding) +
                  ", expected one of them");
}

// Weights [first, second, kernel...]; the fans are what the initializer is told.
template <int Rank>
void make(Tensor<Rank>* weight, Tensor<1>* bias, std::int64_t first, std::int64_t second,
          const Dims& kernel, std::int64_t out, std::int64_t fan_in, std::int64_t fan_out,
          const ConvParameters& options) {
  Shape shape = {first, second};
  for (const std::int64_t extent : kernel) shape.push_back(extent);
  const ParameterOptions& parameters = options.parameters;
  *weight = Tensor<Rank>(options.initializer.make(shape, fan_in, fan_out, parameters));
  if (!options.bias) return;
  *bias = Tensor<1>(options.initializer.make({out}, fan_in, fan_out, parameters));
}

}  // namespace

template <int Axes>
Conv<Axes>::Conv(std::int64_t in, std::int64_t out, const Kernel<Axes>& kernel,
                 const ConvOptions& options, const ConvParameters& parameters) try
    : window(options) {
  const Dims extents(kernel.extents);
  require_channels("conv", in, out, extents, options.groups);
  require_window("conv", options, Axes);
  require_padding_or_same(options);
  const std::int64_t taps = element_count(extents), groups = options.groups;
  make(&weight, &bias, out, in / groups, extents, out, in / groups * taps, out / groups * taps,
       parameters);
} catch (const Error& error) {
  throw_as("conv", error);
}

template <int Axes>
Array Conv<Axes>::forward(const Array& x) const {
  return conv(x, nn_detail::as_dtype_of("conv", weight, x), nn_detail::as_dtype_of("conv", bias, x),
              window);
}

template <int Axes>
ConvTranspose<Axes>::ConvTranspose(std::int64_t in, std::int64_t out, const Kernel<Axes>& kernel,
                                   const ConvTransposeOptions& options,
                                   const ConvParameters& parameters) try
    : window(options) {
  const Dims extents(kernel.extents);
  require_channels("conv_transpose", in, out, extents, options.groups);
  require_window("conv_transpose", options, Axes);
  nn_detail::require_per_axis("conv_transpose", "output_padding", options.output_padding, Axes, 0);
  const std::int64_t taps = element_count(extents), groups = options.groups;
  // As PyTorch has it: the fan of the weight as it lies, [in, out / groups, kernel...].
  make(&weight, &bias, in, out / groups, extents, out, out / groups * taps, in / groups * taps,
       parameters);
} catch (const Error& error) {
  throw_as("conv_transpose", error);
}

template <int Axes>
Array ConvTranspose<Axes>::forward(const Array& x) const {
  return conv_transpose(x, nn_detail::as_dtype_of("conv_transpose", weight, x),
                        nn_detail::as_dtype_of("conv_transpose", bias, x), window);
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;

}  // namespace nn
}  // namespace v0
}  // namespace hearth
