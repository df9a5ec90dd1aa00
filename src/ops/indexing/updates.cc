// scatter and select_assign: any update by index. What only adds is in indexing.cc.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "core/throw_as.h"
#include "graph/record/grad_record.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/indexing/rules.h"
#include "ops/indexing/update_rule.h"

namespace hearth {
namespace {

using indexing::by_index;

constexpr IndexingUpdateOp kUpdates[] = {IndexingUpdateOp::assign, IndexingUpdateOp::add,
                                         IndexingUpdateOp::mul, IndexingUpdateOp::min,
                                         IndexingUpdateOp::max};
static_assert(std::size(kUpdates) == static_cast<std::size_t>(IndexingUpdateOp::max) + 1);

constexpr std::string_view name_of(IndexingUpdateOp update) {
  switch (update) {
    case IndexingUpdateOp::assign:
      return "assign";
    case IndexingUpdateOp::add:
      return "add";
    case IndexingUpdateOp::mul:
      return "mul";
    case IndexingUpdateOp::min:
      return "min";
    case IndexingUpdateOp::max:
      return "max";
  }
  return {};
}

// "assign 0, add 1, ..."
constexpr auto kUpdateRange = [] {
  std::array<char, 64> text = {};
  auto at = text.begin();
  for (const IndexingUpdateOp update : kUpdates) {
    if (at != text.begin()) at = std::ranges::copy(std::string_view(", "), at).out;
    at = std::ranges::copy(name_of(update), at).out;
    *at++ = ' ';
    *at++ = static_cast<char>('0' + static_cast<int>(update));
  }
  return text;
}();

constexpr ParamSpec kUpdate[] = {
    {.name = "axis", .type = ParamType::i64, .range = "[0, rank)"},
    {.name = "update", .type = ParamType::i64, .range = kUpdateRange.data()}};

void require_update(const Inference& inference) {
  ParamReader statics(inference.params.statics().span());
  (void)statics.i64();
  const std::int64_t update = statics.i64();
  if (update >= 0 && update <= static_cast<int>(IndexingUpdateOp::max)) return;
  inference.fail(ErrorCode::invalid_argument, "no such update; got " + std::to_string(update) +
                                                  ", expected one of IndexingUpdateOp");
}
void infer_any_scatter(Inference& inference) {
  require_update(inference);
  indexing::infer_scatter(inference);
}
void infer_select_assign(Inference& inference) {
  require_update(inference);
  indexing::infer_select_update(inference);
}

// ---- Gradients

// An op of this file with those that read and add by the same indices.
struct Update {
  const Vjp& v;
  const OpDef& op;
  const OpDef& reading;
  const OpDef& adding;
  std::int64_t axis = v.statics().i64();

