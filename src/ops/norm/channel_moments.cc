// Statistics of channels and what is made of them in training: the sums are ops of their own, so
// that a device may take both in one pass over the memory.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace channels {
namespace {

constexpr ParamSpec kEpsilon[] = {{.name = "epsilon",
                                   .type = ParamType::f64,
                                   .optional = true,
                                   .default_value = 1e-5,
                                   .range = "[0, inf]"}};

std::string said(const Shape& got, const Shape& expected) {
  return "; got " + to_string(got) + ", expected " + to_string(expected);
}

// Input `i` is x [batch, channels, ...]. Returns its dtype.
DType infer_channels(const Inference& inference, int i) {
  require_input(inference, i);
  const DType dtype = operand_dtype(inference, i, i);
  require_float(inference, i, "x");
  const Shape& shape = inference.input(i).shape();
  if (shape.rank() < 2) {
    inference.fail(ErrorCode::shape, "x has no channels; got shape " + to_string(shape) +
                                         ", expected [batch, channels, ...]");
  }
  return dtype;
}

// Input `i` is a vector over the channels of x, in the dtype of x or in that x is computed in.
void require_vector(const Inference& inference, int i, const char* what, const Shape& x,
                    DType dtype) {
  if (!inference.has(i)) return;
  const Array& vector = inference.input(i);
  if (vector.shape() != Shape{x[1]}) {
    inference.fail(ErrorCode::shape, std::string(what) + " does not fit x " + to_string(x) +
                                         said(vector.shape(), Shape{x[1]}));
  }
  if (vector.dtype() != dtype && vector.dtype() != compute_dtype(dtype)) {
    inference.fail(ErrorCode::dtype, std::string(what) + " has another dtype than x; got " +
                                         std::string(name(vector.dtype())) + ", expected " +
                                         std::string(name(dtype)));
  }
}

// Two results, vectors over the channels of x.
void set_vectors(Inference& inference, const Shape& x, DType dtype) {
  inference.shape = Shape{x[1]};
  inference.dtype = compute_dtype(dtype);
  inference.scalar_dtype = dtype;
  for (OutputType& each : inference.more_outputs) each = {inference.shape, inference.dtype};
}

void infer_moments(Inference& inference) {
  const DType dtype = infer_channels(inference, 0);
  set_vectors(inference, inference.input(0).shape(), dtype);
}

void infer_sums(Inference& inference) {
  const DType dtype = infer_channels(inference, 1);
  const Shape& x = inference.input(1).shape();
  require_input(inference, 0);
  if (inference.input(0).shape() != x) {
    inference.fail(ErrorCode::shape, "grad and x differ" + said(inference.input(0).shape(), x));
  }
  if (inference.input(0).dtype() != dtype) {
    inference.fail(ErrorCode::dtype, "grad has another dtype than x; got " +
                                         std::string(name(inference.input(0).dtype())) +
                                         ", expected " + std::string(name(dtype)));
  }
  require_input(inference, 2);
  require_vector(inference, 2, "mean", x, dtype);
  set_vectors(inference, x, dtype);
}

void infer_batch_norm(Inference& inference) {
  const DType dtype = infer_channels(inference, 0);
  const Shape& x = inference.input(0).shape();
  const double epsilon = ParamReader(inference.params.statics().span()).f64();
  if (!(epsilon >= 0)) {
    inference.fail(ErrorCode::invalid_argument,
                   "epsilon is negative; got " + number_text(epsilon) + ", expected 0 or more");
  }
  require_vector(inference, 1, "weight", x, dtype);
  require_vector(inference, 2, "bias", x, dtype);
  set_vectors(inference, x, dtype);
  inference.shape = x;
  inference.dtype = dtype;
}

// A vector over channels, wide and shaped to stand beside x.
Array beside(const Array& vector, const Array& x) {
  Shape shape = Shape::filled(x.rank(), 1);
  shape[1] = x.shape()[1];
  return reshape(wide(vector), shape);
}

Array centred(const Array& x, const Array& mean) { return sub(wide(x), beside(mean, x)); }

// Over all axes but that of channels. What a sample has of a channel lies together in memory:
// summed by itself it is one pass, in order.
Array sum_of_channels(Array x) {
  Dims places;
  for (int i = 2; i < x.rank(); ++i) places.push_back(i);
  if (!places.empty()) x = sum(x, places);
  return sum(x, {0});
}

// Elements of a channel.
double count_of(const Shape& shape) {
  double count = static_cast<double>(shape[0]);
  for (int i = 2; i < shape.rank(); ++i) count *= static_cast<double>(shape[i]);
  return count;
}

std::vector<Array> moments_composite(const Composite& c) {
  const Array& x = c.input(0);
  Dims axes = {0};
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  const Array mean = hearth::mean(wide(x), axes);
  return {mean, div(sum_of_channels(square(centred(x, mean))), count_of(x.shape()))};
}

// What the gradients of mean and variance add to that of x, before anything of x's shape is
// recorded: what belongs to channels is one region then. Either may be undefined.
struct MomentsGradient {
  MomentsGradient(const Array& of_mean, const Array& of_variance, const Shape& x) {
    const double share = 1 / std::max(count_of(x), 1.0);
    if (of_variance.defined()) slope = mul(of_variance, 2 * share);
    if (of_mean.defined()) even = mul(of_mean, share);
  }
  // Added to `dx`, which may be undefined.
  Array added(Array dx, const Array& x, const Array& mean) const {
    if (slope.defined()) {
      const Array part = mul(centred(x, mean), beside(slope, x));
      dx = dx.defined() ? add(dx, part) : part;
    }
    if (!even.defined()) return dx;
    const Array part = beside(even, x);
    return dx.defined() ? add(dx, part) : expand(part, x.shape());
  }

