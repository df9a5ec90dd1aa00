// layer_norm, rms_norm and l2_norm: ops over rows, the last axis.

#include <cmath>

#include "core/number_text.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {

namespace {

constexpr ParamSpec kEpsilon[] = {{.name = "epsilon",
                                   .type = ParamType::f64,
                                   .optional = true,
                                   .default_value = 1e-5,
                                   .range = "[0, inf]"}};
constexpr ParamSpec kUnitEpsilon[] = {{.name = "epsilon",
                                       .type = ParamType::f64,
                                       .optional = true,
                                       .default_value = 1e-6,
                                       .range = "[0, inf]"}};
// x is input `x`; the inputs after it are vectors as long as its last axis. Returns that extent.
std::int64_t infer_rows(Inference& inference, int x) {
  const DType dtype = common_dtype(inference);
  require_float(inference, x, "x");
  const Shape& shape = inference.input(x).shape();
  if (shape.rank() == 0) {
    inference.fail(ErrorCode::shape, "x has no last axis; got shape [], expected rank 1 or more");
  }
  const std::int64_t extent = shape.back();
  for (int i = x + 1; i < static_cast<int>(inference.inputs.size()); ++i) {
    if (!inference.has(i) || inference.input(i).shape() == Shape{extent}) continue;
    inference.fail(ErrorCode::shape, std::string(i == x + 1 ? "weight" : "bias") +
                                         " does not fit x " + to_string(shape) + "; got " +
                                         to_string(inference.input(i).shape()) + ", expected " +
                                         to_string(Shape{extent}));
  }
  const double epsilon = ParamReader(inference.params.statics().span()).f64();
  if (!(epsilon >= 0)) {
    inference.fail(ErrorCode::invalid_argument,
                   "epsilon is negative; got " + number_text(epsilon) + ", expected 0 or more");
  }
  inference.shape = shape;
  inference.dtype = inference.scalar_dtype = dtype;
  return extent;
}

void infer_norm(Inference& inference) { infer_rows(inference, 0); }

// The gradients of x, then of vectors as long as a row.
void infer_norm_backward(Inference& inference) {
  const std::int64_t extent = infer_rows(inference, 1);
  if (inference.input(0).shape() != inference.input(1).shape()) {
    inference.fail(ErrorCode::shape,
                   "grad and x differ; got " + to_string(inference.input(0).shape()) + " and " +
                       to_string(inference.input(1).shape()) + ", expected one shape");
  }
  for (OutputType& vector : inference.more_outputs) vector = {{extent}, inference.dtype};
}

Array row_mean(const Array& x) { return mean(x, {-1}, true); }

// Summed over all axes but the last.
Array column_sum(const Array& x) { return sum_to(x, {x.shape().back()}); }

// What forward and backward share: the rows centred (or not) and divided by their deviation.
struct Normalized {
  Array value;
  Array scale;  // 1 / deviation, [.., 1]
};

Normalized normalize(const Array& x, double epsilon, bool centred) {
  const Array rows = centred ? sub(x, row_mean(x)) : x;
  const Array scale = rsqrt(add(row_mean(square(rows)), make_scalar(epsilon, x.dtype())));
  return {mul(rows, scale), scale};
}

Array norm_composite(const Composite& c, bool centred) {
  const Array& x = c.input(0);
  if (x.size() == 0) return contiguous(x);
  Array y = normalize(wide(x), c.statics().f64(), centred).value;
  if (c.has(1)) y = mul(y, wide(c.input(1)));
  if (c.has(2)) y = add(y, wide(c.input(2)));
  return cast(y, x.dtype());
}

Array layer_norm_composite(const Composite& c) { return norm_composite(c, true); }
Array rms_norm_composite(const Composite& c) { return norm_composite(c, false); }

std::vector<Array> norm_backward_composite(const Composite& c, bool centred) {
  const DType dtype = c.input(1).dtype();
  const Shape row = {c.input(1).shape().back()};
  const Array grad = wide(c.input(0));
  const Array x = wide(c.input(1));
  if (x.size() == 0) {
    std::vector<Array> nothing = {contiguous(c.input(1)), zeros(row, dtype, c.device)};
    if (centred) nothing.push_back(zeros(row, dtype, c.device));
    return nothing;
  }
  const Normalized norm = normalize(x, c.statics().f64(), centred);
  const Array inner = c.has(2) ? mul(grad, wide(c.input(2))) : grad;
  Array dx = sub(inner, mul(norm.value, row_mean(mul(inner, norm.value))));
  if (centred) dx = sub(dx, row_mean(inner));
  std::vector<Array> all = {cast(mul(dx, norm.scale), dtype),
                            cast(column_sum(mul(grad, norm.value)), dtype)};
  if (centred) all.push_back(cast(column_sum(grad), dtype));
  return all;
}

std::vector<Array> layer_norm_backward_composite(const Composite& c) {
  return norm_backward_composite(c, true);
}
std::vector<Array> rms_norm_backward_composite(const Composite& c) {
  return norm_backward_composite(c, false);
}

Grads norm_vjp(const Vjp& v, const OpDef& backward) {
  const Array* weight = v.has(1) ? &v.input(1) : nullptr;
  const std::vector<Array> all =
      call_outputs(backward, v.record.params, {&v.grad, &v.input(0), weight});
  Grads grads(static_cast<std::size_t>(v.input_count()));
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (v.needs(static_cast<int>(i))) grads[i] = all[i];
  }
  return grads;
}

