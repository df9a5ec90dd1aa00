#include "ops/attention/math.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/broadcast.h"
#include "core/number_text.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth::attention_math {
namespace {

std::string shapes(const Inference& inference, int first) {
  return "q " + to_string(inference.input(first).shape()) + ", k " +
         to_string(inference.input(first + 1).shape()) + ", v " +
         to_string(inference.input(first + 2).shape());
}

void check_added(const Inference& inference, int input, const char* what, const Shape& scores) {
  if (!inference.has(input) || broadcasts_to(inference.input(input).shape(), scores)) return;
  inference.fail(ErrorCode::shape, std::string(what) + " does not fit; got " +
                                       to_string(inference.input(input).shape()) +
                                       ", expected something that broadcasts to " +
                                       to_string(scores));
}

// An array that says a number for each sequence.
void check_bounds(const Inference& inference, int input, const char* what, std::int64_t batch) {
  if (!inference.has(input)) return;
  const Array& x = inference.input(input);
  require_indices(inference, input, what);
  if (x.shape() != Shape{batch}) {
    inference.fail(ErrorCode::shape, std::string(what) + " do not fit; got " +
                                         to_string(x.shape()) + ", expected " +
                                         to_string(Shape{batch}));
  }
}

Array key_columns(const Operands& o) { return columns(o.k.shape()[2], o.k.device()); }

// Numbers of `bounds`, whatever they are, as ends of the keys that there are.
Array clamped(const Array& bounds, const Settings& settings) {
  const Array wide_bounds = cast(bounds, DType::i64);
  const Array ends = minimum(maximum(wide_bounds, 0), settings.kv_length);
  return reshape(ends, {bounds.shape()[0], 1, 1, 1});
}

// True where a key does not exist, of a shape that broadcasts to the scores; undefined: nowhere.
Array not_there(const Operands& o) {
  Array hidden;
  const auto also = [&hidden](const Array& more) {
    hidden = hidden.defined() ? logical_or(hidden, more) : more;
  };
  if (o.lengths.defined()) {
    also(greater_equal(key_columns(o), o.lengths));
  } else if (o.settings.kv_length < o.k.shape()[2]) {
    also(greater_equal(key_columns(o), o.settings.kv_length));
  }
  if (o.starts.defined()) also(less(key_columns(o), o.starts));
  return hidden;
}

// The column of a row's own key: [q_length, 1], or with lengths of their own [batch, 1, q_length,
// 1].
Array own_columns(const Operands& o) {
  const std::int64_t rows = o.q.shape()[2];
  if (!o.lengths.defined()) {
    const std::int64_t length = o.settings.kv_length;
    return unsqueeze(arange(length - rows, length, 1, DType::i64, o.q.device()), {1});
  }
  return add(unsqueeze(arange(-rows, 0, 1, DType::i64, o.q.device()), {1}), o.lengths);
}

// True where a key is masked out, of a shape that broadcasts to the scores; undefined: nowhere.
Array masked_out(const Operands& o) {
  const Settings& s = o.settings;
  Array masked = o.mask;
  const auto also = [&masked](const Array& more) {
    if (more.defined()) masked = masked.defined() ? logical_or(masked, more) : more;
  };
  also(not_there(o));
  if (s.causal) {
    also(o.lengths.defined() ? greater(key_columns(o), own_columns(o))
                             : behind(o.q.shape()[2], o.k.shape()[2], s.kv_length, o.q.device()));
  }
  // A window as wide as all keys and rows hides none.
  if (s.window > 0 && s.window < o.k.shape()[2] + o.q.shape()[2]) {
    also(less_equal(key_columns(o), sub(own_columns(o), s.window)));
  }
  return masked;
}

// Rows that see no key, of a shape that broadcasts to [batch, heads, q_length, 1]; undefined: none.
Array unseeing(const Operands& o, const Array& masked) {
  const Settings& s = o.settings;
  const bool always_one = !o.mask.defined() && !o.bias.defined() && !o.lengths.defined() &&
                          !o.starts.defined() && s.kv_length > 0 &&
                          (!s.causal || o.q.shape()[2] <= s.kv_length);
  if (always_one) return Array();
  Array hidden = masked;
  if (o.bias.defined()) {
    const Array lowest = equal(o.bias, -std::numeric_limits<double>::infinity());
    hidden = hidden.defined() ? logical_or(hidden, lowest) : lowest;
  }
  return hidden.rank() == 0 ? hidden : all(hidden, {hidden.rank() - 1}, true);
}

}  // namespace

Settings settings_of(ParamReader statics, std::uint64_t kv_length) {
  Settings s{};
  s.scale = statics.f64();
  s.softcap = statics.f64();
  s.causal = statics.boolean();
  s.bounded = statics.boolean();
  s.window = statics.i64();
  s.kv_length = dynamic_i64(kv_length);
  return s;
}

