// attention: softmax(q k^T * scale) v with grouped heads, masks and a dynamic number of keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/throw_as.h"
#include "hearth/random.h"
#include "ops/attention/backward.h"
#include "ops/attention/math.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace attention_math {
namespace {

void infer_attention(Inference& inference) {
  inference.shape = check_operands(inference, 0);
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

void infer_attention_with_sums(Inference& inference) {
  infer_attention(inference);
  const Shape& out = inference.shape;
  inference.more_outputs[0] = {{out[0], out[1], out[2]}, compute_dtype(inference.dtype)};
}

// In how many blocks the rows of plain causal attention are worth being multiplied, each by the
// keys that one of its rows sees only. Many launches of little work are not.
std::int64_t causal_blocks(const Operands& o) {
  constexpr std::int64_t kMinScores = std::int64_t{1} << 23, kMinRows = 256, kMax = 4;
  const Shape& q = o.q.shape();
  const std::int64_t keys = o.k.shape()[2];
  const bool cuts = o.settings.causal && q[1] == o.k.shape()[1] && q[2] <= keys &&
                    q[0] * q[1] * q[2] * keys >= kMinScores;
  return cuts ? std::clamp<std::int64_t>(q[2] / kMinRows, 1, kMax) : 1;
}

Array attention_in_blocks(const Operands& o, std::int64_t blocks) {
  const std::int64_t count = o.q.shape()[2], keys = o.k.shape()[2];
  std::vector<Array> parts;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t first = count * i / blocks, end = count * (i + 1) / blocks;
    const std::int64_t seen = keys - count + end;
    const Array weights =
        plain_weights(narrow(o.q, 2, first, end - first), narrow(o.k, 2, 0, seen), o.settings);
    parts.push_back(matmul(weights, narrow(o.v, 2, 0, seen)));
  }
  return cat(parts, 2);
}

Array attention_composite(const Composite& c) {
  const Operands o = operands(c, 0);
  const Shape shape = o.plain(o.v.shape()[3]);
  const DType dtype = c.input(0).dtype();
  // Without a key there is nothing to weigh; with d = 0 all keys weigh the same.
  const bool nothing = element_count(shape) == 0 || o.settings.kv_length == 0;
  if (nothing) return contiguous(zeros(shape, dtype, c.device));
  const std::int64_t length = o.k.shape()[2];
  if (is_plain(o)) {
    if (const std::int64_t blocks = causal_blocks(o); blocks > 1) {
      return cast(attention_in_blocks(o, blocks), dtype);
    }
    const Array weights = plain_weights(o.q, o.k, o.settings);
    return cast(reshape(matmul(reshape(weights, o.grouped(length)), o.v), shape), dtype);
  }
  const Scores s = scores_of(o);
  Array out = reshape(matmul(reshape(softmax(s.scores, 3), o.grouped(length)), o.v), shape);
  // Of the result there is less than of weights.
  if (const Array share = share_of_keys(s); share.defined()) out = mul(out, share);
  return cast(where_seeing(s, out), dtype);
}

std::vector<Array> attention_with_lse_composite(const Composite& c) {
  const Operands o = operands(c, 0);
  const Shape& q = o.q.shape();
  const Shape rows = {q[0], q[1], q[2]};
  if (is_empty(o)) return {attention_composite(c), contiguous(zeros(rows, o.q.dtype(), c.device))};
  const Scores s = scores_of(o);
  return {attention_composite(c), reshape(where_seeing(s, log_sums(s)), rows)};
}

Grads attention_vjp(const Vjp& v) { return attention_gradients(v, v.grad, Array(), Array()); }

Grads attention_with_lse_vjp(const Vjp& v) {
  const Array grad = v.grad.defined() ? v.grad : zeros_like(v.out);
  return attention_gradients(v, grad, flat(v.output(1)), v.output_grad(1));
}

std::vector<SampleCase> attention_samples() {
  const SampleInput mask = {{1, 1, 4, 5}, 0, 1, kBool};
  const SampleInput sequences = {{3, 1, 1, 6}, 0, 1, kBool}, two = {{2, 1, 1, 6}, 0, 1, kBool};
  return {
      {{{{2, 2, 4, 8}}, {{2, 2, 5, 8}}, {{2, 2, 5, 6}}}, params_of(0.35, 0, false, 5)},
      {{{{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}}, params_of(0.35, 0, true, 4)},
      {{{{1, 2, 1, 8}}, {{1, 1, 7, 8}}, {{1, 1, 7, 8}}}, params_of(0.35, 0, true, 3)},
      {{{{1, 2, 4, 8}}, {{1, 2, 5, 8}}, {{1, 2, 5, 8}}, mask}, params_of(0.35, 2, false, 5)},
      {{{{1, 2, 4, 8}}, {{1, 2, 5, 8}}, {{1, 2, 5, 8}}, mask, {{2, 1, 5}}},
       params_of(0.35, 0, true, 5)},
      {{{{1, 2, 4, 8}}, {{1, 2, 3, 8}}, {{1, 2, 3, 8}}}, params_of(0.35, 0, true, 2)},
      {{{{1, 2, 0, 8}}, {{1, 2, 3, 8}}, {{1, 2, 3, 8}}}, params_of(0.35, 0, false, 3)},
      {{{{1, 4, 9, 8}}, {{1, 2, 9, 8}}, {{1, 2, 9, 16}}}, params_of(0.35, 0, true, 9, false)},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       params_of(1, 0, false, 3, false),
       kArgumentError},
      {{{{1, 2, 3, 8}}, {{1, 2, 0, 8}}, {{1, 2, 0, 8}}}, params_of(0.35, 0, false, 0)},
      {{{{1, 3, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}}, params_of(1, 0, false, 4), kShapeError},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 6}}, {{1, 2, 4, 6}}}, params_of(1, 0, false, 4), kShapeError},
      {{{{2, 4, 8}}, {{2, 4, 8}}, {{2, 4, 8}}}, params_of(1, 0, false, 4), kShapeError},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}}, params_of(1, 0, false, 5), kArgumentError},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       params_of(1, -1, false, 4),
       kArgumentError},
      {{{{1, 2, 7, 8}}, {{1, 1, 7, 8}}, {{1, 1, 7, 8}}}, params_of(0.35, 0, true, 7, false, 3)},
      {{{{2, 2, 1, 8}}, {{2, 1, 9, 8}}, {{2, 1, 9, 8}}}, params_of(0.35, 0, true, 8, true, 4)},
      {{{{3, 4, 4, 8}},
        {{3, 2, 6, 8}},
        {{3, 2, 6, 8}},
        sequences,
        {{1, 1, 6}},
        {{3}, 2, 7, kI64},
        {{3}, 0, 3, kI32},
        {{4}}},
       params_of(0.35, 0, true, 6, false, 3)},
      {{{{3, 4, 6, 8}},
        {{3, 2, 6, 8}},
        {{3, 2, 6, 8}},
        sequences,
        {{1, 1, 6}},
        {{3}, 1, 7, kI32},
        {{3}, 0, 3, kI64},
        {{4}}},
       params_of(0.35, 0, false, 5)},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       params_of(1, 0, false, 4, true, -1),
       kArgumentError},
      {{{{2, 4, 4, 8}}, {{2, 2, 6, 8}}, {{2, 2, 6, 8}}, two, {{1, 1, 6}}, {{3}, 2, 7, kI64}},
       params_of(1, 0, false, 6),
       kShapeError},
      {{{{2, 4, 4, 8}}, {{2, 2, 6, 8}}, {{2, 2, 6, 8}}, two, {{1, 1, 6}}, {{2}, 0, 1, kBool}},
       params_of(1, 0, false, 6),
       kDTypeError},
  };
}

}  // namespace
}  // namespace attention_math

