// Reading and writing parts of arrays: by region (slice_assign) and by index arrays.

#include "core/throw_as.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/definition/slices.h"
#include "ops/indexing/rules.h"
#include "ops/packed/blocks.h"

namespace hearth {

using indexing::by_index;

namespace {

constexpr ParamSpec kRegion[] = {{"steps", ParamType::i64_list},
                                 {.name = "starts", .type = ParamType::i64_list, .dynamic = true}};

void require_same_dtype(const Inference& inference, int a, int b) {
  const DType left = inference.input(a).dtype();
  const DType right = inference.input(b).dtype();
  if (left == right) return;
  inference.fail(ErrorCode::dtype, "inputs differ in dtype; got " + std::string(name(left)) +
                                       " and " + std::string(name(right)) +
                                       ", expected one dtype: cast one of them");
}

int axis_of(const Inference& inference) {
  return require_axis(inference, ParamReader(inference.params.statics().span()).i64(),
                      inference.input(0).rank());
}

void set_result(Inference& inference, const Shape& shape) {
  inference.shape = shape;
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

// ---- slice_assign

void infer_slice_assign(Inference& inference) {
  const Array& x = inference.input(0);
  const Array& value = inference.input(1);
  if (!value.is_scalar()) require_same_dtype(inference, 0, 1);
  require_rank(inference, 1, x.rank(), "value");
  const Dims steps = ParamReader(inference.params.statics().span()).list();
  const auto& starts = inference.params.dynamics();
  if (steps.rank() != x.rank() || starts.size() != x.rank()) {
    inference.fail(ErrorCode::invalid_argument, "one step and one start for each axis; got " +
                                                    std::to_string(steps.rank()) + " and " +
                                                    std::to_string(starts.size()) + ", expected " +
                                                    std::to_string(x.rank()));
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (steps[i] == 0) {
      inference.fail(ErrorCode::invalid_argument, "step is 0; got it for axis " +
                                                      std::to_string(i) +
                                                      ", expected a positive or negative step");
    }
    const std::int64_t extent = x.shape()[i];
    const std::int64_t count = value.shape()[i];
    const std::int64_t start = dynamic_i64(starts[i]);
    if (count == 0) continue;
    // How many more elements fit after the first; start + (count - 1) * step might overflow.
    const auto room = [&] {
      if (steps[i] > 0) return (extent - 1 - start) / steps[i];
      return steps[i] == INT64_MIN ? 0 : start / -steps[i];
    };
    if (start < 0 || start >= extent || room() < count - 1) {
      inference.fail(ErrorCode::invalid_argument,
                     "region is not inside x " + to_string(x.shape()) + "; got start " +
                         std::to_string(start) + ", step " + std::to_string(steps[i]) + ", count " +
                         std::to_string(count) + " on axis " + std::to_string(i) +
                         ", expected positions from 0 to " + std::to_string(extent - 1));
    }
  }
  set_result(inference, x.shape());
}

bool all_are(const Dims& dims, std::int64_t value) {
  for (const std::int64_t item : dims) {
    if (item != value) return false;
  }
  return true;
}

Array assign(const Array& x, const Array& value, const Dims& starts, const Dims& steps) {
  Params params;
  params.list(steps);
  for (const std::int64_t start : starts) params.dynamic_i64(start);
  return call(defs::slice_assign_op, params, {&x, &value});
}

Grads slice_assign_vjp(const Vjp& v) {
  Grads result(2);
  const Dims steps = v.statics().list();
  const Shape& sizes = v.shape(1);
  Dims starts;
  for (int i = 0; i < steps.rank(); ++i) starts.push_back(dynamic_i64(v.dynamic(i)));
  if (v.needs(0)) {
    result[0] = assign(v.grad, zeros(sizes, v.dtype(1), v.grad.device()), starts, steps);
  }
  if (v.needs(1)) {
    if (element_count(sizes) == 0) {
      result[1] = zeros(sizes, v.dtype(1), v.grad.device());
    } else if (all_are(steps, 1)) {
      result[1] = dynamic_slice(v.grad, starts, sizes);
    } else {
      result[1] = call(defs::slice_op, Params().list(starts).list(sizes).list(steps), {&v.grad});
    }
  }
  return result;
}

// ---- By index

void check_beside(const Inference& inference, int input, int axis) {
  const Shape& x = inference.input(0).shape();
  const Shape& shape = inference.input(input).shape();
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis || shape[i] <= x[i]) continue;
    inference.fail(ErrorCode::shape, "indices reach beyond x; got x " + to_string(x) +
                                         " and indices " + to_string(shape) +
                                         ", expected no larger extents beside axis " +
                                         std::to_string(axis));
  }
}

// An index into nothing is out of range whatever it is.
void check_not_nothing(const Inference& inference, int axis, std::int64_t count) {
  if (count == 0 || inference.input(0).shape()[axis] != 0) return;
  inference.fail(ErrorCode::invalid_argument,
                 "indices into an empty axis; got x " + to_string(inference.input(0).shape()) +
                     " and " + std::to_string(count) +
                     " indices, expected an axis with elements, or no indices");
}

void infer_gather(Inference& inference) {
  const int axis = axis_of(inference);
  require_indices(inference, 1, "indices");
  require_rank(inference, 1, inference.input(0).rank(), "indices");
  check_beside(inference, 1, axis);
  check_not_nothing(inference, axis, inference.input(1).size());
  set_result(inference, inference.input(1).shape());
}

// The shape of what `indices` selects from x.
Shape infer_selection(Inference& inference) {
  const int axis = axis_of(inference);
  require_indices(inference, 1, "indices");
  require_rank(inference, 1, 1, "indices");
  Shape shape = inference.input(0).shape();
  shape[axis] = inference.input(1).shape()[0];
  if (element_count(shape) != 0) check_not_nothing(inference, axis, shape[axis]);
  check_shape(inference.op.name.text, shape);
  return shape;
}

void infer_select(Inference& inference) { set_result(inference, infer_selection(inference)); }

}  // namespace