Grads layer_norm_vjp(const Vjp& v) { return norm_vjp(v, defs::layer_norm_backward_op); }
Grads rms_norm_vjp(const Vjp& v) { return norm_vjp(v, defs::rms_norm_backward_op); }

// 1 / the length of each row, [.., 1].
Array inverse_length(const Array& rows, double epsilon) {
  return rsqrt(add(sum(square(rows), {-1}, true), make_scalar(epsilon, rows.dtype())));
}

Array l2_norm_composite(const Composite& c) {
  const Array& x = c.input(0);
  if (x.size() == 0) return contiguous(x);
  const Array rows = wide(x);
  return cast(mul(rows, inverse_length(rows, c.statics().f64())), x.dtype());
}

Grads l2_norm_vjp(const Vjp& v) {
  const Array rows = wide(v.input(0)), grad = wide(v.grad);
  if (rows.size() == 0) return {contiguous(v.grad)};
  const Array inverse = inverse_length(rows, v.statics().f64());
  const Array unit = mul(rows, inverse);
  const Array along = mul(unit, sum(mul(grad, unit), {-1}, true));
  return {cast(mul(sub(grad, along), inverse), v.dtype(0))};
}

std::vector<SampleCase> l2_norm_samples() {
  return {
      {{{{4, 6}}}, Params().f64(1e-6)},
      {{{{2, 3, 5}}}, Params().f64(1e-3)},
      {{{{7}}}, Params().f64(0.5)},
      {{{{0, 3}}}, Params().f64(1e-6)},
      {{{{2, 9001}}}, Params().f64(1e-6)},
      {{{Shape{}}}, Params().f64(1e-6), kShapeError},
      {{{{4, 6}}}, Params().f64(-1), kArgumentError},
  };
}

std::vector<SampleCase> layer_norm_samples() {
  return {
      {{{{4, 6}}, {{6}}, {{6}}}, Params().f64(1e-5)},
      {{{{2, 3, 5}}, {{5}}}, Params().f64(1e-5)},
      {{{{7}}}, Params().f64(1e-3)},
      {{{{0, 3}}, {{3}}, {{3}}}, Params().f64(1e-5)},
      {{{{4, 6}}, {{5}}, {{6}}}, Params().f64(1e-5), kShapeError},
      {{{{4, 6}}, {{6}}, {{4, 6}}}, Params().f64(1e-5), kShapeError},
      {{{Shape{}}}, Params().f64(1e-5), kShapeError},
      {{{{4, 6}}}, Params().f64(-1), kArgumentError},
  };
}

std::vector<SampleCase> rms_norm_samples() {
  return {
      {{{{4, 6}}, {{6}}}, Params().f64(1e-6)},
      {{{{2, 3, 5}}}, Params().f64(1e-5)},
      {{{{7}}, {{7}}}, Params().f64(1e-3)},
      {{{{0, 3}}, {{3}}}, Params().f64(1e-5)},
      {{{{4, 6}}, {{1}}}, Params().f64(1e-5), kShapeError},
      {{{Shape{}}}, Params().f64(1e-5), kShapeError},
  };
}