Params params_of(double scale, double softcap, bool causal, std::int64_t kv_length, bool bounded,
                 std::int64_t window) {
  return Params().f64(scale).f64(softcap).boolean(causal).boolean(bounded).i64(window).dynamic_i64(
      kv_length);
}

Shape check_operands(const Inference& inference, int first) {
  const char* const kNames[] = {"q", "k", "v"};
  const DType dtype = inference.input(first).dtype();
  for (int i = 0; i < 3; ++i) {
    require_rank(inference, first + i, 4, kNames[i]);
    require_float(inference, first + i, kNames[i]);
    if (inference.input(first + i).dtype() == dtype) continue;
    inference.fail(ErrorCode::dtype, std::string("q and ") + kNames[i] + " differ; got " +
                                         std::string(name(dtype)) + " and " +
                                         std::string(name(inference.input(first + i).dtype())) +
                                         ", expected one dtype");
  }
  const Shape& q = inference.input(first).shape();
  const Shape& k = inference.input(first + 1).shape();
  const Shape& v = inference.input(first + 2).shape();
  if (q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3]) {
    inference.fail(ErrorCode::shape,
                   "extents differ; got " + shapes(inference, first) +
                       ", expected q [batch, heads, q_length, d], k [batch, kv_heads, length, d]"
                       " and v [batch, kv_heads, length, dv]");
  }
  if (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0) {
    inference.fail(ErrorCode::shape, "heads cannot be shared out; got " + shapes(inference, first) +
                                         ", expected heads to be a multiple of kv_heads");
  }
  const Shape scores = {q[0], q[1], q[2], k[2]};
  const Shape out = {q[0], q[1], q[2], v[3]};
  for (const Shape& made : {scores, out}) check_shape(inference.op.name.text, made);
  check_added(inference, first + kMask, "mask", scores);
  check_added(inference, first + kBias, "bias", scores);
  if (inference.has(first + kMask) && !is_bool(inference.input(first + kMask).dtype())) {
    inference.fail(ErrorCode::dtype, "mask is not bool; got " +
                                         std::string(name(inference.input(first + kMask).dtype())) +
                                         ", expected bool, true where masked out");
  }
  if (inference.has(first + kBias) && inference.input(first + kBias).dtype() != dtype) {
    inference.fail(ErrorCode::dtype, "bias differs from q; got " +
                                         std::string(name(inference.input(first + kBias).dtype())) +
                                         ", expected " + std::string(name(dtype)));
  }
  check_bounds(inference, first + kLengths, "lengths", q[0]);
  check_bounds(inference, first + kStarts, "starts", q[0]);
  if (inference.has(first + kSinks)) {
    const Array& sinks = inference.input(first + kSinks);
    if (sinks.dtype() != dtype) {
      inference.fail(ErrorCode::dtype, "sinks differ from q; got " +
                                           std::string(name(sinks.dtype())) + ", expected " +
                                           std::string(name(dtype)));
    }
    if (sinks.shape() != Shape{q[1]}) {
      inference.fail(ErrorCode::shape, "sinks do not fit; got " + to_string(sinks.shape()) +
                                           ", expected " + to_string(Shape{q[1]}));
    }
  }
  const Settings s =
      settings_of(ParamReader(inference.params.statics().span()), inference.params.dynamics()[0]);
  if (!std::isfinite(s.scale)) {
    inference.fail(ErrorCode::invalid_argument,
                   "scale is not finite; got " + number_text(s.scale) + ", expected a number");
  }
  if (!(s.softcap >= 0) || !std::isfinite(s.softcap)) {
    inference.fail(ErrorCode::invalid_argument, "softcap is out of range; got " +
                                                    number_text(s.softcap) +
                                                    ", expected 0 for none or a positive number");
  }
  if (s.window < 0) {
    inference.fail(
        ErrorCode::invalid_argument,
        "window is negative; got " + std::to_string(s.window) + ", expected 0 for none or more");
  }
  if (s.kv_length < 0 || s.kv_length > k[2] || (!s.bounded && s.kv_length != k[2])) {
    inference.fail(ErrorCode::invalid_argument,
                   "kv_length is out of range; got " + std::to_string(s.kv_length) +
                       ", expected at least " + std::to_string(s.bounded ? 0 : k[2]) +
                       " and at most " + std::to_string(k[2]));
  }
  return out;
}

Array columns(std::int64_t count, Device device) { return arange(0, count, 1, DType::i64, device); }