namespace indexing {

void infer_scatter(Inference& inference) {
  const int axis = axis_of(inference);
  require_indices(inference, 1, "indices");
  require_rank(inference, 1, inference.input(0).rank(), "indices");
  require_same_dtype(inference, 0, 2);
  const Shape& indices = inference.input(1).shape();
  if (inference.input(2).shape() != indices) {
    inference.fail(ErrorCode::shape, "one index a value is needed; got indices " +
                                         to_string(indices) + " and values " +
                                         to_string(inference.input(2).shape()) +
                                         ", expected one shape");
  }
  check_beside(inference, 1, axis);
  check_not_nothing(inference, axis, inference.input(1).size());
  set_result(inference, inference.input(0).shape());
}

void infer_select_update(Inference& inference) {
  const Shape selection = infer_selection(inference);
  require_same_dtype(inference, 0, 2);
  if (inference.input(2).shape() != selection) {
    inference.fail(ErrorCode::shape, "values do not fit; got " +
                                         to_string(inference.input(2).shape()) + ", expected " +
                                         to_string(selection));
  }
  set_result(inference, inference.input(0).shape());
}

Array by_index(const OpDef& op, const Array& x, const Array& indices, std::int64_t axis) try {
  const int along = normalize_axis(op.name.text, axis, x.rank());
  Array result = call(op, Params().i64(along), {&x, &indices});
  require_indices(op, indices, x.shape()[along]);
  return result;
} catch (const Error& error) {
  throw_as(op.name.text, error);
}

Array by_index(const OpDef& op, const Array& x, const Array& indices, const Array& values,
               std::int64_t axis) try {
  const int along = normalize_axis(op.name.text, axis, x.rank());
  Array result = call(op, Params().i64(along), {&x, &indices, &values});
  require_indices(op, indices, x.shape()[along]);
  return result;
} catch (const Error& error) {
  throw_as(op.name.text, error);
}

Array by_index(const OpDef& op, const Array& x, const Array& indices, const Array& values,
               std::int64_t axis, IndexingUpdateOp update) try {
  const int along = normalize_axis(op.name.text, axis, x.rank());
  Array result =
      call(op, Params().i64(along).i64(static_cast<int>(update)), {&x, &indices, &values});
  require_indices(op, indices, x.shape()[along]);
  return result;
} catch (const Error& error) {
  throw_as(op.name.text, error);
}

}  // namespace indexing

