// Reductions over axes: sum, prod, max, min, any, all, argmax, argmin, max and min with their
// indices, and what is made of them.
#include <vector>

#include "core/throw_as.h"
#include "graph/record/grad_record.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kReduceParams[] = {
    {.name = "axes", .type = ParamType::i64_list, .range = "of [0, rank), none twice"},
    {.name = "keepdim", .type = ParamType::boolean, .optional = true}};
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

Shape reduced_shape(const Shape& shape, std::uint32_t axes, bool keepdim) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((axes >> i & 1u) == 0) {
      out.push_back(shape[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

void infer_reduce(Inference& inference) {
  const Shape& shape = inference.input(0).shape();
  ParamReader statics(inference.params.statics().span());
  const Dims axes = statics.list();
  const bool keepdim = statics.boolean();
  const std::uint32_t bits = axis_bits(inference.op.name.text, axes, shape.rank());
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.dtype);
  inference.shape = reduced_shape(shape, bits, keepdim);
}

void infer_reduce_bool(Inference& inference) {
  infer_reduce(inference);
  inference.dtype = DType::bool_;
}

void fail_empty(const Inference& inference) {
  inference.fail(ErrorCode::invalid_argument, "nothing to choose from; got shape " +
                                                  to_string(inference.input(0).shape()) +
                                                  ", expected reduced axes of at least 1");
}

void infer_extreme(Inference& inference) {
  infer_reduce(inference);
  const Shape& shape = inference.input(0).shape();
  for (const std::int64_t axis : ParamReader(inference.params.statics().span()).list()) {
    if (shape[normalize_axis(inference.op.name.text, axis, shape.rank())] == 0) {
      fail_empty(inference);
    }
  }
}

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

// `x`, of the shape of the op's result, with the reduced axes back as extents of 1.
Array kept(const Vjp& v, const Array& x) {
  const Shape& shape = v.shape(0);
  const Shape wanted =
      reduced_shape(shape, axis_bits("sum", v.statics().list(), shape.rank()), true);
  return reshape(x, wanted);
}

Grads sum_gradient(const Vjp& v) { return grads(expand(kept(v, v.grad), v.shape(0))); }

// For each element of x [rows, count] the product of the others of its row: a tree of products,
// gone down again. Nothing is divided, so zeros do no harm to derivatives of any order.
Array products_of_others(const Array& x) {
  const std::int64_t rows = x.shape()[0];
  const auto in_pairs = [rows](const Array& level) {
    return reshape(level, {rows, level.shape()[1] / 2, 2});
  };
  const Array one = ones({rows, 1}, x.dtype(), x.device());
  std::vector<Array> levels;  // of an even number of columns, the last one perhaps all 1
  std::vector<std::int64_t> counts;
  for (Array level = x; level.shape()[1] > 1;) {
    const std::int64_t count = level.shape()[1];
    if (count % 2 == 1) level = cat({level, one}, 1);
    const Array pairs = in_pairs(level);
    levels.push_back(level);
    counts.push_back(count);
    level = reshape(mul(narrow(pairs, 2, 0, 1), narrow(pairs, 2, 1, 1)), {rows, (count + 1) / 2});
  }
  Array others = one;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const std::int64_t columns = levels[i].shape()[1];
    const Array neighbours = flip(in_pairs(levels[i]), {2});
    others = reshape(mul(neighbours, reshape(others, {rows, columns / 2, 1})), {rows, columns});
    others = narrow(others, 1, 0, counts[i]);
  }
  return others;
}

// The same over any axes of x.
Array products_of_others(const Array& x, const Dims& reduced) {
  const Shape& shape = x.shape();
  const std::uint32_t bits = axis_bits("prod", reduced, shape.rank());
  Dims order;
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if ((bits >> axis & 1u) == 0) order.push_back(axis);
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if ((bits >> axis & 1u) == 0) continue;
    order.push_back(axis);
    count *= shape[axis];
  }
  Dims back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  const Array moved = permute(x, order);
  const Array others = products_of_others(reshape(moved, {x.size() / count, count}));
  return permute(reshape(others, moved.shape()), back);
}

