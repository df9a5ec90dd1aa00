// attention_backward, and the rule of differentiation that records it.
#include "ops/attention_backward.h"

#include <string>

#include "ops/attention_math.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace attention_math {
namespace {

void infer_attention_backward(Inference& inference) {
  const Shape out = check_operands(inference, 2);
  const DType dtype = inference.input(2).dtype();
  const Shape rows = {out[0] * out[1] * out[2]};
  const DType sum_dtype = compute_dtype(dtype);
  if (inference.has(7) &&
      (inference.input(7).shape() != rows || inference.input(7).dtype() != sum_dtype)) {
    inference.fail(inference.input(7).dtype() == sum_dtype ? ErrorCode::shape : ErrorCode::dtype,
                   "sums do not fit; got " + to_string(inference.input(7).shape()) + " " +
                       std::string(name(inference.input(7).dtype())) + ", expected " +
                       to_string(rows) + " " + std::string(name(sum_dtype)));
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

struct Gradients4 {
  Array q, k, v, bias;
};

// `sum_grad`, which may be undefined, is of the logarithms of the rows' sums.
Gradients4 gradients(const Operands& o, const Array& grad, const Array& out,
                     const Array& sum_grad = Array()) {
  const std::int64_t d = o.q.shape()[3];
  const std::int64_t dv = o.v.shape()[3];
  const std::int64_t length = o.k.shape()[2];
  Array weights, tanh;
  if (is_plain(o)) {
    weights = plain_weights(o.q, o.k, o.settings);
  } else {
    const Scores s = scores_of(o);
    weights = where_seeing(s, softmax(s.scores, 3));
    tanh = s.tanh;
  }
  const Array grouped_grad = reshape(wide(grad), o.grouped(dv));
  Gradients4 g;
  g.v = matmul(transpose(reshape(weights, o.grouped(length))), grouped_grad);
  const Array inner = sum(mul(wide(grad), wide(out)), {3}, true);
  const Array along = reshape(matmul(grouped_grad, transpose(o.v)), o.plain(length));
  Array slopes = sub(along, inner);
  if (sum_grad.defined()) slopes = add(slopes, unsqueeze(wide(sum_grad), {3}));
  Array scores = mul(weights, slopes);
  g.bias = scores;
  if (tanh.defined()) scores = mul(scores, sub(1.0, square(tanh)));
  scores = reshape(mul(scores, o.settings.scale), o.grouped(length));
  g.q = reshape(matmul(scores, o.k), o.plain(d));
  g.k = matmul(transpose(scores), reshape(o.q, o.grouped(d)));
  return g;
}

std::vector<Array> attention_backward_composite(const Composite& c) {
  const Operands o =
      operands(c.input(2), c.input(3), c.input(4), c.has(5) ? c.input(5) : Array(),
               c.has(6) ? c.input(6) : Array(), settings_of(c.statics(), c.params.dynamics()[0]));
  const DType dtype = c.input(2).dtype();
  if (is_empty(o)) {
    std::vector<Array> nothing;
    for (int i = 2; i < 5; ++i) {
      nothing.push_back(contiguous(zeros(c.input(i).shape(), dtype, c.device)));
    }
    return nothing;
  }
  const Gradients4 g = gradients(o, c.input(0), c.input(1));
  return {cast(g.q, dtype), cast(g.k, dtype), cast(g.v, dtype)};
}

std::vector<SampleCase> attention_backward_samples() {
  return {
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
  const bool has_mask = v.input_count() > 3 && v.has(3);
  const bool has_bias = v.input_count() > 4 && v.has(4);
  const Array mask = has_mask ? v.input(3) : Array();
  const Array bias = has_bias ? v.input(4) : Array();
  const Array* const inputs[] = {&grad,
                                 &v.out,
                                 &v.input(0),
                                 &v.input(1),
                                 &v.input(2),
                                 optional_input(mask),
                                 optional_input(bias),
                                 optional_input(sums)};
  // Composed, its parts are not put together to be taken apart.
  const bool parts_only =
      (has_bias && v.needs(4)) || sum_grad.defined() ||
      !has_implementation(defs::attention_backward_op, {inputs, v.record.params, grad.device()});
  if (parts_only) {
    const Operands o = operands(v.input(0), v.input(1), v.input(2), mask, bias,
                                settings_of(v.statics(), v.dynamic(0)));
    const Gradients4 g = is_empty(o) ? Gradients4() : gradients(o, grad, v.out, sum_grad);
    const Array* const parts[] = {&g.q, &g.k, &g.v, nullptr, &g.bias};
    for (const int i : {0, 1, 2, 4}) {
      if (i >= v.input_count() || !v.needs(i)) continue;
      grads[static_cast<std::size_t>(i)] = is_empty(o)
                                               ? zeros(v.shape(i), v.dtype(i), grad.device())
                                               : cast(sum_to(*parts[i], v.shape(i)), v.dtype(i));
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
    .revision = 3,
    .summary = "Gradients of attention for q, k and v.",
    .shapes =
        "grad [batch, heads, rows, dv], out [batch, heads, rows, dv], q [batch, heads, rows, d], k "
        "[batch, kv_heads, length, d], v [batch, kv_heads, length, dv], mask, bias, log_sums "
        "[batch * heads * rows] -> gradients of q, k and v in their shapes",
    .method = "",
    .params = attention_math::kParams,
    .min_inputs = 5,
    .max_inputs = 8,
    .outputs = 3,
    .infer = attention_math::infer_attention_backward,
    .composite_outputs = attention_math::attention_backward_composite,
    .accepts_dtype = is_float,
    .samples = attention_math::attention_backward_samples,
};

}  // namespace hearth
