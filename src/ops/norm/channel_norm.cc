// Normalisation of channels with statistics that are given or are those of groups, made of other
// ops. That of a batch in training is an op: ops/norm/channel_moments.cc.
#include <algorithm>
#include <string>
#include <vector>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

void require_channels(const char* op, const Array& x, double epsilon) {
  require_float_array(op, x);
  if (x.rank() < 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": x has no channels; got shape " +
                                      to_string(x.shape()) + ", expected [batch, channels, ...]");
  }
  if (!(epsilon >= 0)) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": epsilon is negative; got " +
                                                 number_text(epsilon) + ", expected 0 or more");
  }
}

// [1, channels, 1, ...] as [batch, channels, 1, ...]: a gradient is then summed over what a sample
// has of a channel, which lies together in memory, before it is over samples.
Array for_each_sample(const Array& per_channel, const Array& x) {
  Shape shape = per_channel.shape();
  shape[0] = x.shape()[0];
  return expand(per_channel, shape);
}

// A vector [channels] in the dtype that x is computed in, shaped to stand beside x.
Array beside_channels(const char* op, const char* what, const Array& vector, const Array& x) {
  const std::int64_t channels = x.shape()[1];
  if (!vector.defined()) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": no " + what +
                    "; got an undefined array, expected one of shape " +
                    to_string(Shape{channels}));
  }
  if (vector.shape() != Shape{channels}) {
    throw Error(ErrorCode::shape, std::string(op) + ": " + what + " does not fit x " +
                                      to_string(x.shape()) + "; got " + to_string(vector.shape()) +
                                      ", expected " + to_string(Shape{channels}));
  }
  const DType dtype = compute_dtype(x.dtype());
  if (vector.dtype() != x.dtype() && vector.dtype() != dtype) {
    throw Error(ErrorCode::dtype, std::string(op) + ": " + what +
                                      " has another dtype than x; got " +
                                      std::string(name(vector.dtype())) + ", expected " +
                                      std::string(name(x.dtype())));
  }
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) shape.push_back(i == 1 ? channels : 1);
  return reshape(cast(vector, dtype), shape);
}

// values * weight + bias, in x's dtype; both may be undefined.
Array scaled(const char* op, const Array& values, const Array& weight, const Array& bias,
             const Array& x) {
  Array out = values;
  if (weight.defined())
    out = mul(out, for_each_sample(beside_channels(op, "weight", weight, x), x));
  if (bias.defined()) out = add(out, for_each_sample(beside_channels(op, "bias", bias, x), x));
  return cast(out, x.dtype());
}

// centred * weight / sqrt(variance + epsilon) + bias: what belongs to a channel is worked out once.
Array from_statistics(const char* op, const Array& centred, const Array& variance,
                      const Array& weight, const Array& bias, double epsilon, const Array& x) {
  Array factor = rsqrt(add(variance, epsilon));
  if (weight.defined()) factor = mul(factor, beside_channels(op, "weight", weight, x));
  return scaled(op, mul(centred, for_each_sample(factor, x)), Array(), bias, x);
}

// Of 16-bit floats: statistics and result each read x as it is, once, where layer_norm would read a
// copy in f32 and store one.
Array grouped_halves(const char* op, const Array& x, std::int64_t groups, const Array& weight,
                     const Array& bias, double epsilon) {
  const std::int64_t each = x.shape()[1] / groups;
  const Array values = wide(reshape(x, {x.shape()[0], groups, each, -1}));
  const Array by_group = reshape(x, {1, x.shape()[0] * groups, -1});
  if (!weight.defined() && !bias.defined()) {
    // The gradient takes its sums in one pass.
    const Array none;
    return reshape(std::get<0>(batch_norm_train(by_group, none, none, epsilon)), x.shape());
  }
  // Each group as a channel of one sample.
  const std::vector<Array> moments = call_outputs(defs::channel_moments_op, Params(), {&by_group});
  const Shape beside_groups{x.shape()[0], groups, 1, 1};
  const Array centred = sub(values, reshape(moments[0], beside_groups));
  const Array variance = reshape(moments[1], beside_groups);
  const auto beside = [&](const char* what, const Array& vector) {
    return expand(reshape(beside_channels(op, what, vector, x), {1, groups, each, 1}),
                  {x.shape()[0], groups, each, 1});
  };
  Array out = mul(centred, rsqrt(add(variance, epsilon)));
  if (weight.defined()) out = mul(out, beside("weight", weight));
  if (bias.defined()) out = add(out, beside("bias", bias));
  return reshape(cast(out, x.dtype()), x.shape());
}

