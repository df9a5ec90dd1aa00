// expert_linear: products of rows with the weights of the experts that they are given, and the
// gradient of these weights.
#include <cstdint>
#include <string>

#include "core/throw_as.h"
#include "hearth/ops/experts.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/product_saves.h"
#include "ops/definition/rules.h"
#include "ops/experts/experts.h"

namespace hearth {
namespace {

constexpr ParamSpec kCountParams[] = {
    {.name = "expert_count", .type = ParamType::i64, .range = "[0, 2^31)"}};
constexpr std::int64_t kMostExperts = std::int64_t{1} << 31;

// Fails unless `experts` are i32 [rows, used] for x, or what has its place.
void require_experts(const Inference& inference, int input, const char* what, const Shape& x) {
  const Array& experts = inference.input(input);
  if (experts.dtype() != DType::i32 || experts.is_scalar()) {
    inference.fail(ErrorCode::dtype, "experts are no integers; got " +
                                         std::string(name(experts.dtype())) + ", expected i32");
  }
  const Shape& shape = experts.shape();
  const bool fits = shape.rank() == 2 && (x.rank() == 2 || x.rank() == 3) && x[0] == shape[0] &&
                    (x.rank() == 2 || x[1] == shape[1]);
  if (fits) return;
  inference.fail(ErrorCode::shape, "experts do not fit; got " + std::string(what) + " " +
                                       to_string(x) + " and experts " + to_string(shape) +
                                       ", expected " + what +
                                       " [rows, ..] or [rows, used, ..] "
                                       "and experts [rows, used]");
}

void require_dtype_of_x(const Inference& inference, int input, const char* what) {
  const DType dtype = inference.input(0).dtype();
  if (inference.input(input).dtype() == dtype) return;
  inference.fail(ErrorCode::dtype, std::string(what) + " differs from x; got " +
                                       std::string(name(inference.input(input).dtype())) +
                                       ", expected " + std::string(name(dtype)));
}

void infer_expert_linear(Inference& inference) {
  for (int i = 0; i < 3; ++i) require_input(inference, i);
  require_accepted(inference, inference.input(0).dtype());
  require_dtype_of_x(inference, 1, "weight");
  infer_expert_product(inference, inference.input(1).shape());
}

// [rows, 1, in] or [rows, used, in] as [rows, used, in].
Array rows_of_pairs(const Array& x, const ExpertShape& shape) {
  if (shape.own_rows) return x;
  return expand(unsqueeze(x, {1}), {shape.rows, shape.used, shape.in});
}

ExpertShape expert_shape_of(const Shape& x, const Shape& weight, const Shape& experts) {
  return {experts[0], experts[1], weight[0], weight[2], weight[1], x.rank() == 3};
}

// Either the weight of each pair of a row and an expert, or the products of all rows with all
// weights, whichever is less.
Array composite_expert_linear(const Composite& c) {
  const Array &x = c.input(0), &weight = c.input(1), &experts = c.input(2);
  const ExpertShape shape = expert_shape_of(x.shape(), weight.shape(), experts.shape());
  const Shape result = {shape.rows, shape.used, shape.out};
  if (shape.expert_count == 0 || element_count(result) == 0) {
    return zeros(result, x.dtype(), c.device);
  }
  const ExpertPlaces at(experts, shape.expert_count);
  const Array places = reshape(at.places, {shape.pairs()});
  const std::int64_t given = shape.own_rows ? shape.pairs() : shape.rows;
  Array y;
  if (shape.pairs() * shape.in <= shape.expert_count * given) {
    const Array rows = reshape(rows_of_pairs(x, shape), {shape.pairs(), shape.in, 1});
    y = matmul(select(weight, places, 0), rows);
  } else {
    const Array rows = reshape(x, {1, given, shape.in});
    const Array all =
        reshape(matmul(rows, transpose(weight)), {shape.expert_count * given, shape.out});
    const Array first = arange(0, given, 1, DType::i64, c.device);
    const Array line =
        shape.own_rows
            ? first
            : reshape(expand(unsqueeze(first, {1}), {shape.rows, shape.used}), {shape.pairs()});
    y = select(all, add(mul(cast(places, DType::i64), static_cast<double>(given)), line), 0);
  }
  y = reshape(y, result);
  if (c.has(3)) y = add(y, reshape(select(c.input(3), places, 0), result));
  return where(unsqueeze(at.exist, {2}), y, 0.0);
}

Array expert_gradient(const Array& x, const Array& grad, const Array& experts,
                      std::int64_t expert_count) {
  return call(defs::expert_linear_weight_gradient_op, Params().i64(expert_count),
              {&x, &grad, &experts});
}

Array expert_product(const Array& x, const Array& weight, const Array& experts) {
  return call(defs::expert_linear_op, Params(), {&x, &weight, &experts});
}

Grads expert_linear_vjp(const Vjp& v) {
  Grads grads(static_cast<std::size_t>(v.input_count()));
  const Array& experts = v.input(2);
  if (v.needs(0)) grads[0] = expert_rows_gradient(v.grad, v.input(1), experts, v.shape(0));
  if (v.needs(1)) grads[1] = expert_gradient(v.input(0), v.grad, experts, v.shape(1)[0]);
  if (v.needs(3)) grads[3] = expert_bias_gradient(v.grad, experts, v.shape(3));
  return grads;
}

SampleInput sample_experts(const Shape& shape, std::int64_t expert_count) {
  return {.shape = shape, .lo = -1, .hi = static_cast<double>(expert_count), .dtype = kI32};
}

std::vector<SampleCase> expert_linear_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& x, const Shape& weight, const Shape& experts,
                              bool has_bias = false) {
    const std::int64_t expert_count = weight[0];
    samples.emplace_back().inputs = {{x}, {weight}, sample_experts(experts, expert_count)};
    if (has_bias) samples.back().inputs.push_back({{weight[0], weight[1]}});
  };
  add({3, 4}, {3, 5, 4}, {3, 2});
  add({3, 2, 4}, {3, 5, 4}, {3, 2}, true);
  add({19, 2, 17}, {2, 18, 17}, {19, 2});
  add({20, 4}, {2, 3, 4}, {20, 3}, true);
  add({1, 16}, {9, 17, 16}, {1, 8});
  add({2, 20}, {2, 70, 20}, {2, 2}, true);
  add({40, 4}, {3, 5, 4}, {40, 2}, true);
  add({0, 4}, {3, 5, 4}, {0, 2});
  add({3, 4}, {3, 5, 4}, {3, 0}, true);
  add({3, 0}, {3, 5, 0}, {3, 2}, true);
  add({3, 4}, {3, 0, 4}, {3, 2});
  add({2, 4}, {0, 5, 4}, {2, 1});
  add({3, 4}, {3, 5, 5}, {3, 2});
  samples.back().error = kShapeError;
  add({3, 4}, {3, 5, 4}, {2, 2});
  samples.back().error = kShapeError;
  add({3, 3, 4}, {3, 5, 4}, {3, 2});
  samples.back().error = kShapeError;
  add({3, 4}, {3, 5, 4}, {3, 2}, true);
  samples.back().inputs.back().shape = {5};
  samples.back().error = kShapeError;
  add({3, 4}, {3, 5, 4}, {3, 2});
  samples.back().inputs[2].dtype = kI64;
  samples.back().error = kDTypeError;
  return samples;
}

