// Reductions over axes: sum, max, min, any and all.
#include <vector>

#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/reduce/rules.h"

namespace hearth {
namespace reductions {
namespace {

void infer_reduce_bool(Inference& inference) {
  infer_reduce(inference);
  inference.dtype = DType::bool_;
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

Grads sum_gradient(const Vjp& v) { return grads(expand(kept(v, v.grad), v.shape(0))); }

Grads extreme_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Array winners = cast(equal(x, kept(v, v.out)), compute_dtype(x.dtype()));
  const Array share = div(winners, sum(winners, v.statics().list(), true));
  return grads(mul(kept(v, v.grad), cast(share, x.dtype())));
}

std::vector<SampleCase> extreme_samples() {
  std::vector<SampleCase> samples = reduce_samples();
  samples.push_back(reduce_sample({2, 0}, {1}, false));
  samples.back().error = kArgumentError;
  return samples;
}

}  // namespace
}  // namespace reductions

constinit const OpDef defs::sum_op = {
    .name = "sum",
    .summary = "The sum over axes; integers keep their dtype and wrap.",
    .kind = OpKind::reduce,
    .params = reductions::kParams,
    .infer = reductions::infer_reduce,
    .combine = Combine::sum,
    .vjp = reductions::sum_gradient,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::total_samples,
};

constinit const OpDef defs::max_op = {
    .name = "max",
    .summary = "The largest element over axes; NaN wins.",
    .kind = OpKind::reduce,
    .params = reductions::kParams,
    .infer = reductions::infer_extreme,
    .combine = Combine::max,
    .vjp = reductions::extreme_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::extreme_samples,
};

constinit const OpDef defs::min_op = {
    .name = "min",
    .summary = "The smallest element over axes; NaN wins.",
    .kind = OpKind::reduce,
    .params = reductions::kParams,
    .infer = reductions::infer_extreme,
    .combine = Combine::min,
    .vjp = reductions::extreme_gradient,
    .saves = Saves::input0 | Saves::output,
    .accepts_dtype = numeric_dtype,
    .samples = reductions::extreme_samples,
};

constinit const OpDef defs::any_op = {
    .name = "any",
    .summary = "Whether any element over axes is not 0.",
    .kind = OpKind::reduce,
    .params = reductions::kParams,
    .infer = reductions::infer_reduce_bool,
    .combine = Combine::max,
    .differentiable = false,
    .samples = reductions::total_samples,
};

constinit const OpDef defs::all_op = {
    .name = "all",
    .summary = "Whether all elements over axes are not 0.",
    .kind = OpKind::reduce,
    .params = reductions::kParams,
    .infer = reductions::infer_reduce_bool,
    .combine = Combine::min,
    .differentiable = false,
    .samples = reductions::total_samples,
};

inline namespace v0 {

Array sum(const Array& x) { return reductions::reduce(defs::sum_op, x); }
Array sum(const Array& x, const Dims& axes, bool keepdim) {
  return reductions::reduce(defs::sum_op, x, axes, keepdim);
}
Array max(const Array& x) { return reductions::reduce(defs::max_op, x); }
Array max(const Array& x, const Dims& axes, bool keepdim) {
  return reductions::reduce(defs::max_op, x, axes, keepdim);
}
Array min(const Array& x) { return reductions::reduce(defs::min_op, x); }
Array min(const Array& x, const Dims& axes, bool keepdim) {
  return reductions::reduce(defs::min_op, x, axes, keepdim);
}
Array any(const Array& x) { return reductions::reduce(defs::any_op, x); }
Array any(const Array& x, const Dims& axes, bool keepdim) {
  return reductions::reduce(defs::any_op, x, axes, keepdim);
}
Array all(const Array& x, const AllAxes& axes, bool keepdim) {
  return axes.axes ? reductions::reduce(defs::all_op, x, *axes.axes, keepdim)
                   : reductions::reduce(defs::all_op, x);
}

}  // namespace v0
}  // namespace hearth