// The product of the other elements: where it is differentiated again by their products, else,
// which is faster, by division where no element is 0.
Grads prod_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Dims axes = v.statics().list();
  if (grad_enabled() && grad_of(x) != nullptr && x.size() > 0) {
    return grads(mul(kept(v, v.grad), products_of_others(x, axes)));
  }
  const Array zero = equal(x, 0.0);
  const Array count = sum(cast(zero, DType::i64), axes, true);
  const Array others = where(zero, 1.0, x);
  const Array nonzero = prod(others, axes, true);
  const Array zeros_only = prod(where(zero, x, 1.0), axes, true);
  const Array at_zero = where(equal(count, 1), nonzero, 0.0);
  const Array elsewhere = mul(div(nonzero, others), zeros_only);
  return grads(mul(kept(v, v.grad), where(zero, at_zero, elsewhere)));
}

Grads extreme_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Array winners = cast(equal(x, kept(v, v.out)), compute_dtype(x.dtype()));
  const Array share = div(winners, sum(winners, v.statics().list(), true));
  return grads(mul(kept(v, v.grad), cast(share, x.dtype())));
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

SampleCase reduce_sample(const Shape& shape, const Dims& axes, bool keepdim) {
  SampleCase sample;
  sample.inputs = {{.shape = shape, .lo = -1.5, .hi = 1.5, .distinct = true}};
  sample.params.list(axes).boolean(keepdim);
  return sample;
}

std::vector<SampleCase> reduce_samples() {
  return {reduce_sample({3, 4}, {0, 1}, false), reduce_sample({3, 4}, {0}, false),
          reduce_sample({3, 4}, {1}, true),     reduce_sample({2, 3, 4}, {0, 2}, false),
          reduce_sample({2, 3, 4}, {1}, true),  reduce_sample({2, 0, 4}, {2}, false),
          reduce_sample({5}, {0}, false)};
}

std::vector<SampleCase> total_samples() {
  std::vector<SampleCase> samples = reduce_samples();
  samples.push_back(reduce_sample({0, 3}, {1}, false));
  samples.push_back(reduce_sample({0, 3}, {0}, true));
  return samples;
}

std::vector<SampleCase> extreme_samples() {
  std::vector<SampleCase> samples = reduce_samples();
  samples.push_back(reduce_sample({2, 0}, {1}, false));
  samples.back().error = kArgumentError;
  return samples;
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

const Shape& shape_of(const OpDef& op, const Array& x) {
  if (!x.defined()) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op.name.text) + ": no value; got an undefined array");
  }
  return x.shape();
}

Array reduce(const OpDef& op, const Array& x, std::uint32_t bits, bool keepdim) {
  Dims axes;
  for (int i = 0; bits >> i != 0; ++i) {
    if ((bits >> i & 1u) != 0) axes.push_back(i);
  }
  const Array* const inputs[] = {&x};
  return record(op, inputs, Params().list(axes).boolean(keepdim));
}

Array reduce(const OpDef& op, const Array& x) {
  const Shape& shape = shape_of(op, x);
  return reduce(op, x, (1u << shape.rank()) - 1, false);
}

Array reduce(const OpDef& op, const Array& x, const Dims& axes, bool keepdim) {
  const Shape& shape = shape_of(op, x);
  return reduce(op, x, axis_bits(op.name.text, axes, shape.rank()), keepdim);
}

// The mean of i64 or u64, whose sum may need more than 64 bits: that of the upper halves, and what
// is left to the whole sum, which wraps. Exact for up to kMaxOfWideMean elements.
constexpr std::int64_t kMaxOfWideMean = std::int64_t{1} << 30;
Array wide_mean(const Array& x, std::uint32_t bits, bool keepdim, std::int64_t count) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 32;
  const Array high = reduce(defs::sum_op, div(x, kHalf), bits, keepdim);
  const Array low = sub(reduce(defs::sum_op, x, bits, keepdim), mul(high, kHalf));
  const Array high_mean = div(high, count);
  const Array left = add(mul(sub(high, mul(high_mean, count)), kHalf), low);
  const Array left_mean = div(left, count);
  const Array mean = add(mul(high_mean, kHalf), left_mean);
  if (!info(x.dtype()).is_signed) return mean;
  // A rest of the other sign has been rounded away from 0.
  const std::int64_t zero = 0;
  const Array rest = sub(left, mul(left_mean, count));
  const Array above = logical_and(greater(mean, zero), less(rest, zero));
  const Array below = logical_and(less(mean, zero), greater(rest, zero));
  const DType dtype = x.dtype();
  return add(sub(mean, cast(above, dtype)), cast(below, dtype));
}