// ---- The gradient of the weight

std::int64_t expert_count_of(ParamReader statics) { return statics.i64(); }

void infer_weight_gradient_of_experts(Inference& inference) {
  for (int i = 0; i < 3; ++i) require_input(inference, i);
  const Array &x = inference.input(0), &grad = inference.input(1);
  require_accepted(inference, x.dtype());
  require_dtype_of_x(inference, 1, "grad");
  require_experts(inference, 2, "x", x.shape());
  const Shape& experts = inference.input(2).shape();
  if (grad.rank() != 3 || grad.shape()[0] != experts[0] || grad.shape()[1] != experts[1]) {
    inference.fail(ErrorCode::shape, "grad does not fit; got " + to_string(grad.shape()) +
                                         ", expected [rows, used, out] for experts " +
                                         to_string(experts));
  }
  const std::int64_t count = expert_count_of(ParamReader(inference.params.statics().span()));
  if (count < 0 || count >= kMostExperts) {
    inference.fail(
        ErrorCode::invalid_argument,
        "no number of experts; got " + std::to_string(count) + ", expected one in [0, 2^31)");
  }
  inference.shape = {count, grad.shape().back(), x.shape().back()};
  inference.dtype = inference.scalar_dtype = x.dtype();
}

// Of each expert the gradients of its rows, 0 for others, times all rows.
Array composite_weight_gradient(const Composite& c) {
  const Array &x = c.input(0), &grad = c.input(1), &experts = c.input(2);
  const std::int64_t count = expert_count_of(c.statics());
  const ExpertShape shape =
      expert_shape_of(x.shape(), {count, grad.shape().back(), x.shape().back()}, experts.shape());
  const Shape result = {count, shape.out, shape.in};
  if (element_count(result) == 0 || shape.pairs() == 0) return zeros(result, x.dtype(), c.device);
  const ExpertPlaces at(experts, count);
  const Array rows = where(unsqueeze(at.exist, {2}), rows_of_pairs(x, shape), 0.0);
  const Array numbers = reshape(arange(0, count, 1, DType::i32, c.device), {count, 1, 1});
  const Array mine = equal(reshape(experts, {1, 1, shape.pairs()}), numbers);
  const Array columns = transpose(reshape(grad, {1, shape.pairs(), shape.out}));
  return matmul(where(mine, columns, 0.0), reshape(rows, {1, shape.pairs(), shape.in}));
}

