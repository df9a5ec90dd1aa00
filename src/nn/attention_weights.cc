#include "nn/attention_weights.h"

#include <cmath>
#include <string>

#include "hearth/ops.h"

namespace hearth::nn_detail {
namespace {

// The part of x, whose last axis may be as long as the memory of the keys, that belongs to those
// that are there.
Array of_keys(const Array& x, std::int64_t capacity, std::int64_t length) {
  const bool is_of_all = x.defined() && x.rank() > 0 && x.shape().back() == capacity;
  return is_of_all && length < capacity ? narrow(x, x.rank() - 1, 0, length) : x;
}

// Integers [batch] as i64 [batch, 1, 1, 1], or what has no value.
Array of_sequences(const Array& counts, std::int64_t length) {
  if (!counts.defined()) return counts;
  return unsqueeze(clamp(cast(counts, DType::i64), 0, static_cast<double>(length)), {1, 2, 3});
}

void require_broadcast(const Array& mask, const Shape& scores) {
  bool fits = mask.rank() <= scores.rank();
  for (int axis = -1; fits && axis >= -mask.rank(); --axis) {
    fits = mask.shape(axis) == 1 || mask.shape(axis) == scores[scores.rank() + axis];
  }
  if (fits) return;
  throw Error(ErrorCode::shape, "attention: mask does not fit; got " + to_string(mask.shape()) +
                                    ", expected something that broadcasts to " + to_string(scores));
}

Array both(const Array& a, const Array& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return logical_or(a, b);
}

}  // namespace

Weighed attention_by_weights(const Array& q, const Array& all_k, const Array& all_v,
                             const AttentionOptions& options, double probability) {
  const std::int64_t batch = q.shape(0), heads = q.shape(1), rows = q.shape(2), dim = q.shape(3);
  const std::int64_t capacity = all_k.shape(2), length = options.kv_length.value_or(capacity);
  const std::int64_t kv_heads = all_k.shape(1), group = heads / kv_heads;
  const Shape plain = {batch, heads, rows, length};
  Array k = narrow(all_k, 2, 0, length), v = narrow(all_v, 2, 0, length);

  const Array columns = arange(0, length, 1, DType::i64, q.device());
  const Array end = of_sequences(options.lengths, length);
  const Array start = of_sequences(options.starts, length);
  const Array missing = both(end.defined() ? greater_equal(columns, end) : Array(),
                             start.defined() ? less(columns, start) : Array());
  if (missing.defined()) {  // whatever their memory holds
    k = where(transpose(missing), 0.0, k);
    v = where(transpose(missing), 0.0, v);
  }
  Array hidden = missing;
  if (options.mask.defined()) {
    const Array mask = of_keys(options.mask, capacity, length);
    require_broadcast(mask, plain);
    hidden = both(hidden, expand(mask, plain));
  }
  if (options.causal || options.window > 0) {
    // The key of each row's own place, where rows are aligned with the last keys.
    Array own = unsqueeze(arange(0, rows, 1, DType::i64, q.device()), {1});
    own = end.defined() ? own + end - static_cast<double>(rows)
                        : own + static_cast<double>(length - rows);
    if (options.causal) hidden = both(hidden, greater(columns, own));
    if (options.window > 0) {
      hidden = both(hidden, less_equal(columns, own - static_cast<double>(options.window)));
    }
  }

  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));
  Array scores =
      matmul(reshape(q, {batch, kv_heads, group, rows, dim}) * scale, unsqueeze(transpose(k), {2}));
  scores = reshape(scores, plain);
  if (options.softcap > 0) scores = tanh(scores / options.softcap) * options.softcap;
  if (options.bias.defined()) {
    scores = scores + expand(of_keys(options.bias, capacity, length), plain);
  }
  // Far below all scores in every dtype, and finite: rows that see nothing are made 0 behind.
  if (hidden.defined()) scores = where(hidden, -6e4, scores);
  Array weights = softmax(scores, -1);
  if (options.sinks.defined()) {
    const Array sinks = reshape(options.sinks, {heads, 1, 1});
    weights = weights * sigmoid(logsumexp(scores, -1, true) - sinks);
  }
  if (hidden.defined()) weights = where(hidden, 0.0, weights);
  weights = dropout(weights, probability);
  const Array mixed =
      matmul(reshape(weights, {batch, kv_heads, group, rows, length}), unsqueeze(v, {2}));
  return {reshape(mixed, {batch, heads, rows, v.shape(3)}), weights};
}

}  // namespace hearth::nn_detail
