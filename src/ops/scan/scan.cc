// Scans along one axis: cumsum, cumprod, cummax, cummin, logcumsumexp, and the linear recurrence
// that gradients of two of them are.
#include <string>
#include <utility>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace scans {
namespace {

constexpr ParamSpec kParams[] = {{.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
                                 {.name = "reverse", .type = ParamType::boolean, .optional = true}};

struct Direction {
  std::int64_t axis;
  bool reverse;

  Direction back() const { return {axis, !reverse}; }
};
Direction direction_of(ParamReader statics) {
  const std::int64_t axis = statics.i64();
  return {axis, statics.boolean()};
}

void infer_scan(Inference& inference) {
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.dtype);
  const Shape& shape = inference.input(0).shape();
  require_axis(inference, ParamReader(inference.params.statics().span()).i64(), shape.rank());
  inference.shape = shape;
}

void infer_with_indices(Inference& inference) {
  infer_scan(inference);
  inference.more_outputs[0] = {inference.shape, DType::i64};
}

void infer_linear(Inference& inference) {
  const DType dtype = common_dtype(inference);
  const Shape& a = inference.input(0).shape();
  const Shape& b = inference.input(1).shape();
  if (a != b) {
    inference.fail(ErrorCode::shape, "a and b differ; got " + to_string(a) + " and " +
                                         to_string(b) + ", expected one shape");
  }
  require_float(inference, 0, "a");
  require_axis(inference, ParamReader(inference.params.statics().span()).i64(), a.rank());
  inference.shape = a;
  inference.dtype = inference.scalar_dtype = dtype;
}

Array scan(const OpDef& op, const Array& x, Direction way) {
  return call(op, Params().i64(way.axis).boolean(way.reverse), {&x});
}

// h_i = a_i h_{i-1} + b_i along the axis, from h = 0 on.
Array linear_scan(const Array& a, const Array& b, Direction way) {
  return call(defs::linear_scan_op, Params().i64(way.axis).boolean(way.reverse), {&a, &b});
}

// Element i is the one of x that a scan meets before i; `first` where it begins.
Array previous(const Array& x, Direction way, double first) {
  Shape edge = x.shape();
  const std::int64_t length = edge[static_cast<int>(way.axis)];
  if (length == 0) return x;
  edge[static_cast<int>(way.axis)] = 1;
  const Array ends = full(edge, first, x.dtype(), x.device());
  if (way.reverse) return cat({narrow(x, way.axis, 1, length - 1), ends}, way.axis);
  return cat({ends, narrow(x, way.axis, 0, length - 1)}, way.axis);
}

Grads cumsum_gradient(const Vjp& v) {
  return grads(scan(defs::cumsum_op, v.grad, direction_of(v.statics()).back()));
}

// With y_j the product up to j, dx_i = sum over j >= i of g_j y_j / x_i. Without the quotient,
// which has no value at 0: y_{i-1} r_i, where r_i = g_i + x_{i+1} r_{i+1}.
Grads cumprod_gradient(const Vjp& v) {
  const Direction way = direction_of(v.statics());
  const Array x = wide(v.input(0)), y = wide(v.out), g = wide(v.grad);
  const Array rest = linear_scan(previous(x, way.back(), 0), g, way.back());
  return grads(cast(mul(previous(y, way, 1), rest), v.dtype(0)));
}

// With y_j the result at j, dx_i = sum over j >= i of g_j e^(x_i - y_j). That is e^(x_i - y_i) r_i,
// where r_i = g_i + e^(y_i - y_{i+1}) r_{i+1}, and no power is above 1.
Grads logcumsumexp_gradient(const Vjp& v) {
  const Direction way = direction_of(v.statics());
  const Array x = wide(v.input(0)), y = wide(v.out), g = wide(v.grad);
  // -inf - -inf has no value, and those elements no weight.
  const Array finite = where(equal(y, -kInfinity), 0.0, y);
  const Array decay = exp(sub(y, previous(finite, way.back(), kInfinity)));
  const Array rest = linear_scan(decay, g, way.back());
  return grads(cast(mul(exp(sub(x, finite)), rest), v.dtype(0)));
}

Grads linear_gradient(const Vjp& v) {
  const Direction way = direction_of(v.statics());
  const Array db = linear_scan(previous(v.input(0), way.back(), 0), v.grad, way.back());
  Array da;
  if (v.needs(0)) da = mul(db, previous(v.out, way, 0));
  return grads(da, db);
}

Grads with_indices_gradient(const Vjp& v) {
  const Array zero = zeros(v.shape(0), v.grad.dtype(), v.grad.device());
  return grads(scatter_add(zero, v.output(1), v.grad, v.statics().i64()));
}

Array cummax_composite(const Composite& c) {
  return cummax_with_indices(c.input(0), c.statics().i64()).first;
}
Array cummin_composite(const Composite& c) {
  return cummin_with_indices(c.input(0), c.statics().i64()).first;
}

struct Case {
  Shape shape;
  std::int64_t axis;
  bool reverse = false;
  int error = SampleCase::kValid;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{5}, 0},
      {{5}, 0, true},
      {{3, 4}, 1},
      {{3, 4}, 0, true},
      {{2, 3, 4}, 1},
      {{2, 3, 17}, 2, true},
      {{2, 9, 5}, 1},
      {{3, 7, 1}, 1, true},
      {{2, 75}, 1},
      {{0, 3}, 1},
      {{3, 0}, 1},
      {{3, 0}, 0, true},
      {{3, 5}, 2, false, kArgumentError},
      {{}, 0, false, kArgumentError},
  };
  return all;
}