namespace {

// Of a reading op: the gradient is added where it was read.
Grads reading_vjp(const Vjp& v, const OpDef& adding) {
  const Array base = zeros(v.shape(0), v.dtype(0), v.grad.device());
  return {by_index(adding, base, v.input(1), v.grad, v.statics().i64()), Array()};
}

// Of an adding op: x gets the whole gradient, the values what is read where they went.
Grads adding_vjp(const Vjp& v, const OpDef& reading) {
  Grads result(3);
  if (v.needs(0)) result[0] = v.grad;
  if (v.needs(2)) result[2] = by_index(reading, v.grad, v.input(1), v.statics().i64());
  return result;
}

Grads gather_vjp(const Vjp& v) { return reading_vjp(v, defs::scatter_add_op); }
Grads select_vjp(const Vjp& v) { return reading_vjp(v, defs::select_add_op); }
Grads scatter_add_vjp(const Vjp& v) { return adding_vjp(v, defs::gather_op); }
Grads select_add_vjp(const Vjp& v) { return adding_vjp(v, defs::select_op); }

// ---- Samples

SampleInput indices(const Shape& shape, double highest, int dtype = kI64) {
  return {shape, 0, highest, dtype};
}

Params region(const Dims& steps, const Dims& starts) {
  Params params;
  params.list(steps);
  for (const std::int64_t start : starts) params.dynamic_i64(start);
  return params;
}

std::vector<SampleCase> slice_assign_samples() {
  return {
      {{{{4, 5}}, {{2, 3}}}, region({1, 1}, {1, 2})},
      {{{{4, 5}}, {{2, 3}}}, region({2, -2}, {0, 4})},
      {{{{6}}, {{6}}}, region({-1}, {5})},
      {{{{4, 5}}, {{0, 3}}}, region({1, 1}, {0, 0})},
      {{{Shape{}}, {Shape{}}}, region({}, {})},
      {{{{4, 5}}, {{2, 3}}}, region({1, 1}, {3, 0}), kArgumentError},
      {{{{4, 5}}, {{2, 3}}}, region({1, -1}, {0, 1}), kArgumentError},
      {{{{4, 5}}, {{2, 3}}}, region({1, 0}, {0, 1}), kArgumentError},
      {{{{4, 5}}, {{3}}}, region({1, 1}, {0, 0}), kShapeError},
  };
}

std::vector<SampleCase> gather_samples() {
  return {
      {{{{4, 5}}, indices({4, 3}, 4)}, Params().i64(1)},
      {{{{4, 5}}, indices({6, 5}, 3, kI32)}, Params().i64(0)},
      {{{{2, 4, 3}}, indices({1, 2, 3}, 3)}, Params().i64(1)},
      {{{{4, 5}}, indices({4, 0}, 0)}, Params().i64(1)},
      {{{{4, 5}}, indices({3}, 3)}, Params().i64(1), kShapeError},
      {{{{4, 5}}, indices({5, 3}, 3)}, Params().i64(1), kShapeError},
      {{{{4, 5}}, {{4, 3}, 0, 1, static_cast<int>(DType::f32)}}, Params().i64(1), kDTypeError},
      {{{{4, 5}}, indices({4, 3}, 3)}, Params().i64(2), kArgumentError},
      {{{{4, 0}}, indices({4, 3}, 0)}, Params().i64(1), kArgumentError},
  };
}

std::vector<SampleCase> scatter_add_samples() {
  return {
      {{{{4, 5}}, indices({4, 7}, 4), {{4, 7}}}, Params().i64(1)},
      {{{{4, 5}}, indices({6, 3}, 3, kI32), {{6, 3}}}, Params().i64(0)},
      {{{{4, 5}}, indices({4, 0}, 0), {{4, 0}}}, Params().i64(1)},
      {{{{4, 5}}, indices({4, 3}, 3), {{4, 2}}}, Params().i64(1), kShapeError},
      {{{{4, 5}}, indices({4, 3}, 3), {{4, 3}}}, Params().i64(-1), kArgumentError},
  };
}

std::vector<SampleCase> select_samples() {
  return {
      {{{{4, 5}}, indices({7}, 3)}, Params().i64(0)},
      {{{{2, 4, 3}}, indices({2}, 2, kI32)}, Params().i64(2)},
      {{{{4, 5}}, indices({0}, 0)}, Params().i64(1)},
      {{{{4, 5}}, indices({1, 2}, 3)}, Params().i64(0), kShapeError},
      {{{Shape{}}, indices({1}, 0)}, Params().i64(0), kArgumentError},
  };
}

std::vector<SampleCase> select_add_samples() {
  return {
      {{{{4, 5}}, indices({7}, 3), {{7, 5}}}, Params().i64(0)},
      {{{{2, 4, 3}}, indices({2}, 2, kI32), {{2, 4, 2}}}, Params().i64(2)},
      {{{{4, 5}}, indices({0}, 0), {{0, 5}}}, Params().i64(0)},
      {{{{4, 5}}, indices({7}, 3), {{5, 7}}}, Params().i64(0), kShapeError},
  };
}

}  // namespace

constinit const OpDef defs::slice_assign_op = {
    .name = "slice_assign",
    .summary = "x with a region replaced by value; element i of an axis goes to start + i * step.",
    .shapes = "x [...], value [extents of the part] -> [...]",
    .kind = OpKind::indexed,
    .params = kRegion,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_slice_assign,
    .vjp = slice_assign_vjp,
    .overwrites = 0,
    .samples = slice_assign_samples,
};

constinit const OpDef defs::gather_op = {
    .name = "gather",
    .summary = "out[..i..] = x[..indices[..i..]..] along an axis.",
    .shapes = "x [...], indices [...] -> [extents of indices]",
    .kind = OpKind::indexed,
    .params = kAxis,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather,
    .vjp = gather_vjp,
    .saves = Saves::input1,
    .samples = gather_samples,
};