Array mean_over(const Array& x, std::uint32_t bits, bool keepdim) {
  const Shape& shape = x.shape();
  std::int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((bits >> i & 1u) != 0) count *= shape[i];
  }
  const DType dtype = x.dtype();
  if (is_bool(dtype)) {
    throw Error(ErrorCode::dtype, "mean: bool has no mean; got bool, expected a numeric dtype");
  }
  if (is_int(dtype) && count == 0) {
    throw Error(ErrorCode::invalid_argument, "mean: no integer is the mean of nothing; got shape " +
                                                 to_string(shape) + ", expected elements");
  }
  if ((dtype == DType::i64 || dtype == DType::u64) && count <= kMaxOfWideMean) {
    return wide_mean(x, bits, keepdim, count);
  }
  // Sums may overflow, and `count` be out of range, where the mean is not.
  const DType wide = !is_int(dtype)          ? compute_dtype(dtype)
                     : info(dtype).is_signed ? DType::i64
                                             : DType::u64;
  const Array total = reduce(defs::sum_op, cast(x, wide), bits, keepdim);
  return cast(div(total, count), dtype);
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

namespace defs {

constinit const OpDef sum_op = {
    .name = "sum",
    .summary = "The sum over axes; integers keep their dtype and wrap.",
    .kind = OpKind::reduce,
    .params = kReduceParams,
    .infer = infer_reduce,
    .combine = Combine::sum,
    .vjp = sum_gradient,
    .accepts_dtype = numeric_dtype,
    .samples = total_samples,
};

constinit const OpDef prod_op = {
    .name = "prod",
    .summary = "The product over axes.",
    .kind = OpKind::reduce,
    .params = kReduceParams,
    .infer = infer_reduce,
    .combine = Combine::prod,
    .vjp = prod_gradient,
    .saves = Saves::input0,
    .accepts_dtype = numeric_dtype,
    .samples = total_samples,
};

constinit const OpDef max_op = {
    .name = "max",
    .summary = "The largest element over axes; NaN wins.",
    .kind = OpKind::reduce,
    .params = kReduceParams,
    .infer = infer_extreme,
    .combine = Combine::max,
    .vjp = extreme_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = numeric_dtype,
    .samples = extreme_samples,
};

constinit const OpDef min_op = {
    .name = "min",
    .summary = "The smallest element over axes; NaN wins.",
    .kind = OpKind::reduce,
    .params = kReduceParams,
    .infer = infer_extreme,
    .combine = Combine::min,
    .vjp = extreme_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = numeric_dtype,
    .samples = extreme_samples,
};

constinit const OpDef any_op = {
    .name = "any",
    .summary = "Whether any element over axes is not 0.",
    .kind = OpKind::reduce,
    .params = kReduceParams,
    .infer = infer_reduce_bool,
    .combine = Combine::max,
    .differentiable = false,
    .samples = total_samples,
};

constinit const OpDef all_op = {
    .name = "all",
    .summary = "Whether all elements over axes are not 0.",
    .kind = OpKind::reduce,
    .params = kReduceParams,
    .infer = infer_reduce_bool,
    .combine = Combine::min,
    .differentiable = false,
    .samples = total_samples,
};

constinit const OpDef argmax_op = {
    .name = "argmax",
    .summary = "The lowest index of the largest element along an axis; NaN wins.",
    .shapes = "x [...] -> [... without axis, or 1 there with keepdim]",
    .kind = OpKind::opaque,
    .params = kArgParams,
    .infer = infer_arg,
    .combine = Combine::max,
    .finds_index = true,
    .differentiable = false,
    .accepts_dtype = numeric_dtype,
    .samples = arg_samples,
};

constinit const OpDef argmin_op = {
    .name = "argmin",
    .summary = "The lowest index of the smallest element along an axis; NaN wins.",
    .shapes = "x [...] -> [... without axis, or 1 there with keepdim]",
    .kind = OpKind::opaque,
    .params = kArgParams,
    .infer = infer_arg,
    .combine = Combine::min,
    .finds_index = true,
    .differentiable = false,
    .accepts_dtype = numeric_dtype,
    .samples = arg_samples,
};

constinit const OpDef max_with_indices_op = {
    .name = "max_with_indices",
    .summary = "The largest element along an axis and its lowest index; NaN wins.",
    .shapes = "x [...] -> values and indices [... without axis, or 1 there with keepdim]",
    .method = "max_dim_with_indices",
    .params = kExtremeParams,
    .outputs = 2,
    .infer = infer_with_indices,
    .vjp = with_indices_gradient,
    .saves = Saves::output1,
    .composite_outputs = max_with_indices_composite,
    .accepts_dtype = numeric_dtype,
    .samples = with_indices_samples,
};

constinit const OpDef min_with_indices_op = {
    .name = "min_with_indices",
    .summary = "The smallest element along an axis and its lowest index; NaN wins.",
    .shapes = "x [...] -> values and indices [... without axis, or 1 there with keepdim]",
    .method = "min_dim_with_indices",
    .params = kExtremeParams,
    .outputs = 2,
    .infer = infer_with_indices,
    .vjp = with_indices_gradient,
    .saves = Saves::output1,
    .composite_outputs = min_with_indices_composite,
    .accepts_dtype = numeric_dtype,
    .samples = with_indices_samples,
};

}  // namespace defs