std::vector<SampleCase> samples_of(int inputs, double most, bool distinct, bool has_direction) {
  std::vector<SampleCase> samples;
  for (const Case& each : cases()) {
    if (each.reverse && !has_direction) continue;
    SampleCase& sample = samples.emplace_back();
    const SampleInput input{.shape = each.shape, .lo = -most, .hi = most, .distinct = distinct};
    sample.inputs.assign(static_cast<std::size_t>(inputs), input);
    sample.params.i64(each.axis);
    if (has_direction) sample.params.boolean(each.reverse);
    sample.error = each.error;
  }
  return samples;
}

std::vector<SampleCase> sum_samples() { return samples_of(1, 2, false, true); }
std::vector<SampleCase> product_samples() { return samples_of(1, 1.25, false, true); }
std::vector<SampleCase> extreme_samples() { return samples_of(1, 2, true, false); }
std::vector<SampleCase> linear_samples() {
  std::vector<SampleCase> samples = samples_of(2, 0.9, false, true);
  SampleCase& other = samples.emplace_back();
  other.inputs = {{{3, 5}}, {{3, 4}}};
  other.params.i64(1).boolean(false);
  other.error = kShapeError;
  return samples;
}

Array recorded(const OpDef& op, const Array& x, std::int64_t axis, bool reverse) try {
  const int at = normalize_axis(op.name.text, axis, x.rank());
  return scan(op, x, {at, reverse});
} catch (const Error& error) {
  throw_as(op.name.text, error);
}

std::vector<Array> recorded(const OpDef& op, const Array& x, std::int64_t axis) try {
  const int at = normalize_axis(op.name.text, axis, x.rank());
  if (op.outputs == 1) return {call(op, Params().i64(at), {&x})};
  return call_outputs(op, Params().i64(at), {&x});
} catch (const Error& error) {
  throw_as(op.name.text, error);
}

}  // namespace
}  // namespace scans

constinit const OpDef defs::cumsum_op = {
    .name = "cumsum",
    .summary = "The sum of the elements so far along an axis; integers keep their dtype and wrap.",
    .shapes = "x [...] -> [...]",
    .params = scans::kParams,
    .infer = scans::infer_scan,
    .vjp = scans::cumsum_gradient,
    .accepts_dtype = numeric_dtype,
    .samples = scans::sum_samples,
};

constinit const OpDef defs::cumprod_op = {
    .name = "cumprod",
    .summary =
        "The product of the elements so far along an axis; integers keep their dtype and "
        "wrap.",
    .shapes = "x [...] -> [...]",
    .params = scans::kParams,
    .infer = scans::infer_scan,
    .vjp = scans::cumprod_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = numeric_dtype,
    .samples = scans::product_samples,
};

