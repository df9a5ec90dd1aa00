#include "ops/attention_math.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/number_text.h"
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

Array key_columns(const Operands& o) { return columns(o.k.shape()[2], o.k.device()); }

// True where a key is masked out, of a shape that broadcasts to the scores; undefined: nowhere.
Array masked_out(const Operands& o) {
  Array masked = o.mask;
  const auto also = [&masked](const Array& more) {
    masked = masked.defined() ? logical_or(masked, more) : more;
  };
  const std::int64_t length = o.settings.kv_length;
  if (length < o.k.shape()[2]) also(greater_equal(key_columns(o), length));
  if (o.settings.causal) {
    also(behind(o.q.shape()[2], o.k.shape()[2], length, o.q.device()));
  }
  return masked;
}

// Rows that see no key, of a shape that broadcasts to [batch, heads, q_length, 1]; undefined: none.
Array unseeing(const Operands& o, const Array& masked) {
  const Settings& s = o.settings;
  const bool always_one = !o.mask.defined() && !o.bias.defined() && s.kv_length > 0 &&
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
  s.kv_length = dynamic_i64(kv_length);
  return s;
}

Params params_of(double scale, double softcap, bool causal, std::int64_t kv_length, bool bounded) {
  return Params().f64(scale).f64(softcap).boolean(causal).boolean(bounded).dynamic_i64(kv_length);
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
  check_added(inference, first + 3, "mask", scores);
  check_added(inference, first + 4, "bias", scores);
  if (inference.has(first + 3) && !is_bool(inference.input(first + 3).dtype())) {
    inference.fail(ErrorCode::dtype, "mask is not bool; got " +
                                         std::string(name(inference.input(first + 3).dtype())) +
                                         ", expected bool, true where masked out");
  }
  if (inference.has(first + 4) && inference.input(first + 4).dtype() != dtype) {
    inference.fail(ErrorCode::dtype, "bias differs from q; got " +
                                         std::string(name(inference.input(first + 4).dtype())) +
                                         ", expected " + std::string(name(dtype)));
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
  if (s.kv_length < 0 || s.kv_length > k[2] || (!s.bounded && s.kv_length != k[2])) {
    inference.fail(ErrorCode::invalid_argument,
                   "kv_length is out of range; got " + std::to_string(s.kv_length) +
                       ", expected at least " + std::to_string(s.bounded ? 0 : k[2]) +
                       " and at most " + std::to_string(k[2]));
  }
  return out;
}

Array columns(std::int64_t count, Device device) { return arange(0, count, 1, DType::i64, device); }

Operands operands(const Array& q, const Array& k, const Array& v, const Array& mask,
                  const Array& bias, const Settings& settings) {
  Operands o{wide(q), wide(k), wide(v), mask, bias.defined() ? wide(bias) : bias, settings};
  if (settings.kv_length < k.shape()[2]) {
    const Array exists = unsqueeze(less(key_columns(o), settings.kv_length), {1});
    o.k = where(exists, o.k, 0.0);
    o.v = where(exists, o.v, 0.0);
  }
  return o;
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
  const Array q = capped ? o.q : mul(o.q, settings.scale);
  s.scores = reshape(matmul(reshape(q, o.grouped(o.q.shape()[3])), transpose(o.k)),
                     o.plain(o.k.shape()[2]));
  if (capped) {
    s.tanh = tanh(mul(s.scores, settings.scale / settings.softcap));
    s.scores = mul(s.tanh, settings.softcap);
  }
  if (o.bias.defined()) s.scores = add(s.scores, o.bias);
  const Array masked = masked_out(o);
  if (masked.defined()) {
    s.scores = where(masked, -std::numeric_limits<double>::infinity(), s.scores);
  }
  s.unseeing = unseeing(o, masked);
  if (s.unseeing.defined()) s.scores = where(s.unseeing, 0.0, s.scores);
  return s;
}

Array where_seeing(const Scores& s, const Array& x) {
  return s.unseeing.defined() ? where(s.unseeing, 0.0, x) : x;
}

bool is_plain(const Operands& o) {
  const Settings& s = o.settings;
  return !o.mask.defined() && !o.bias.defined() && s.softcap == 0 && s.kv_length == o.k.shape()[2];
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