constinit const OpDef defs::scatter_add_op = {
    .name = "scatter_add",
    .summary = "x with values added at indices along an axis, in index order; bool: or.",
    .shapes = "x [...], indices [..., m, ...], values [..., m, ...] -> [...], m at axis",
    .method = "scatter",
    .kind = OpKind::indexed,
    .params = kAxis,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = indexing::infer_scatter,
    .vjp = scatter_add_vjp,
    .saves = Saves::input1,
    .overwrites = 0,
    .samples = scatter_add_samples,
};

constinit const OpDef defs::select_op = {
    .name = "select",
    .summary = "The slices of x along an axis that a list of indices names.",
    .shapes = "x [..., n, ...], indices [m] -> [..., m, ...], m at axis",
    .kind = OpKind::indexed,
    .params = kAxis,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_select,
    .vjp = select_vjp,
    .saves = Saves::input1,
    .samples = select_samples,
};

constinit const OpDef defs::select_add_op = {
    .name = "select_add",
    .summary =
        "x with slices of values added to the slices that a list of indices names; bool: or.",
    .shapes = "x [..., n, ...], indices [m], values [..., m, ...] -> [..., n, ...], m at axis",
    .method = "select_assign",
    .kind = OpKind::indexed,
    .params = kAxis,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = indexing::infer_select_update,
    .vjp = select_add_vjp,
    .saves = Saves::input1,
    .overwrites = 0,
    .samples = select_add_samples,
};

inline namespace v0 {

Array slice_assign(const Array& x, const std::vector<Slice>& slices, const Array& value) try {
  const SliceRegion region = resolve_slices("slice_assign", x.shape(), slices);
  const Array part = value.is_scalar() ? full(region.sizes, value, x.dtype(), x.device())
                                       : expand(value, region.sizes);
  return assign(x, part, region.starts, region.steps);
} catch (const Error& error) {
  throw_as("slice_assign", error);
}

Array dynamic_slice_assign(const Array& x, const Dims& starts, const Array& value) try {
  return assign(x, value, starts, Dims::filled(starts.rank(), 1));
} catch (const Error& error) {
  throw_as("dynamic_slice_assign", error);
}

Array gather(const Array& x, const Array& indices, std::int64_t axis) {
  return by_index(defs::gather_op, x, indices, axis);
}

Array scatter_add(const Array& x, const Array& indices, const Array& values, std::int64_t axis) {
  return by_index(defs::scatter_add_op, x, indices, values, axis);
}

Array select(const Array& x, const Array& indices, std::int64_t axis) {
  if (x.defined() && is_packed(x.dtype())) {
    const int at = normalize_axis("select", axis, x.rank());
    if (at + 1 == x.rank()) {
      throw Error(ErrorCode::shape, "select: takes blocks apart; got the last axis of " +
                                        std::string(name(x.dtype())) + ", expected another axis");
    }
    return on_blocks(x, [&](const Array& bytes) { return select(bytes, indices, at); });
  }
  return by_index(defs::select_op, x, indices, axis);
}

Array select_add(const Array& x, const Array& indices, const Array& values, std::int64_t axis) {
  return by_index(defs::select_add_op, x, indices, values, axis);
}

Array embedding(const Array& weight, const Array& indices) try {
  if (weight.rank() != 2) {
    throw Error(ErrorCode::shape, "embedding: weight is no table; got " +
                                      to_string(weight.shape()) + ", expected [entries, dim]");
  }
  Shape shape = indices.shape();
  shape.push_back(weight.shape()[1]);
  const Array chosen = select(weight, reshape(indices, {indices.size()}), 0);
  const Array rows = is_packed(weight.dtype()) ? dequantize(chosen) : chosen;
  return indices.rank() == 1 ? rows : reshape(rows, shape);
} catch (const Error& error) {
  throw_as("embedding", error);
}

Array one_hot(const Array& indices, std::int64_t classes, DType dtype) try {
  require_indices("one_hot", "indices", indices);
  if (classes < 0) {
    throw Error(ErrorCode::invalid_argument, "one_hot: negative number of classes; got " +
                                                 std::to_string(classes) + ", expected 0 or more");
  }
  Shape shape = indices.shape();
  shape.push_back(classes);
  check_shape("one_hot", shape);
  const Array ids = unsqueeze(cast(indices, DType::i64), {-1});
  return cast(equal(ids, arange(0, classes, 1, DType::i64, indices.device())), dtype);
} catch (const Error& error) {
  throw_as("one_hot", error);
}

}  // namespace v0
}  // namespace hearth