// The product is linear in either operand.
Grads weight_gradient_vjp_of_experts(const Vjp& v) {
  Grads grads(3);
  const Array& experts = v.input(2);
  if (v.needs(0)) grads[0] = expert_rows_gradient(v.input(1), v.grad, experts, v.shape(0));
  if (v.needs(1)) grads[1] = expert_product(v.input(0), v.grad, experts);
  return grads;
}

std::vector<SampleCase> weight_gradient_samples_of_experts() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](const Shape& x, const Shape& grad, std::int64_t expert_count) {
    const Shape experts = {grad[0], grad[1]};
    samples.emplace_back().inputs = {{x}, {grad}, sample_experts(experts, expert_count)};
    samples.back().params = Params().i64(expert_count);
  };
  add({3, 4}, {3, 2, 5}, 3);
  add({3, 2, 4}, {3, 2, 5}, 4);
  add({19, 17}, {19, 3, 18}, 2);
  add({0, 4}, {0, 2, 5}, 3);
  add({3, 4}, {3, 2, 0}, 3);
  add({2, 4}, {2, 1, 5}, 0);
  add({3, 4}, {2, 2, 5}, 3);
  samples.back().error = kShapeError;
  add({3, 4}, {3, 2, 5}, -1);
  samples.back().error = kArgumentError;
  return samples;
}

}  // namespace

void infer_expert_product(Inference& inference, const Shape& weight) {
  const Array& x = inference.input(0);
  require_experts(inference, 2, "x", x.shape());
  if (weight.rank() != 3 || x.shape().back() != weight[2] || weight[0] >= kMostExperts) {
    inference.fail(ErrorCode::shape, "operands do not fit; got x " + to_string(x.shape()) +
                                         " and weight " + to_string(weight) +
                                         ", expected x [.., in] and weight [fewer than 2^31 "
                                         "experts, out, in]");
  }
  if (inference.has(3)) {
    require_dtype_of_x(inference, 3, "bias");
    const Shape& bias = inference.input(3).shape();
    if (bias != Shape{weight[0], weight[1]}) {
      inference.fail(ErrorCode::shape, "bias does not fit; got " + to_string(bias) + ", expected " +
                                           to_string({weight[0], weight[1]}));
    }
  }
  const Shape& experts = inference.input(2).shape();
  inference.shape = {experts[0], experts[1], weight[1]};
  inference.dtype = inference.scalar_dtype = x.dtype();
}

