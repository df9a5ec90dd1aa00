// Reductions that find where an element is: argmax, argmin, max and min with their indices.
#include <string>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/reduce/rules.h"

namespace hearth {
namespace reductions {
namespace {

constexpr ParamSpec kArgParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "keepdim", .type = ParamType::boolean, .optional = true},
    {.name = "dtype",
     .type = ParamType::dtype,
     .optional = true,
     .default_value = static_cast<double>(DType::i64),
     .range = "integers that hold each index"}};

constexpr ParamSpec kExtremeParams[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "keepdim", .type = ParamType::boolean, .optional = true}};

void infer_arg(Inference& inference) {
  const Shape& shape = inference.input(0).shape();
  ParamReader statics(inference.params.statics().span());
  const int axis = normalize_axis(inference.op.name.text, statics.i64(), shape.rank());
  const bool keepdim = statics.boolean();
  const DType dtype = statics.dtype();
  inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.scalar_dtype);
  if (!is_int(dtype)) {
    inference.fail(ErrorCode::dtype, "indices are integers; got " + std::string(name(dtype)) +
                                         ", expected an integer dtype");
  }
  if (shape[axis] == 0) fail_empty(inference);
  if (shape[axis] - 1 > integer_limits(dtype).highest) {
    inference.fail(ErrorCode::dtype, "indices do not fit; got " + std::string(name(dtype)) +
                                         " for an extent of " + std::to_string(shape[axis]) +
                                         ", expected a dtype that holds " +
                                         std::to_string(shape[axis] - 1));
  }
  inference.shape = reduced_shape(shape, 1u << axis, keepdim);
  inference.dtype = dtype;
}

void infer_with_indices(Inference& inference) {
  const Shape& shape = inference.input(0).shape();
  ParamReader statics(inference.params.statics().span());
  const int axis = normalize_axis(inference.op.name.text, statics.i64(), shape.rank());
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.dtype);
  if (shape[axis] == 0) fail_empty(inference);
  inference.shape = reduced_shape(shape, 1u << axis, statics.boolean());
  inference.more_outputs[0] = {inference.shape, DType::i64};
}

// The whole gradient goes to the element that the index names, also where others equal it.
Grads with_indices_gradient(const Vjp& v) {
  const std::int64_t axis = v.statics().i64();
  Shape kept = v.shape(0);
  kept[static_cast<int>(axis)] = 1;
  const Array zero = zeros(v.shape(0), v.grad.dtype(), v.grad.device());
  return grads(scatter_add(zero, reshape(v.output(1), kept), reshape(v.grad, kept), axis));
}

std::vector<Array> with_indices_composite(const Composite& c,
                                          Array (*arg)(const Array&, std::int64_t, bool, DType)) {
  ParamReader statics = c.statics();
  const std::int64_t axis = statics.i64();
  const bool keepdim = statics.boolean();
  const Array at = arg(c.input(0), axis, true, DType::i64);
  const Array values = gather(c.input(0), at, axis);
  if (keepdim) return {values, at};
  return {squeeze(values, {axis}), squeeze(at, {axis})};
}
std::vector<Array> max_with_indices_composite(const Composite& c) {
  return with_indices_composite(c, argmax);
}
std::vector<Array> min_with_indices_composite(const Composite& c) {
  return with_indices_composite(c, argmin);
}

std::vector<SampleCase> arg_samples() {
  const auto make = [](const Shape& shape, std::int64_t axis, bool keepdim, DType dtype) {
    SampleCase sample;
    sample.inputs = {{.shape = shape, .distinct = true}};
    sample.params.i64(axis).boolean(keepdim).dtype(dtype);
    return sample;
  };
  std::vector<SampleCase> samples = {
      make({5}, 0, false, DType::i64),       make({3, 4}, 1, true, DType::i32),
      make({2, 3, 4}, 1, false, DType::i64), make({2, 3, 17}, 1, false, DType::i64),
      make({0, 3}, 1, false, DType::i64),    make({3, 0}, 1, false, DType::i64)};
  samples.back().error = kArgumentError;
  samples.push_back(make({2, 128}, 1, false, DType::i8));
  samples.push_back(make({129}, 0, false, DType::i8));
  samples.back().error = kDTypeError;
  return samples;
}