std::vector<SampleCase> norm_backward_samples() {
  return {
      {{{{4, 6}}, {{4, 6}}, {{6}}}, Params().f64(1e-5)},
      {{{{2, 3, 5}}, {{2, 3, 5}}}, Params().f64(1e-5)},
      {{{{0, 3}}, {{0, 3}}, {{3}}}, Params().f64(1e-5)},
      {{{{4, 6}}, {{4, 5}}}, Params().f64(1e-5), kShapeError},
  };
}

}  // namespace

constinit const OpDef defs::layer_norm_op = {
    .name = "layer_norm",
    .summary = "(x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis.",
    .shapes = "x [..., dim], weight [dim], bias [dim] -> [..., dim]",
    .method = "",
    .params = kEpsilon,
    .min_inputs = 1,
    .max_inputs = 3,
    .infer = infer_norm,
    .vjp = layer_norm_vjp,
    .saves = Saves::input0 | Saves::input1,
    .composite = layer_norm_composite,
    .accepts_dtype = is_float,
    .samples = layer_norm_samples,
};

constinit const OpDef defs::layer_norm_backward_op = {
    .name = "layer_norm_backward",
    .revision = 2,
    .summary = "Gradients of layer_norm for x, weight and bias.",
    .shapes =
        "grad [..., dim], x [..., dim], weight [dim] -> gradients of x [..., dim], weight [dim] "
        "and bias [dim]",
    .method = "",
    .params = kEpsilon,
    .min_inputs = 2,
    .max_inputs = 3,
    .outputs = 3,
    .infer = infer_norm_backward,
    .composite_outputs = layer_norm_backward_composite,
    .accepts_dtype = is_float,
    .samples = norm_backward_samples,
};

constinit const OpDef defs::rms_norm_op = {
    .name = "rms_norm",
    .summary = "x / sqrt(mean(x^2) + epsilon) * weight over the last axis.",
    .shapes = "x [..., dim], weight [dim] -> [..., dim]",
    .method = "",
    .params = kEpsilon,
    .min_inputs = 1,
    .max_inputs = 2,
    .infer = infer_norm,
    .vjp = rms_norm_vjp,
    .saves = Saves::input0 | Saves::input1,
    .composite = rms_norm_composite,
    .accepts_dtype = is_float,
    .samples = rms_norm_samples,
};

constinit const OpDef defs::rms_norm_backward_op = {
    .name = "rms_norm_backward",
    .revision = 2,
    .summary = "Gradients of rms_norm for x and weight.",
    .shapes =
        "grad [..., dim], x [..., dim], weight [dim] -> gradients of x [..., dim] and weight [dim]",
    .method = "",
    .params = kEpsilon,
    .min_inputs = 2,
    .max_inputs = 3,
    .outputs = 2,
    .infer = infer_norm_backward,
    .composite_outputs = rms_norm_backward_composite,
    .accepts_dtype = is_float,
    .samples = norm_backward_samples,
};

constinit const OpDef defs::l2_norm_op = {
    .name = "l2_norm",
    .summary = "x / sqrt(sum(x^2) + epsilon) over the last axis.",
    .shapes = "x [..., dim] -> [..., dim]",
    .method = "",
    .params = kUnitEpsilon,
    .infer = infer_norm,
    .vjp = l2_norm_vjp,
    .saves = Saves::input0,
    .composite = l2_norm_composite,
    .accepts_dtype = is_float,
    .samples = l2_norm_samples,
};

inline namespace v0 {

Array layer_norm(const Array& x, const Array& weight, const Array& bias, double epsilon) {
  return call(defs::layer_norm_op, Params().f64(epsilon),
              {&x, optional_input(weight), optional_input(bias)});
}

Array rms_norm(const Array& x, const Array& weight, double epsilon) {
  return call(defs::rms_norm_op, Params().f64(epsilon), {&x, optional_input(weight)});
}

Array l2_norm(const Array& x, double epsilon) {
  return call(defs::l2_norm_op, Params().f64(epsilon), {&x});
}

}  // namespace v0
}  // namespace hearth