  Array read(const Array& x) const { return by_index(reading, x, v.input(1), axis); }
  Array added(const Array& x, const Array& values) const {
    return by_index(adding, x, v.input(1), values, axis);
  }
  Array updated(const Array& x, const Array& values, IndexingUpdateOp update) const {
    return by_index(op, x, v.input(1), values, axis, update);
  }
  Array of_x(double value, DType dtype) const {
    return full(v.shape(0), value, dtype, v.grad.device());
  }
  Array of_values(double value) const {
    return full(v.shape(2), value, v.dtype(2), v.grad.device());
  }
};

// Whether each value is the last one that goes to its element: what the elements get of the
// positions of the values is read again. A list of indices needs one number for a slice.
Array is_last(const Update& u) {
  const Array& indices = u.v.input(1);
  const bool is_list = &u.reading == &defs::select_op;
  const auto axis = static_cast<int>(u.axis);
  const Shape& values = u.v.shape(2);
  Shape beside = Shape::filled(values.rank(), 1);
  beside[axis] = values[axis];
  const Array positions = arange(0, values[axis], 1, DType::i64, indices.device());
  if (is_list) {
    const Array none = zeros({u.v.shape(0)[axis]}, DType::i64, indices.device());
    const Array last = by_index(u.op, none, indices, positions, 0, IndexingUpdateOp::assign);
    return reshape(equal(by_index(u.reading, last, indices, 0), positions), beside);
  }
  const Array each = expand(reshape(positions, beside), values);
  return equal(u.read(u.updated(u.of_x(0, DType::i64), each, IndexingUpdateOp::assign)), each);
}

Grads assign_vjp(const Update& u) {
  Grads result(3);
  const Array& grad = u.v.grad;
  if (u.v.needs(0)) result[0] = u.updated(grad, u.of_values(0), IndexingUpdateOp::assign);
  if (u.v.needs(2)) result[2] = where(is_last(u), u.read(grad), 0.0);
  return result;
}

Grads add_vjp(const Update& u) {
  Grads result(3);
  if (u.v.needs(0)) result[0] = u.v.grad;
  if (u.v.needs(2)) result[2] = u.read(u.v.grad);
  return result;
}

// For each value the product of those before it along `axis` that go to the same element: `at`,
// which broadcasts to the values, is where they go, in rising order. Runs of 1, 2, 4, ... values.
Array products_before(const Array& values, const Array& at, int axis) {
  const std::int64_t count = values.shape()[axis];
  const auto moved = [&](const Array& x, std::int64_t by, const Array& first) {
    Shape edge = x.shape();
    edge[axis] = by;
    return cat({full(edge, first, x.dtype(), x.device()), narrow(x, axis, 0, count - by)}, axis);
  };
  const auto of_same = [&](const Array& x, std::int64_t by) {
    return where(equal(at, moved(at, by, std::int64_t{-1})), moved(x, by, 1.0), 1.0);
  };
  Array products = of_same(values, 1);
  for (std::int64_t by = 1; by < count; by *= 2) products = mul(products, of_same(products, by));
  return products;
}

// For each value the product of the others that go to its element. Nothing is divided, so zeros do
// no harm to derivatives of any order.
Array products_of_others(const Update& u) {
  const Array& indices = u.v.input(1);
  const bool is_list = &u.reading == &defs::select_op;
  const auto axis = static_cast<int>(u.axis);
  const Array order = argsort(indices, is_list ? 0 : axis);
  Array at = by_index(u.reading, indices, order, is_list ? 0 : axis);
  if (is_list) {
    Shape beside = Shape::filled(u.v.shape(2).rank(), 1);
    beside[axis] = indices.size();
    at = reshape(at, beside);
  }
  const Array values = by_index(u.reading, u.v.input(2), order, axis);
  const Array before = products_before(values, at, axis);
  const Array after = flip(products_before(flip(values, {axis}), flip(at, {axis}), axis), {axis});
  const Array back = argsort(order, is_list ? 0 : axis);
  return by_index(u.reading, mul(before, after), back, axis);
}

// x gets the product of the values that go there. A value gets x times the product of the other
// values: that of all those that are not zero over its own, unless another one is zero; where the
// gradient is differentiated again, the others multiplied, which is slower.
Grads mul_vjp(const Update& u) {
  Grads result(3);
  const Array& grad = u.v.grad;
  const Array& values = u.v.input(2);
  const Array one = u.of_x(1, grad.dtype());
  if (u.v.needs(0)) {
    result[0] = mul(grad, u.updated(one, values, IndexingUpdateOp::mul));
  }
  if (u.v.needs(2) && grad_enabled() && grad_of(values) != nullptr && values.size() > 0) {
    result[2] = mul(u.read(mul(grad, u.v.input(0))), products_of_others(u));
  } else if (u.v.needs(2)) {
    const Array is_zero = equal(values, 0.0);
    const Array factors = where(is_zero, 1.0, values);
    const Array zero_count = cast(is_zero, DType::i32);
    const Array zero_counts = u.read(u.added(u.of_x(0, DType::i32), zero_count));
    const Array products = u.read(u.updated(one, factors, IndexingUpdateOp::mul));
    const Array others = where(equal(zero_counts, zero_count), div(products, factors), 0.0);
    result[2] = mul(u.read(mul(grad, u.v.input(0))), others);
  }
  return result;
}

// In equal parts to everything that is the result; a NaN always is.
Grads extreme_vjp(const Update& u) {
  Grads result(3);
  const Array& out = u.v.out;
  const Array& x = u.v.input(0);
  const Array& values = u.v.input(2);
  const Array x_is_it = logical_or(equal(x, out), is_nan(x));
  const Array value_is_it = logical_or(equal(values, u.read(out)), is_nan(values));
  const Array count = u.added(cast(x_is_it, DType::i32), cast(value_is_it, DType::i32));
  const Array part = div(u.v.grad, cast(count, u.v.grad.dtype()));
  if (u.v.needs(0)) result[0] = where(x_is_it, part, 0.0);
  if (u.v.needs(2)) result[2] = where(value_is_it, u.read(part), 0.0);
  return result;
}

Grads update_vjp(const Update& u) {
  ParamReader statics = u.v.statics();
  (void)statics.i64();
  switch (static_cast<IndexingUpdateOp>(statics.i64())) {
    case IndexingUpdateOp::assign:
      return assign_vjp(u);
    case IndexingUpdateOp::add:
      return add_vjp(u);
    case IndexingUpdateOp::mul:
      return mul_vjp(u);
    case IndexingUpdateOp::min:
    case IndexingUpdateOp::max:
      break;
  }
  return extreme_vjp(u);
}
Grads scatter_vjp(const Vjp& v) {
  return update_vjp({v, defs::scatter_op, defs::gather_op, defs::scatter_add_op});
}
Grads select_assign_vjp(const Vjp& v) {
  return update_vjp({v, defs::select_assign_op, defs::select_op, defs::select_add_op});
}

constexpr Saves kAllSaves = Saves::input0 | Saves::input1 | Saves::input2 | Saves::output;

Saves saves_of_update(std::uint32_t needs, ParamReader statics) {
  (void)statics.i64();
  switch (static_cast<IndexingUpdateOp>(statics.i64())) {
    case IndexingUpdateOp::assign:
    case IndexingUpdateOp::add:
      return Saves::input1;
    case IndexingUpdateOp::mul:
      return (needs & 4) != 0 ? Saves::input0 | Saves::input1 | Saves::input2
                              : Saves::input1 | Saves::input2;
    case IndexingUpdateOp::min:
    case IndexingUpdateOp::max:
      break;
  }
  return kAllSaves;
}

// ---- Samples

Params update_params(std::int64_t axis, std::int64_t update) {
  Params params;
  params.i64(axis).i64(update);
  return params;
}
// Elements whose products no dtype is too small for.
SampleInput factors(const Shape& shape) { return {shape, -1.4, 1.4}; }

std::vector<SampleCase> scatter_samples() {
  const SampleInput along_rows = {{4, 7}, 0, 4, kI64}, along_columns = {{6, 3}, 0, 3, kI32};
  std::vector<SampleCase> samples;
  for (const IndexingUpdateOp each : kUpdates) {
    const auto update = static_cast<std::int64_t>(each);
    samples.push_back({{factors({4, 5}), along_rows, factors({4, 7})}, update_params(1, update)});
    samples.push_back(
        {{factors({4, 5}), along_columns, factors({6, 3})}, update_params(0, update)});
  }
  const SampleInput none = {{4, 0}, 0, 0, kI64}, some = {{4, 3}, 0, 3, kI64};
  samples.push_back({{{{4, 5}}, none, {{4, 0}}}, update_params(1, 0)});
  samples.push_back({{{{4, 5}}, some, {{4, 2}}}, update_params(1, 0), kShapeError});
  samples.push_back({{{{4, 5}}, some, {{4, 3}}}, update_params(2, 0), kArgumentError});
  samples.push_back({{{{4, 5}}, some, {{4, 3}}}, update_params(1, 5), kArgumentError});
  return samples;
}

std::vector<SampleCase> select_assign_samples() {
  const SampleInput rows = {{7}, 0, 3, kI64}, last = {{2}, 0, 2, kI32};
  std::vector<SampleCase> samples;
  for (const IndexingUpdateOp each : kUpdates) {
    const auto update = static_cast<std::int64_t>(each);
    samples.push_back({{factors({4, 5}), rows, factors({7, 5})}, update_params(0, update)});
    samples.push_back({{factors({2, 4, 3}), last, factors({2, 4, 2})}, update_params(2, update)});
  }
  const SampleInput none = {{0}, 0, 0, kI64};
  samples.push_back({{{{4, 5}}, none, {{0, 5}}}, update_params(0, 0)});
  samples.push_back({{{{4, 5}}, rows, {{5, 7}}}, update_params(0, 0), kShapeError});
  samples.push_back({{{{4, 5}}, rows, {{7, 5}}}, update_params(0, -1), kArgumentError});
  return samples;
}

}  // namespace

constinit const OpDef defs::scatter_op = {
    .name = "scatter",
    .summary = "x updated by values at indices along an axis, in index order.",
    .shapes = "x [...], indices [..., m, ...], values [..., m, ...] -> [...], m at axis",
    .method = "",
    .kind = OpKind::indexed,
    .params = kUpdate,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_any_scatter,
    .vjp = scatter_vjp,
    .saves = kAllSaves,
    .saves_for = saves_of_update,
    .overwrites = 0,
    .samples = scatter_samples,
};

constinit const OpDef defs::select_assign_op = {
    .name = "select_assign",
    .summary =
        "x with the slices that a list of indices names updated by slices of values, in order.",
    .shapes = "x [..., n, ...], indices [m], values [..., m, ...] -> [..., n, ...], m at axis",
    .method = "",
    .kind = OpKind::indexed,
    .params = kUpdate,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_select_assign,
    .vjp = select_assign_vjp,
    .saves = kAllSaves,
    .saves_for = saves_of_update,
    .overwrites = 0,
    .samples = select_assign_samples,
};

inline namespace v0 {

Array scatter(const Array& x, const Array& indices, const Array& values, std::int64_t axis,
              IndexingUpdateOp update) try {
  if (update == IndexingUpdateOp::add) return scatter_add(x, indices, values, axis);
  return by_index(defs::scatter_op, x, indices, values, axis, update);
} catch (const Error& error) {
  throw_as("scatter", error);
}

Array select_assign(const Array& x, const Array& indices, const Array& values, std::int64_t axis,
                    IndexingUpdateOp update) try {
  if (update == IndexingUpdateOp::add) return select_add(x, indices, values, axis);
  return by_index(defs::select_assign_op, x, indices, values, axis, update);
} catch (const Error& error) {
  throw_as("select_assign", error);
}

}  // namespace v0
}  // namespace hearth
