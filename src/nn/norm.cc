#include "hearth/nn/norm.h"

#include <string>

#include "core/require.h"
#include "core/throw_as.h"
#include "nn/options.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

void require_channel_count(const char* layer, std::int64_t channels) {
  if (channels >= 0) return;
  throw Error(ErrorCode::invalid_argument, std::string(layer) + ": negative size; got " +
                                               std::to_string(channels) + ", expected a size >= 0");
}

void make_affine(std::int64_t channels, const ParameterOptions& options, Tensor<1>* weight,
                 Tensor<1>* bias) {
  *weight = Tensor<1>(Initializer::ones().make({channels}, channels, channels, options));
  *bias = Tensor<1>(Initializer::zeros().make({channels}, channels, channels, options));
}

// For an op whose vectors have the dtype of x or, beside halves, f32.
Array for_channels(const Tensor<1>& vector, const Array& x) {
  if (!vector.defined() || !x.defined() || !is_float(x.dtype())) return vector.array();
  return cast(vector.array(), x.dtype() == DType::f64 ? DType::f64 : DType::f32);
}

// Follows `newest` by its share, in the dtype that it is kept in.
Tensor<1> followed(const Tensor<1>& running, const Array& newest, double momentum) {
  const Array kept = running.array().detach();
  const Array next = cast(newest.detach(), kept.dtype());
  return Tensor<1>(add(mul(kept, 1 - momentum), mul(next, momentum)));
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, const Options& options) try
    : epsilon(options.epsilon), momentum(options.momentum) {
  require_channel_count("batch_norm", channels);
  require_non_negative("batch_norm", "epsilon", epsilon);
  require_in_range(momentum >= 0 && momentum <= 1, "batch_norm", "momentum", momentum,
                   "a number from 0 to 1");
  const ParameterOptions& parameters = options.parameters;
  make_affine(channels, parameters, &weight, &bias);
  running_mean = Tensor<1>(zeros({channels}, parameters.dtype, parameters.device));
  running_var = Tensor<1>(ones({channels}, parameters.dtype, parameters.device));
} catch (const Error& error) {
  throw_as("batch_norm", error);
}

Array BatchNorm::forward(const Array& x, bool training) try {
  if (!training) return evaluate(x);
  const auto [out, mean, variance] =
      batch_norm_train(x, for_channels(weight, x), for_channels(bias, x), epsilon);
  // Of a batch without elements there is nothing to follow.
  if (x.size() > 0) {
    const Tensor<1> next_mean = followed(running_mean, mean, momentum);
    running_var = followed(running_var, variance, momentum);
    running_mean = next_mean;
  }
  return out;
} catch (const Error& error) {
  throw_as("batch_norm", error);
}

Array BatchNorm::evaluate(const Array& x) const {
  // Statistics are no parameters, whatever a caller has made of them.
  const auto fixed = [&](const Tensor<1>& vector) {
    return vector.defined() ? for_channels(Tensor<1>(vector.array().detach()), x) : Array();
  };
  return batch_norm(x, fixed(running_mean), fixed(running_var), for_channels(weight, x),
                    for_channels(bias, x), epsilon);
}

GroupNorm::GroupNorm(std::int64_t group_count, std::int64_t channels,
                     const NormOptions& options) try
    : groups(group_count), epsilon(options.epsilon) {
  require_channel_count("group_norm", channels);
  require_non_negative("group_norm", "epsilon", epsilon);
  if (groups < 1 || channels % groups != 0) {
    throw Error(ErrorCode::invalid_argument,
                "group_norm: groups do not divide the channels; got " + std::to_string(groups) +
                    " groups of " + std::to_string(channels) + " channels, expected a divisor");
  }
  if (options.affine) make_affine(channels, options.parameters, &weight, &bias);
} catch (const Error& error) {
  throw_as("group_norm", error);
}

Array GroupNorm::forward(const Array& x) const {
  return group_norm(x, groups, for_channels(weight, x), for_channels(bias, x), epsilon);
}

InstanceNorm::InstanceNorm(std::int64_t channels, const NormOptions& options) try
    : epsilon(options.epsilon) {
  require_channel_count("instance_norm", channels);
  require_non_negative("instance_norm", "epsilon", epsilon);
  if (options.affine) make_affine(channels, options.parameters, &weight, &bias);
} catch (const Error& error) {
  throw_as("instance_norm", error);
}

Array InstanceNorm::forward(const Array& x) const {
  return instance_norm(x, for_channels(weight, x), for_channels(bias, x), epsilon);
}

Array LocalResponseNorm::forward(const Array& x) const {
  return local_response_norm(x, size, alpha, beta, k);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