// Rows of one group each, which layer_norm normalises.
Array grouped(const char* op, const Array& x, std::int64_t groups, const Array& weight,
              const Array& bias, double epsilon) {
  const std::int64_t channels = x.shape()[1];
  if (groups < 1 || groups > std::max<std::int64_t>(channels, 1) || channels % groups != 0) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": groups do not divide the channels; got " +
                    std::to_string(groups) + " groups of " + std::to_string(channels) +
                    " channels, expected a divisor");
  }
  if (x.size() == 0) return scaled(op, wide(x), weight, bias, x);
  std::int64_t row = channels / groups;
  for (int i = 2; i < x.rank(); ++i) row *= x.shape()[i];
  if (size_of(x.dtype()) == 2) return grouped_halves(op, x, groups, weight, bias, epsilon);
  const Array rows = reshape(wide(x), {x.shape()[0] * groups, row});
  return scaled(op, reshape(layer_norm(rows, Array(), Array(), epsilon), x.shape()), weight, bias,
                x);
}

}  // namespace

inline namespace v0 {

Array batch_norm(const Array& x, const Array& mean, const Array& variance, const Array& weight,
                 const Array& bias, double epsilon) try {
  require_channels("batch_norm", x, epsilon);
  const Array centred =
      sub(wide(x), for_each_sample(beside_channels("batch_norm", "mean", mean, x), x));
  return from_statistics("batch_norm", centred,
                         beside_channels("batch_norm", "variance", variance, x), weight, bias,
                         epsilon, x);
} catch (const Error& error) {
  throw_as("batch_norm", error);
}

Array group_norm(const Array& x, std::int64_t groups, const Array& weight, const Array& bias,
                 double epsilon) try {
  require_channels("group_norm", x, epsilon);
  return grouped("group_norm", x, groups, weight, bias, epsilon);
} catch (const Error& error) {
  throw_as("group_norm", error);
}

Array instance_norm(const Array& x, const Array& weight, const Array& bias, double epsilon) try {
  require_channels("instance_norm", x, epsilon);
  // Without channels there is nothing to divide into groups.
  const std::int64_t groups = x.shape()[1] == 0 ? 1 : x.shape()[1];
  return grouped("instance_norm", x, groups, weight, bias, epsilon);
} catch (const Error& error) {
  throw_as("instance_norm", error);
}

Array local_response_norm(const Array& x, std::int64_t size, double alpha, double beta,
                          double k) try {
  require_channels("local_response_norm", x, 0);
  if (size < 1) {
    throw Error(ErrorCode::invalid_argument, "local_response_norm: no channels to sum over; got " +
                                                 std::to_string(size) + ", expected 1 or more");
  }
  if (x.size() == 0) return contiguous(x);
  // A window that covers all channels from each of them sums over all, and no more.
  const std::int64_t channels = x.shape()[1];
  const std::int64_t before = std::min(size / 2, channels - 1);
  const std::int64_t after = std::min((size - 1) / 2, channels - 1);
  Dims left, right;
  for (int i = 0; i < x.rank(); ++i) {
    left.push_back(i == 1 ? before : 0);
    right.push_back(i == 1 ? after : 0);
  }
  const Array values = wide(x);
  const Array padded = pad(square(values), left, right);
  const Array sums = sum(unfold(padded, 1, before + 1 + after), {-1});
  const Array divisor = add(mul(sums, alpha / static_cast<double>(size)), k);
  return cast(div(values, pow(divisor, beta)), x.dtype());
} catch (const Error& error) {
  throw_as("local_response_norm", error);
}

}  // namespace v0
}  // namespace hearth