  Array slope, even;
};

Grads moments_vjp(const Vjp& v) {
  const MomentsGradient moments(v.output_grad(0), v.output_grad(1), v.shape(0));
  return grads(cast(moments.added(Array(), v.input(0), v.output(0)), v.dtype(0)));
}

std::vector<Array> sums_composite(const Composite& c) {
  const Array grad = wide(c.input(0));
  return {sum_of_channels(grad), sum_of_channels(mul(grad, centred(c.input(1), c.input(2))))};
}

Grads sums_vjp(const Vjp& v) {
  const Array &grad = v.input(0), &x = v.input(1), &mean = v.input(2);
  const Array plain = v.output_grad(0), product = v.output_grad(1);
  Grads all(3);
  if (v.needs(0)) {
    Array dgrad;
    if (product.defined()) dgrad = mul(centred(x, mean), beside(product, x));
    if (plain.defined()) {
      const Array even = beside(plain, x);
      dgrad = dgrad.defined() ? add(dgrad, even) : expand(even, x.shape());
    }
    all[0] = cast(dgrad, v.dtype(0));
  }
  if (!product.defined()) return all;
  if (v.needs(1)) all[1] = cast(mul(wide(grad), beside(product, x)), v.dtype(1));
  if (v.needs(2)) all[2] = cast(neg(mul(product, v.output(0))), v.dtype(2));
  return all;
}

std::vector<Array> batch_norm_composite(const Composite& c) {
  const Array& x = c.input(0);
  std::vector<Array> moments = call_outputs(defs::channel_moments_op, kNoParams, {&x});
  Array factor = rsqrt(add(moments[1], c.statics().f64()));
  if (c.has(1)) factor = mul(factor, wide(c.input(1)));
  Array y = mul(centred(x, moments[0]), beside(factor, x));
  if (c.has(2)) y = add(y, beside(c.input(2), x));
  return {cast(y, x.dtype()), std::move(moments[0]), std::move(moments[1])};
}

// With h = (x - mean) / deviation, of a channel of n elements (Ioffe, Szegedy, "Batch
// Normalization", 2015, section 3):
//   dx = weight / deviation * (grad - sum(grad) / n - h * sum(grad * h) / n)
Grads batch_norm_vjp(const Vjp& v) {
  const Array &x = v.input(0), &mean = v.output(1);
  const Array& grad = v.output_grad(0);
  Array of_mean = v.output_grad(1), of_variance = v.output_grad(2);
  Grads all(static_cast<std::size_t>(v.input_count()));
  Array factor;
  if (grad.defined()) {
    const std::vector<Array> sums =
        call_outputs(defs::channel_sums_op, kNoParams, {&grad, &x, &mean});
    const Array scale = rsqrt(add(v.output(2), v.statics().f64()));
    const Array product = mul(sums[1], scale);
    if (v.has(1) && v.needs(1)) all[1] = product;
    if (v.has(2) && v.needs(2)) all[2] = sums[0];
    factor = v.has(1) ? mul(scale, wide(v.input(1))) : scale;
    // What reaches x by mean and variance, of which the latter has the factor 2.
    const Array by_mean = neg(mul(factor, sums[0]));
    const Array by_variance = mul(mul(factor, mul(scale, product)), -0.5);
    of_mean = of_mean.defined() ? add(of_mean, by_mean) : by_mean;
    of_variance = of_variance.defined() ? add(of_variance, by_variance) : by_variance;
  }
  if (!v.needs(0)) return all;
  const MomentsGradient moments(of_mean, of_variance, x.shape());
  const Array dx = grad.defined() ? mul(wide(grad), beside(factor, x)) : Array();
  all[0] = cast(moments.added(dx, x, mean), v.dtype(0));
  return all;
}

std::vector<SampleCase> moments_samples() {
  return {
      {{{{4, 3}}}, {}},          {{{{2, 3, 5}}}, {}},    {{{{2, 8, 3, 4}}}, {}},
      {{{{3, 2, 2, 2, 3}}}, {}}, {{{{1, 5, 1, 1}}}, {}}, {{{{7}}}, {}, kShapeError},
  };
}

std::vector<SampleCase> sums_samples() {
  return {
      {{{{4, 3}}, {{4, 3}}, {{3}}}, {}},
      {{{{5, 16}}, {{5, 16}}, {{16}}}, {}},
      {{{{2, 3, 5}}, {{2, 3, 5}}, {{3}}}, {}},
      {{{{2, 3, 8}}, {{2, 3, 8}}, {{3}}}, {}},
      {{{{2, 8, 3, 4}}, {{2, 8, 3, 4}}, {{8}}}, {}},
      {{{{0, 3, 2}}, {{0, 3, 2}}, {{3}}}, {}},
      {{{{4, 3}}, {{4, 2}}, {{3}}}, {}, kShapeError},
      {{{{4, 3}}, {{4, 3}}, {{4}}}, {}, kShapeError},
  };
}

std::vector<SampleCase> batch_norm_samples() {
  return {
      {{{{4, 3}}, {{3}}, {{3}}}, Params().f64(1e-2)},
      {{{{3, 2, 5}}, {{2}}}, Params().f64(1e-2)},
      {{{{2, 3, 3, 4}}}, Params().f64(1e-3)},
      {{{{4, 3}}, {{4}}}, Params().f64(1e-5), kShapeError},
      {{{{4, 3}}, {{3}}, {{2}}}, Params().f64(1e-5), kShapeError},
      {{{{7}}}, Params().f64(1e-5), kShapeError},
      {{{{4, 3}}}, Params().f64(-1), kArgumentError},
  };
}

}  // namespace
}  // namespace channels

