// attention_backward, and the rule of differentiation that records it.
#include "ops/attention/backward.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ops/attention/math.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace attention_math {
namespace {

// The inputs: grad, out, those of attention, the logarithms of the rows' sums.
constexpr int kFirst = 2, kSums = kFirst + kInputs;

void infer_attention_backward(Inference& inference) {
  const Shape out = check_operands(inference, kFirst);
  const DType dtype = inference.input(2).dtype();
  const Shape rows = {out[0] * out[1] * out[2]};
  const DType sum_dtype = compute_dtype(dtype);
  if (inference.has(kSums) &&
      (inference.input(kSums).shape() != rows || inference.input(kSums).dtype() != sum_dtype)) {
    inference.fail(
        inference.input(kSums).dtype() == sum_dtype ? ErrorCode::shape : ErrorCode::dtype,
        "sums do not fit; got " + to_string(inference.input(kSums).shape()) + " " +
            std::string(name(inference.input(kSums).dtype())) + ", expected " + to_string(rows) +
            " " + std::string(name(sum_dtype)));
  }
  for (int i = 0; i < 2; ++i) {
    const Array& x = inference.input(i);
    if (x.shape() != out || x.dtype() != dtype) {
      inference.fail(x.dtype() == dtype ? ErrorCode::shape : ErrorCode::dtype,
                     std::string(i == 0 ? "grad" : "out") + " does not fit; got " +
                         to_string(x.shape()) + " " + std::string(name(x.dtype())) + ", expected " +
                         to_string(out) + " " + std::string(name(dtype)));
    }
  }
  inference.shape = inference.input(2).shape();
  inference.dtype = inference.scalar_dtype = dtype;
  inference.more_outputs[0] = {inference.input(3).shape(), dtype};
  inference.more_outputs[1] = {inference.input(4).shape(), dtype};
}

struct AllGradients {
  Array q, k, v, bias, sinks;
};

// `sum_grad`, which may be undefined, is of the logarithms of the rows' sums.
AllGradients gradients(const Operands& o, const Array& grad, const Array& out,
                       const Array& sum_grad = Array()) {
  const std::int64_t d = o.q.shape()[3];
  const std::int64_t dv = o.v.shape()[3];
  const std::int64_t length = o.k.shape()[2];
  Array weights, tanh, sink_weights;  // what sinks weigh: [batch, heads, rows, 1]
  if (is_plain(o)) {
    weights = plain_weights(o.q, o.k, o.settings);
  } else {
    const Scores s = scores_of(o);
    weights = weights_of(s);
    tanh = s.tanh;
    if (s.sinks.defined()) {
      sink_weights = where_seeing(s, sigmoid(sub(s.sinks, logsumexp(s.scores, 3, true))));
    }
  }
  const Array grouped_grad = reshape(wide(grad), o.grouped(dv));
  AllGradients g;
  g.v = matmul(transpose(reshape(weights, o.grouped(length))), grouped_grad);
  const Array inner = sum(mul(wide(grad), wide(out)), {3}, true);
  const Array along = reshape(matmul(grouped_grad, transpose(o.v)), o.plain(length));
  Array slopes = sub(along, inner);
  Array sink_slopes = neg(inner);
  if (sum_grad.defined()) {
    slopes = add(slopes, unsqueeze(wide(sum_grad), {3}));
    sink_slopes = add(sink_slopes, unsqueeze(wide(sum_grad), {3}));
  }
  if (sink_weights.defined()) g.sinks = sum(mul(sink_weights, sink_slopes), {0, 2, 3});
  Array scores = mul(weights, slopes);
  g.bias = scores;
  if (tanh.defined()) scores = mul(scores, sub(1.0, square(tanh)));
  scores = reshape(mul(scores, o.settings.scale), o.grouped(length));
  g.q = reshape(matmul(scores, o.k), o.plain(d));
  g.k = matmul(transpose(scores), reshape(o.q, o.grouped(d)));
  return g;
}

std::vector<Array> attention_backward_composite(const Composite& c) {
  const Operands o = operands(c, kFirst);
  const DType dtype = c.input(2).dtype();
  if (is_empty(o)) {
    std::vector<Array> nothing;
    for (int i = 2; i < 5; ++i) {
      nothing.push_back(contiguous(zeros(c.input(i).shape(), dtype, c.device)));
    }
    return nothing;
  }
  const AllGradients g = gradients(o, c.input(0), c.input(1));
  return {cast(g.q, dtype), cast(g.k, dtype), cast(g.v, dtype)};
}

std::vector<SampleCase> attention_backward_samples() {
  const SampleInput mask = {{3, 1, 1, 6}, 0, 1, kBool};
  return {
      {{{{3, 4, 4, 8}},
        {{3, 4, 4, 8}},
        {{3, 4, 4, 8}},
        {{3, 2, 6, 8}},
        {{3, 2, 6, 8}},
        mask,
        {{1, 1, 6}},
        {{3}, 2, 7, kI64},
        {{3}, 0, 3, kI32},
        {{4}}},
       params_of(0.35, 0, true, 6, false, 3)},
      {{{{2, 2, 4, 6}}, {{2, 2, 4, 6}}, {{2, 2, 4, 8}}, {{2, 2, 5, 8}}, {{2, 2, 5, 6}}},
       params_of(0.35, 0, false, 5)},
      {{{{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       params_of(0.35, 3, true, 4)},
      {{{{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       params_of(0.35, 0, true, 4, false)},
      {{{{1, 4, 4, 7}}, {{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       params_of(0.35, 0, true, 4),
       kShapeError},
  };
}

}  // namespace

Grads attention_gradients(const Vjp& v, const Array& grad, const Array& sums,
                          const Array& sum_grad) {
  Grads grads(static_cast<std::size_t>(v.input_count()));
  std::array<Array, kInputs> given;
  std::array<const Array*, kSums + 1> inputs = {&grad, &v.out};
  for (int i = 0; i < std::min<int>(kInputs, v.input_count()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!v.has(i)) continue;
    given[at] = v.input(i);
    inputs[kFirst + at] = &given[at];
  }
  inputs[kSums] = optional_input(sums);
  const auto wants = [&v](int i) { return i < v.input_count() && v.has(i) && v.needs(i); };
  // Composed, its parts are not put together to be taken apart.
  const bool parts_only =
      wants(kBias) || wants(kSinks) || sum_grad.defined() ||
      !has_implementation(defs::attention_backward_op, {inputs, v.record.params, grad.device()});
  if (parts_only) {
    const Operands o = operands(given, settings_of(v.statics(), v.dynamic(0)));
    const AllGradients g = is_empty(o) ? AllGradients() : gradients(o, grad, v.out, sum_grad);
    const std::pair<int, const Array*> parts[] = {
        {kQ, &g.q}, {kK, &g.k}, {kV, &g.v}, {kBias, &g.bias}, {kSinks, &g.sinks}};
    for (const auto& [i, part] : parts) {
      if (!wants(i)) continue;
      grads[static_cast<std::size_t>(i)] = is_empty(o)
                                               ? zeros(v.shape(i), v.dtype(i), grad.device())
                                               : cast(sum_to(*part, v.shape(i)), v.dtype(i));
    }
    return grads;
  }
  const std::vector<Array> all =
      record_outputs(defs::attention_backward_op, inputs, v.record.params);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (v.needs(static_cast<int>(i))) grads[i] = all[i];
  }
  return grads;
}

}  // namespace attention_math

constinit const OpDef defs::attention_backward_op = {
    .name = "attention_backward",
    .revision = 4,
    .summary = "Gradients of attention for q, k and v.",
    .shapes =
        "grad [batch, heads, rows, dv], out [batch, heads, rows, dv], q [batch, heads, rows, d], k "
        "[batch, kv_heads, length, d], v [batch, kv_heads, length, dv], mask, bias, lengths "
        "[batch], "
        "starts [batch], sinks [heads], log_sums [batch * heads * rows] -> gradients of q, k and v "
        "in their shapes",
    .method = "",
    .params = attention_math::kParams,
    .min_inputs = 5,
    .max_inputs = attention_math::kInputs + 3,
    .outputs = 3,
    .infer = attention_math::infer_attention_backward,
    .composite_outputs = attention_math::attention_backward_composite,
    .accepts_dtype = is_float,
    .samples = attention_math::attention_backward_samples,
};

}  // namespace hearth