constinit const OpDef defs::attention_op = {
    .name = "attention",
    .revision = 3,
    .summary =
        "softmax(q k^T * scale) v, with softcap, mask, causal order, window, bias and sinks.",
    .shapes =
        "q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, "
        "dv], mask, bias, lengths [batch], starts [batch], sinks [heads] -> [batch, heads, rows, "
        "dv]; mask and bias broadcast to [batch, heads, rows, length]",
    .method = "",
    .params = attention_math::kParams,
    .min_inputs = 3,
    .max_inputs = attention_math::kInputs,
    .infer = attention_math::infer_attention,
    .vjp = attention_math::attention_vjp,
    .saves = Saves::all_inputs | Saves::output,
    .composite = attention_math::attention_composite,
    .tracked_as = &defs::attention_with_lse_op,
    .accepts_dtype = is_float,
    .samples = attention_math::attention_samples,
};

constinit const OpDef defs::attention_with_lse_op = {
    .name = "attention_with_lse",
    .revision = 3,
    .summary = "attention, and the logarithm of each row's sum of e^score, 0 where it sees no key.",
    .shapes =
        "q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, "
        "dv], mask, bias, lengths [batch], starts [batch], sinks [heads] -> [batch, heads, rows, "
        "dv] and log sums [batch, heads, rows]; mask and bias broadcast to [batch, heads, rows, "
        "length]",
    .method = "",
    .params = attention_math::kParams,
    .min_inputs = 3,
    .max_inputs = attention_math::kInputs,
    .outputs = 2,
    .infer = attention_math::infer_attention_with_sums,
    .vjp = attention_math::attention_with_lse_vjp,
    .saves = Saves::all_inputs | Saves::output | Saves::output1,
    .composite_outputs = attention_math::attention_with_lse_composite,
    .accepts_dtype = is_float,
    .samples = attention_math::attention_samples,
};

