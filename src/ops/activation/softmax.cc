// softmax, log_softmax and logsumexp along one axis.
//
// All subtract the maximum first. Along an axis of only -inf, softmax is NaN and logsumexp -inf.

#include <limits>

#include "core/throw_as.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {

namespace {

constexpr ParamSpec kAxisKeepdim[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "keepdim", .type = ParamType::boolean, .optional = true}};

void infer_along_axis(Inference& inference) {
  require_float(inference, 0, "x");
  const Array& x = inference.input(0);
  require_axis(inference, ParamReader(inference.params.statics().span()).i64(), x.rank());
  inference.shape = x.shape();
  inference.dtype = inference.scalar_dtype = x.dtype();
}

void infer_backward(Inference& inference) {
  const DType dtype = common_dtype(inference);
  const Array& grad = inference.input(0);
  if (grad.shape() != inference.input(1).shape()) {
    inference.fail(ErrorCode::shape, "grad and out differ; got " + to_string(grad.shape()) +
                                         " and " + to_string(inference.input(1).shape()) +
                                         ", expected one shape");
  }
  infer_along_axis(inference);
  inference.dtype = inference.scalar_dtype = dtype;
}

void infer_logsumexp(Inference& inference) {
  infer_along_axis(inference);
  ParamReader statics(inference.params.statics().span());
  const auto axis = static_cast<int>(statics.i64());
  if (statics.boolean()) {
    inference.shape[axis] = 1;
  } else {
    inference.shape.erase(axis);
  }
}

// The maximum along `axis` as a constant: results do not depend on it.
Array shift_of(const Array& x, int axis) { return max(x.detach(), {axis}, true); }

Array softmax_composite(const Composite& c) {
  const int axis = static_cast<int>(c.statics().i64());
  const Array& x = c.input(0);
  if (x.size() == 0) return contiguous(x);
  const Array wide = cast(x, compute_dtype(x.dtype()));
  const Array e = exp(sub(wide, shift_of(wide, axis)));
  return cast(div(e, sum(e, {axis}, true)), x.dtype());
}

Array log_softmax_composite(const Composite& c) {
  const int axis = static_cast<int>(c.statics().i64());
  const Array& x = c.input(0);
  if (x.size() == 0) return contiguous(x);
  const Array wide = cast(x, compute_dtype(x.dtype()));
  const Array shifted = sub(wide, shift_of(wide, axis));
  return cast(sub(shifted, log(sum(exp(shifted), {axis}, true))), x.dtype());
}

Array logsumexp_composite(const Composite& c) {
  ParamReader statics = c.statics();
  const int axis = static_cast<int>(statics.i64());
  const bool keepdim = statics.boolean();
  const Array& x = c.input(0);
  Shape shape = x.shape();
  shape[axis] = 1;
  Array out;
  if (x.shape()[axis] == 0) {
    out = full(shape, -kInfinity, x.dtype(), c.device);
  } else {
    const Array wide = cast(x, compute_dtype(x.dtype()));
    Array shift = x.size() == 0 ? full(shape, 0.0, wide.dtype(), c.device) : shift_of(wide, axis);
    shift = where(less(abs(shift), kInfinity), shift, 0.0);
    out = cast(add(log(sum(exp(sub(wide, shift)), {axis}, true)), shift), x.dtype());
  }
  if (keepdim) return out;
  shape.erase(axis);
  return reshape(out, shape);
}

Array softmax_backward_composite(const Composite& c) {
  const int axis = static_cast<int>(c.statics().i64());
  const DType dtype = c.input(0).dtype();
  const Array grad = cast(c.input(0), compute_dtype(dtype));
  const Array out = cast(c.input(1), compute_dtype(dtype));
  const Array inner = sum(mul(grad, out), {axis}, true);
  return cast(mul(out, sub(grad, inner)), dtype);
}

Array log_softmax_backward_composite(const Composite& c) {
  const int axis = static_cast<int>(c.statics().i64());
  const DType dtype = c.input(0).dtype();
  const Array grad = cast(c.input(0), compute_dtype(dtype));
  const Array out = cast(c.input(1), compute_dtype(dtype));
  return cast(sub(grad, mul(exp(out), sum(grad, {axis}, true))), dtype);
}

Grads softmax_vjp(const Vjp& v) {
  return {call(defs::softmax_backward_op, v.record.params, {&v.grad, &v.out})};
}

Grads log_softmax_vjp(const Vjp& v) {
  return {call(defs::log_softmax_backward_op, v.record.params, {&v.grad, &v.out})};
}

Grads logsumexp_vjp(const Vjp& v) {
  const DType dtype = v.dtype(0);
  Shape shape = v.shape(0);
  shape[static_cast<int>(v.statics().i64())] = 1;
  const Array x = cast(v.input(0), compute_dtype(dtype));
  Array out = cast(reshape(v.out, shape), compute_dtype(dtype));
  // -inf - -inf has no value, and those elements no weight.
  out = where(equal(out, -kInfinity), 0.0, out);
  const Array grad = cast(reshape(v.grad, shape), compute_dtype(dtype));
  return {cast(mul(exp(sub(x, out)), grad), dtype)};
}