constinit const OpDef defs::channel_moments_op = {
    .name = "channel_moments",
    .summary = "Mean and biased variance of each channel.",
    .shapes = "x [batch, channels, ...] -> mean and variance [channels]",
    .method = "",
    .outputs = 2,
    .infer = channels::infer_moments,
    .vjp = channels::moments_vjp,
    .saves = Saves::input0 | Saves::output,
    .composite_outputs = channels::moments_composite,
    .accepts_dtype = is_float,
    .samples = channels::moments_samples,
};

constinit const OpDef defs::channel_sums_op = {
    .name = "channel_sums",
    .summary = "Sums of grad and of grad * (x - mean) over each channel.",
    .shapes =
        "grad [batch, channels, ...], x [batch, channels, ...], mean [channels] -> sums of grad "
        "and of products [channels]",
    .method = "",
    .min_inputs = 3,
    .max_inputs = 3,
    .outputs = 2,
    .infer = channels::infer_sums,
    .vjp = channels::sums_vjp,
    .saves = Saves::input0 | Saves::input1 | Saves::input2 | Saves::output,
    .composite_outputs = channels::sums_composite,
    .accepts_dtype = is_float,
    .samples = channels::sums_samples,
};

constinit const OpDef defs::batch_norm_train_op = {
    .name = "batch_norm_train",
    .summary = "batch_norm with the mean and the variance of x itself, and these two.",
    .shapes =
        "x [batch, channels, ...], weight [channels], bias [channels] -> [batch, channels, ...], "
        "mean and variance [channels]",
    .method = "",
    .params = channels::kEpsilon,
    .min_inputs = 1,
    .max_inputs = 3,
    .outputs = 3,
    .infer = channels::infer_batch_norm,
    .vjp = channels::batch_norm_vjp,
    .saves = Saves::input0 | Saves::input1 | Saves::output1 | Saves::output2,
    .composite_outputs = channels::batch_norm_composite,
    .accepts_dtype = is_float,
    .samples = channels::batch_norm_samples,
};

inline namespace v0 {

std::tuple<Array, Array, Array> batch_norm_train(const Array& x, const Array& weight,
                                                 const Array& bias, double epsilon) {
  std::vector<Array> all = call_outputs(defs::batch_norm_train_op, Params().f64(epsilon),
                                        {&x, optional_input(weight), optional_input(bias)});
  return {std::move(all[0]), std::move(all[1]), std::move(all[2])};
}

}  // namespace v0
}  // namespace hearth