inline namespace v0 {

Array sum(const Array& x) { return reduce(defs::sum_op, x); }
Array sum(const Array& x, const Dims& axes, bool keepdim) {
  return reduce(defs::sum_op, x, axes, keepdim);
}
Array prod(const Array& x) { return reduce(defs::prod_op, x); }
Array prod(const Array& x, const Dims& axes, bool keepdim) {
  return reduce(defs::prod_op, x, axes, keepdim);
}
Array max(const Array& x) { return reduce(defs::max_op, x); }
Array max(const Array& x, const Dims& axes, bool keepdim) {
  return reduce(defs::max_op, x, axes, keepdim);
}
Array min(const Array& x) { return reduce(defs::min_op, x); }
Array min(const Array& x, const Dims& axes, bool keepdim) {
  return reduce(defs::min_op, x, axes, keepdim);
}
Array any(const Array& x) { return reduce(defs::any_op, x); }
Array any(const Array& x, const Dims& axes, bool keepdim) {
  return reduce(defs::any_op, x, axes, keepdim);
}
Array all(const Array& x, const AllAxes& axes, bool keepdim) {
  return axes.axes ? reduce(defs::all_op, x, *axes.axes, keepdim) : reduce(defs::all_op, x);
}

Array mean(const Array& x) try {
  const Shape& shape = shape_of(defs::sum_op, x);
  return mean_over(x, (1u << shape.rank()) - 1, false);
} catch (const Error& error) {
  throw_as("mean", error);
}
Array mean(const Array& x, const Dims& axes, bool keepdim) try {
  const Shape& shape = shape_of(defs::sum_op, x);
  return mean_over(x, axis_bits("mean", axes, shape.rank()), keepdim);
} catch (const Error& error) {
  throw_as("mean", error);
}

Array argmax(const Array& x, std::int64_t axis, bool keepdim, DType dtype) {
  return arg_extreme(defs::argmax_op, x, axis, keepdim, dtype);
}
Array argmin(const Array& x, std::int64_t axis, bool keepdim, DType dtype) {
  return arg_extreme(defs::argmin_op, x, axis, keepdim, dtype);
}

std::pair<Array, Array> max_with_indices(const Array& x, std::int64_t axis, bool keepdim) {
  return with_indices(defs::max_with_indices_op, x, axis, keepdim);
}
std::pair<Array, Array> min_with_indices(const Array& x, std::int64_t axis, bool keepdim) {
  return with_indices(defs::min_with_indices_op, x, axis, keepdim);
}

}  // namespace v0
}  // namespace hearth