Array expert_rows_gradient(const Array& grad, const Array& weight, const Array& experts,
                           const Shape& shape) {
  const Array own = expert_product(grad, transpose(weight), experts);
  return shape.rank() == 3 ? own : sum(own, {1});
}

Array expert_bias_gradient(const Array& grad, const Array& experts, const Shape& shape) {
  const std::int64_t count = shape[0], out = shape[1];
  const Array outside =
      logical_or(less(experts, 0), greater_equal(experts, static_cast<double>(count)));
  const Array places = reshape(where(outside, static_cast<double>(count), experts),
                               {element_count(experts.shape())});
  const Array rows = wide(reshape(grad, {places.size(), out}));
  const Array sums =
      select_add(zeros({count + 1, out}, rows.dtype(), grad.device()), places, rows, 0);
  return cast(narrow(sums, 0, 0, count), grad.dtype());
}

ExpertPlaces::ExpertPlaces(const Array& experts, std::int64_t expert_count)
    : exist(
          logical_and(greater_equal(experts, 0), less(experts, static_cast<double>(expert_count)))),
      places(where(exist, experts, 0.0)) {}

constinit const OpDef defs::expert_linear_op = {
    .name = "expert_linear",
    .summary = "Rows of x times the weights of their experts, plus bias: 0 where there is none.",
    .shapes =
        "x [rows, in] or [rows, used, in], weight [expert_count, out, in], experts [rows, "
        "used], bias [expert_count, out] -> [rows, used, out]",
    .method = "",
    .min_inputs = 3,
    .max_inputs = 4,
    .infer = infer_expert_linear,
    .vjp = expert_linear_vjp,
    .saves = Saves::input0 | Saves::input1 | Saves::input2,
    .saves_for = saves_of_product<Saves::input2>,
    .composite = composite_expert_linear,
    .accepts_dtype = is_float,
    .samples = expert_linear_samples,
};

constinit const OpDef defs::expert_linear_weight_gradient_op = {
    .name = "expert_linear_weight_gradient",
    .summary = "Of each expert the sum of its rows' gradients times these rows.",
    .shapes =
        "x [rows, in] or [rows, used, in], grad [rows, used, out], experts [rows, used] -> "
        "[expert_count, out, in]",
    .method = "",
    .params = kCountParams,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer_weight_gradient_of_experts,
    .vjp = weight_gradient_vjp_of_experts,
    .saves = Saves::input0 | Saves::input1 | Saves::input2,
    .saves_for = saves_of_product<Saves::input2>,
    .composite = composite_weight_gradient,
    .accepts_dtype = is_float,
    .samples = weight_gradient_samples_of_experts,
};

inline namespace v0 {

Array expert_linear(const Array& x, const Array& weight, const Array& experts,
                    const Array& bias) try {
  Array places = experts;
  if (experts.defined() && experts.dtype() == DType::i64 && weight.defined() &&
      weight.rank() == 3 && weight.shape()[0] < kMostExperts) {
    // What i32 does not hold is no expert.
    places = cast(clamp(experts, -1.0, static_cast<double>(weight.shape()[0])), DType::i32);
  }
  if (weight.defined() && is_packed(weight.dtype())) {
    return packed_expert_linear(x, weight, places, bias);
  }
  return call(defs::expert_linear_op, Params(), {&x, &weight, &places, optional_input(bias)});
} catch (const Error& error) {
  throw_as("expert_linear", error);
}

}  // namespace v0
}  // namespace hearth