namespace attention_math {
namespace {

// The parameters of what attention() is given.
Params asked_params(const Array& q, const Array& k, const AttentionOptions& options) {
  const std::int64_t d = q.rank() == 4 ? q.shape()[3] : 1;
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(d > 0 ? d : 1)));
  const std::int64_t length = options.kv_length.value_or(k.rank() == 4 ? k.shape()[2] : 0);
  return params_of(scale, options.softcap, options.causal, length, options.kv_length.has_value(),
                   options.window);
}

std::array<const Array*, kInputs> asked_inputs(const Array& q, const Array& k, const Array& v,
                                               const AttentionOptions& options) {
  return {&q,
          &k,
          &v,
          optional_input(options.mask),
          optional_input(options.bias),
          optional_input(options.lengths),
          optional_input(options.starts),
          optional_input(options.sinks)};
}

// What keys weigh, in the dtype of q.
Array given_weights(const Operands& o) {
  const std::int64_t length = o.k.shape()[2];
  // Without a key there is nothing to weigh: all settings give the same.
  if (!is_plain(o) && length > 0) return cast(weights_of(scores_of(o)), o.q.dtype());
  Settings scaled = o.settings;
  scaled.scale = 1;
  return plain_weights(mul(o.q, o.settings.scale), o.k, scaled);
}

}  // namespace
}  // namespace attention_math

inline namespace v0 {

Array attention(const Array& q, const Array& k, const Array& v,
                const AttentionOptions& options) try {
  return record(defs::attention_op, attention_math::asked_inputs(q, k, v, options),
                attention_math::asked_params(q, k, options));
} catch (const Error& error) {
  throw_as("attention", error);
}

std::pair<Array, Array> attention_with_lse(const Array& q, const Array& k, const Array& v,
                                           const AttentionOptions& options) try {
  std::vector<Array> both =
      record_outputs(defs::attention_with_lse_op, attention_math::asked_inputs(q, k, v, options),
                     attention_math::asked_params(q, k, options));
  return {std::move(both[0]), std::move(both[1])};
} catch (const Error& error) {
  throw_as("attention_with_lse", error);
}

std::pair<Array, Array> attention_with_weights(const Array& q, const Array& k, const Array& v,
                                               const AttentionOptions& options,
                                               double probability) try {
  namespace math = attention_math;
  const auto asked = math::asked_inputs(q, k, v, options);
  const Params params = math::asked_params(q, k, options);
  Inference inference{.op = defs::attention_op, .inputs = asked, .params = params, .shape = {}};
  for (int i = 0; i < 3; ++i) require_input(inference, i);
  const Shape shape = math::check_operands(inference, 0);
  std::array<Array, math::kInputs> inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (asked[i] != nullptr) inputs[i] = *asked[i];
  }
  const math::Operands o = math::operands(
      inputs, math::settings_of(ParamReader(params.statics().span()), params.dynamics()[0]),
      math::Products::given);
  const Array weights = dropout(math::given_weights(o), probability);
  const Array mixed = matmul(reshape(weights, o.grouped(k.shape()[2])), o.v);
  return {reshape(mixed, shape), weights};
} catch (const Error& error) {
  throw_as("attention_with_weights", error);
}

}  // namespace v0
}  // namespace hearth