constinit const OpDef defs::cummax_op = {
    .name = "cummax",
    .summary = "The largest element so far along an axis; NaN from the first NaN on.",
    .shapes = "x [...] -> [...]",
    .params = kAxis,
    .infer = scans::infer_scan,
    .composite = scans::cummax_composite,
    .tracked_as = &defs::cummax_with_indices_op,
    .accepts_dtype = numeric_dtype,
    .samples = scans::extreme_samples,
};

constinit const OpDef defs::cummin_op = {
    .name = "cummin",
    .summary = "The smallest element so far along an axis; NaN from the first NaN on.",
    .shapes = "x [...] -> [...]",
    .params = kAxis,
    .infer = scans::infer_scan,
    .composite = scans::cummin_composite,
    .tracked_as = &defs::cummin_with_indices_op,
    .accepts_dtype = numeric_dtype,
    .samples = scans::extreme_samples,
};

constinit const OpDef defs::cummax_with_indices_op = {
    .name = "cummax_with_indices",
    .summary = "The largest element so far along an axis and where it is, the last of equals.",
    .shapes = "x [...] -> values and indices [...]",
    .params = kAxis,
    .outputs = 2,
    .infer = scans::infer_with_indices,
    .vjp = scans::with_indices_gradient,
    .saves = Saves::output1,
    .accepts_dtype = numeric_dtype,
    .samples = scans::extreme_samples,
};

constinit const OpDef defs::cummin_with_indices_op = {
    .name = "cummin_with_indices",
    .summary = "The smallest element so far along an axis and where it is, the last of equals.",
    .shapes = "x [...] -> values and indices [...]",
    .params = kAxis,
    .outputs = 2,
    .infer = scans::infer_with_indices,
    .vjp = scans::with_indices_gradient,
    .saves = Saves::output1,
    .accepts_dtype = numeric_dtype,
    .samples = scans::extreme_samples,
};

constinit const OpDef defs::logcumsumexp_op = {
    .name = "logcumsumexp",
    .summary = "log(sum(e^x)) of the elements so far along an axis.",
    .shapes = "x [...] -> [...]",
    .params = scans::kParams,
    .infer = scans::infer_scan,
    .vjp = scans::logcumsumexp_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = is_float,
    .samples = scans::sum_samples,
};

constinit const OpDef defs::linear_scan_op = {
    .name = "linear_scan",
    .summary = "h_i = a_i h_{i-1} + b_i along an axis, from h = 0 on.",
    .shapes = "a [...], b [...] -> [...]",
    .method = "",
    .params = scans::kParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = scans::infer_linear,
    .vjp = scans::linear_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = is_float,
    .samples = scans::linear_samples,
};

inline namespace v0 {

Array cumsum(const Array& x, std::int64_t axis, bool reverse) {
  return scans::recorded(defs::cumsum_op, x, axis, reverse);
}
Array cumprod(const Array& x, std::int64_t axis, bool reverse) {
  return scans::recorded(defs::cumprod_op, x, axis, reverse);
}
Array logcumsumexp(const Array& x, std::int64_t axis, bool reverse) {
  return scans::recorded(defs::logcumsumexp_op, x, axis, reverse);
}
Array cummax(const Array& x, std::int64_t axis) {
  return scans::recorded(defs::cummax_op, x, axis)[0];
}
Array cummin(const Array& x, std::int64_t axis) {
  return scans::recorded(defs::cummin_op, x, axis)[0];
}
std::pair<Array, Array> cummax_with_indices(const Array& x, std::int64_t axis) {
  std::vector<Array> both = scans::recorded(defs::cummax_with_indices_op, x, axis);
  return {std::move(both[0]), std::move(both[1])};
}
std::pair<Array, Array> cummin_with_indices(const Array& x, std::int64_t axis) {
  std::vector<Array> both = scans::recorded(defs::cummin_with_indices_op, x, axis);
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace v0
}  // namespace hearth