Operands operands(const std::array<Array, kInputs>& inputs, const Settings& settings,
                  Products products) {
  const auto wide_or_none = [](const Array& x) { return x.defined() ? wide(x) : x; };
  const auto factor = [&](Input i) {
    return products == Products::computed ? wide(inputs[i]) : inputs[i];
  };
  Operands o;
  o.q = factor(kQ);
  o.k = factor(kK);
  o.v = factor(kV);
  o.mask = inputs[kMask];
  o.bias = wide_or_none(inputs[kBias]);
  o.settings = settings;
  if (inputs[kLengths].defined()) o.lengths = clamped(inputs[kLengths], settings);
  if (inputs[kStarts].defined()) o.starts = clamped(inputs[kStarts], settings);
  if (inputs[kSinks].defined()) {
    o.sinks = reshape(wide(inputs[kSinks]), {1, inputs[kSinks].shape()[0], 1, 1});
  }
  if (const Array hidden = not_there(o); hidden.defined()) {
    // Of keys alone: [length, 1] or [batch, 1, length, 1].
    const Array lines = transpose(hidden.rank() == 1 ? unsqueeze(hidden, {0}) : hidden);
    o.k = where(lines, 0.0, o.k);
    o.v = where(lines, 0.0, o.v);
  }
  return o;
}

Operands operands(const Composite& c, int first) {
  std::array<Array, kInputs> inputs;
  for (int i = 0; i < kInputs; ++i) {
    if (c.has(first + i)) inputs[static_cast<std::size_t>(i)] = c.input(first + i);
  }
  return operands(inputs, settings_of(c.statics(), c.params.dynamics()[0]));
}

bool is_empty(const Operands& o) {
  return o.q.size() == 0 || o.k.size() == 0 || o.v.size() == 0 || o.settings.kv_length == 0;
}

Array behind(std::int64_t rows, std::int64_t keys, std::int64_t seen, Device device) {
  static constexpr std::uint64_t kName = OpName::hash_of("attention keys behind a row");
  const SharedKey key = {kName, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(keys),
                         static_cast<std::uint64_t>(seen)};
  return shared_value(device, key, [&] {
    const Array column = columns(keys, device);
    const Array last =
        rows == keys && seen == keys ? column : arange(seen - rows, seen, 1, DType::i64, device);
    return greater(column, unsqueeze(last, {1}));
  });
}

Scores scores_of(const Operands& o) {
  const Settings& settings = o.settings;
  const bool capped = settings.softcap > 0;
  Scores s;
  // Of q there is less than of scores.
  const Array q = mul(o.q, capped ? settings.scale / settings.softcap : settings.scale);
  s.scores = wide(reshape(matmul(reshape(q, o.grouped(o.q.shape()[3])), transpose(o.k)),
                          o.plain(o.k.shape()[2])));
  if (capped) {
    s.tanh = tanh(s.scores);
    s.scores = mul(s.tanh, settings.softcap);
  }
  if (o.bias.defined()) s.scores = add(s.scores, o.bias);
  const Array masked = masked_out(o);
  if (masked.defined()) {
    s.scores = where(masked, -std::numeric_limits<double>::infinity(), s.scores);
  }
  s.sinks = o.sinks;
  s.unseeing = unseeing(o, masked);
  if (s.unseeing.defined()) s.scores = where(s.unseeing, 0.0, s.scores);
  return s;
}

Array where_seeing(const Scores& s, const Array& x) {
  return s.unseeing.defined() ? where(s.unseeing, 0.0, x) : x;
}

Array log_sums(const Scores& s) {
  const Array sums = logsumexp(s.scores, 3, true);
  return s.sinks.defined() ? sub(sums, log_sigmoid(sub(sums, s.sinks))) : sums;
}

// e^sum / (e^sum + e^sink).
Array share_of_keys(const Scores& s) {
  if (!s.sinks.defined()) return Array();
  return sigmoid(sub(logsumexp(s.scores, 3, true), s.sinks));
}

Array weights_of(const Scores& s) {
  Array weights = softmax(s.scores, 3);
  if (const Array share = share_of_keys(s); share.defined()) weights = mul(weights, share);
  return where_seeing(s, weights);
}

bool is_plain(const Operands& o) {
  const Settings& s = o.settings;
  return !o.mask.defined() && !o.bias.defined() && !o.lengths.defined() && !o.starts.defined() &&
         !o.sinks.defined() && s.softcap == 0 && s.window == 0 && s.kv_length == o.k.shape()[2];
}

Array plain_weights(const Array& q, const Array& k, const Settings& settings) {
  const Shape& from = q.shape();
  const Shape& kv = k.shape();
  const std::int64_t lines = kv[1] == 0 ? 0 : from[1] / kv[1] * from[2];
  const Array products = matmul(reshape(q, {kv[0], kv[1], lines, from[3]}), transpose(k));
  const Array scores = reshape(products, {from[0], from[1], from[2], kv[2]});
  return call(defs::causal_softmax_op, Params().f64(settings.scale).boolean(settings.causal),
              {&scores});
}

}  // namespace hearth::attention_math