std::vector<SampleCase> axis_samples() {
  return {
      {{{{3, 5}}}, Params().i64(1)},
      {{{{3, 5}}}, Params().i64(0)},
      {{{{2, 3, 4}, -30, 30}}, Params().i64(1)},
      {{{{2, 3, 17}}}, Params().i64(1)},
      {{{{2, 1}}}, Params().i64(1)},
      {{{{0, 4}}}, Params().i64(1)},
      {{{{4, 0}}}, Params().i64(1)},
      {{{{3, 5}}}, Params().i64(2), kArgumentError},
      {{{Shape{}}}, Params().i64(0), kArgumentError},
      {{{{3, 5}, 0, 2, kI32}}, Params().i64(1), kDTypeError},
  };
}

std::vector<SampleCase> softmax_backward_samples() {
  return {
      {{{{3, 5}}, {{3, 5}, 0.05, 0.4}}, Params().i64(1)},
      {{{{2, 3, 4}}, {{2, 3, 4}, 0.05, 0.4}}, Params().i64(1)},
      {{{{2, 3, 17}}, {{2, 3, 17}, 0.05, 0.4}}, Params().i64(1)},
      {{{{3, 5}}, {{3, 4}}}, Params().i64(1), kShapeError},
  };
}

std::vector<SampleCase> logsumexp_samples() {
  return {
      {{{{3, 5}}}, Params().i64(1).boolean(false)},
      {{{{3, 5}}}, Params().i64(0).boolean(true)},
      {{{{2, 3, 4}, -30, 30}}, Params().i64(1).boolean(false)},
      {{{{2, 3, 17}}}, Params().i64(1).boolean(false)},
      {{{{4, 0}}}, Params().i64(1).boolean(false)},
      {{{{3, 5}}}, Params().i64(-1).boolean(false), kArgumentError},
  };
}

}  // namespace

constinit const OpDef defs::softmax_op = {
    .name = "softmax",
    .summary = "e^x / sum(e^x) along an axis.",
    .shapes = "x [...] -> [...]",
    .params = kAxis,
    .infer = infer_along_axis,
    .vjp = softmax_vjp,
    .saves = Saves::output,
    .composite = softmax_composite,
    .accepts_dtype = is_float,
    .samples = axis_samples,
};

constinit const OpDef defs::log_softmax_op = {
    .name = "log_softmax",
    .summary = "x - logsumexp(x) along an axis.",
    .shapes = "x [...] -> [...]",
    .params = kAxis,
    .infer = infer_along_axis,
    .vjp = log_softmax_vjp,
    .saves = Saves::output,
    .composite = log_softmax_composite,
    .accepts_dtype = is_float,
    .samples = axis_samples,
};

constinit const OpDef defs::softmax_backward_op = {
    .name = "softmax_backward",
    .summary = "Gradient of softmax from its output: out * (grad - sum(grad * out)).",
    .shapes = "grad [...], out [...] -> [...]",
    .method = "",
    .params = kAxis,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_backward,
    .composite = softmax_backward_composite,
    .accepts_dtype = is_float,
    .samples = softmax_backward_samples,
};

constinit const OpDef defs::log_softmax_backward_op = {
    .name = "log_softmax_backward",
    .summary = "Gradient of log_softmax from its output: grad - e^out * sum(grad).",
    .shapes = "grad [...], out [...] -> [...]",
    .method = "",
    .params = kAxis,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_backward,
    .composite = log_softmax_backward_composite,
    .accepts_dtype = is_float,
    .samples = softmax_backward_samples,
};

constinit const OpDef defs::logsumexp_op = {
    .name = "logsumexp",
    .summary = "log(sum(e^x)) along an axis.",
    .shapes = "x [...] -> [... without axis, or 1 there with keepdim]",
    .params = kAxisKeepdim,
    .infer = infer_logsumexp,
    .vjp = logsumexp_vjp,
    .saves = Saves::input0 | Saves::output,
    .composite = logsumexp_composite,
    .accepts_dtype = is_float,
    .samples = logsumexp_samples,
};

inline namespace v0 {

Array softmax(const Array& x, std::int64_t axis) try {
  const int at = normalize_axis("softmax", axis, x.rank());
  return call(defs::softmax_op, Params().i64(at), {&x});
} catch (const Error& error) {
  throw_as("softmax", error);
}

Array log_softmax(const Array& x, std::int64_t axis) try {
  const int at = normalize_axis("log_softmax", axis, x.rank());
  return call(defs::log_softmax_op, Params().i64(at), {&x});
} catch (const Error& error) {
  throw_as("log_softmax", error);
}

Array logsumexp(const Array& x, std::int64_t axis, bool keepdim) try {
  const int at = normalize_axis("logsumexp", axis, x.rank());
  return call(defs::logsumexp_op, Params().i64(at).boolean(keepdim), {&x});
} catch (const Error& error) {
  throw_as("logsumexp", error);
}

Array softmin(const Array& x, std::int64_t axis) try {
  require_float_array("softmin", x);
  return softmax(neg(x), axis);
} catch (const Error& error) {
  throw_as("softmin", error);
}

Array quiet_softmax(const Array& x, std::int64_t axis) try {
  require_float_array("quiet_softmax", x);
  const int at = normalize_axis("quiet_softmax", axis, x.rank());
  Shape one = x.shape();
  one[at] = 1;
  const Array all = softmax(cat({x, zeros(one, x.dtype(), x.device())}, at), at);
  return narrow(all, at, 0, x.shape()[at]);
} catch (const Error& error) {
  throw_as("quiet_softmax", error);
}

}  // namespace v0
}  // namespace hearth