std::vector<SampleCase> with_indices_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& shape, std::int64_t axis, bool keepdim) {
    samples.emplace_back().inputs = {{.shape = shape, .distinct = true}};
    samples.back().params.i64(axis).boolean(keepdim);
  };
  add({5}, 0, false);
  add({3, 4}, 1, true);
  add({2, 3, 4}, 1, false);
  add({2, 5, 20}, 1, true);
  add({0, 3}, 1, false);
  add({3, 0}, 1, false);
  samples.back().error = kArgumentError;
  return samples;
}

Array arg_extreme(const OpDef& op, const Array& x, std::int64_t axis, bool keepdim, DType dtype) {
  const Shape& shape = shape_of(op, x);
  const int at = normalize_axis(op.name.text, axis, shape.rank());
  const Array* const inputs[] = {&x};
  return record(op, inputs, Params().i64(at).boolean(keepdim).dtype(dtype));
}

std::pair<Array, Array> with_indices(const OpDef& op, const Array& x, std::int64_t axis,
                                     bool keepdim) {
  const int at = normalize_axis(op.name.text, axis, shape_of(op, x).rank());
  std::vector<Array> both = call_outputs(op, Params().i64(at).boolean(keepdim), {&x});
  return {std::move(both[0]), std::move(both[1])};
}

}  // namespace
}  // namespace reductions

constinit const OpDef defs::argmax_op = {
    .name = "argmax",
    .summary = "The lowest index of the largest element along an axis; NaN wins.",
    .shapes = "x [...] -> [... without axis, or 1 there with keepdim]",
    .kind = OpKind::opaque,
    .params = reductions::kArgParams,
    .infer = reductions::infer_arg,
    .combine = Combine::max,
    .finds_index = true,
    .differentiable = false,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::arg_samples,
};

constinit const OpDef defs::argmin_op = {
    .name = "argmin",
    .summary = "The lowest index of the smallest element along an axis; NaN wins.",
    .shapes = "x [...] -> [... without axis, or 1 there with keepdim]",
    .kind = OpKind::opaque,
    .params = reductions::kArgParams,
    .infer = reductions::infer_arg,
    .combine = Combine::min,
    .finds_index = true,
    .differentiable = false,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::arg_samples,
};

constinit const OpDef defs::max_with_indices_op = {
    .name = "max_with_indices",
    .summary = "The largest element along an axis and its lowest index; NaN wins.",
    .shapes = "x [...] -> values and indices [... without axis, or 1 there with keepdim]",
    .method = "max_dim_with_indices",
    .params = reductions::kExtremeParams,
    .outputs = 2,
    .infer = reductions::infer_with_indices,
    .vjp = reductions::with_indices_gradient,
    .saves = Saves::output1,
    .composite_outputs = reductions::max_with_indices_composite,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::with_indices_samples,
};

constinit const OpDef defs::min_with_indices_op = {
    .name = "min_with_indices",
    .summary = "The smallest element along an axis and its lowest index; NaN wins.",
    .shapes = "x [...] -> values and indices [... without axis, or 1 there with keepdim]",
    .method = "min_dim_with_indices",
    .params = reductions::kExtremeParams,
    .outputs = 2,
    .infer = reductions::infer_with_indices,
    .vjp = reductions::with_indices_gradient,
    .saves = Saves::output1,
    .composite_outputs = reductions::min_with_indices_composite,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::with_indices_samples,
};

inline namespace v0 {

Array argmax(const Array& x, std::int64_t axis, bool keepdim, DType dtype) {
  return reductions::arg_extreme(defs::argmax_op, x, axis, keepdim, dtype);
}
Array argmin(const Array& x, std::int64_t axis, bool keepdim, DType dtype) {
  return reductions::arg_extreme(defs::argmin_op, x, axis, keepdim, dtype);
}

std::pair<Array, Array> max_with_indices(const Array& x, std::int64_t axis, bool keepdim) {
  return reductions::with_indices(defs::max_with_indices_op, x, axis, keepdim);
}
std::pair<Array, Array> min_with_indices(const Array& x, std::int64_t axis, bool keepdim) {
  return reductions::with_indices(defs::min_with_indices_op, x, axis, keepdim);
}

}  // namespace v0
}  // namespace hearth
