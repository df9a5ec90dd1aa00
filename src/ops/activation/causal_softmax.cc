// causal_softmax: what the keys of a row weigh where scores are products, scaled.
#include "ops/attention/math.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kWeights[] = {{.name = "scale", .type = ParamType::f64, .range = "finite"},
                                  {.name = "causal", .type = ParamType::boolean, .optional = true}};

void infer_weights(Inference& inference) {
  require_float(inference, 0, "scores");
  const Array& x = inference.input(0);
  if (x.rank() < 2) {
    inference.fail(ErrorCode::shape,
                   "no rows of keys; got " + to_string(x.shape()) + ", expected [..., rows, keys]");
  }
  inference.shape = x.shape();
  inference.dtype = inference.scalar_dtype = x.dtype();
}

Array causal_softmax_composite(const Composite& c) {
  ParamReader statics = c.statics();
  const double scale = statics.f64();
  const bool causal = statics.boolean();
  const Array& x = c.input(0);
  if (x.size() == 0) return contiguous(x);
  const int last = x.rank() - 1;
  const std::int64_t keys = x.shape()[last], count = x.shape()[last - 1];
  Array scores = mul(wide(x), scale);
  if (!causal) return cast(softmax(scores, last), x.dtype());
  scores = where(attention_math::behind(count, keys, keys, c.device), -kInfinity, scores);
  if (count <= keys) return cast(softmax(scores, last), x.dtype());
  const Array blind = unsqueeze(less(attention_math::columns(count, c.device), count - keys), {1});
  scores = softmax(where(blind, 0.0, scores), last);
  return cast(where(blind, 0.0, scores), x.dtype());
}

Grads causal_softmax_vjp(const Vjp& v) {
  const Array slopes =
      call(defs::softmax_backward_op, Params().i64(v.out.rank() - 1), {&v.grad, &v.out});
  return {mul(slopes, v.statics().f64())};
}

std::vector<SampleCase> causal_softmax_samples() {
  const auto params = [](double scale, bool causal) { return Params().f64(scale).boolean(causal); };
  return {
      {{{{2, 3, 4, 5}}}, params(0.35, true)},
      {{{{2, 2, 5, 3}}}, params(2, true)},
      {{{{6, 5}}}, params(-1.5, false)},
      {{{{1, 7}}}, params(1, true)},
      {{{{0, 4, 4}}}, params(1, true)},
      {{{{3, 0}}}, params(1, true)},
      {{{{5}}}, params(1, true), kShapeError},
      {{{{3, 5}, 0, 2, kI32}}, params(1, true), kDTypeError},
  };
}

}  // namespace

constinit const OpDef defs::causal_softmax_op = {
    .name = "causal_softmax",
    .summary = "softmax(x * scale) over keys, causal if asked; 0 for rows that see no key.",
    .shapes = "scores [..., rows, keys] -> [..., rows, keys]",
    .method = "",
    .params = kWeights,
    .infer = infer_weights,
    .vjp = causal_softmax_vjp,
    .saves = Saves::output,
    .composite = causal_softmax_composite,
    .accepts_dtype = is_float,
    .samples = causal_softmax_samples,
};

}  // namespace hearth
