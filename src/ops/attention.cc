// attention: softmax(q k^T * scale) v with grouped heads, masks and a dynamic number of keys.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/throw_as.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {

namespace {

constexpr ParamSpec kWeights[] = {{.name = "scale", .type = ParamType::f64, .range = "finite"},
                                  {.name = "causal", .type = ParamType::boolean, .optional = true}};

constexpr ParamSpec kAttention[] = {
    {.name = "scale", .type = ParamType::f64, .range = "finite"},
    {.name = "softcap", .type = ParamType::f64, .optional = true, .range = "[0, inf)"},
    {.name = "causal", .type = ParamType::boolean, .optional = true},
    {.name = "bounded", .type = ParamType::boolean, .optional = true},
    {.name = "kv_length", .type = ParamType::i64, .dynamic = true, .range = "[0, length]"}};

struct Settings {
  double scale;
  double softcap;
  bool causal;
  bool bounded;  // else all keys exist
  std::int64_t kv_length;
};

Settings settings_of(ParamReader statics, std::uint64_t kv_length) {
  Settings s{};
  s.scale = statics.f64();
  s.softcap = statics.f64();
  s.causal = statics.boolean();
  s.bounded = statics.boolean();
  s.kv_length = dynamic_i64(kv_length);
  return s;
}

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

// Checks q, k, v, mask and bias, the inputs from `first` on, and the parameters. Returns the shape
// of the result.
Shape check_attention(const Inference& inference, int first) {
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
                   "scale is not finite; got " + std::to_string(s.scale) + ", expected a number");
  }
  if (!(s.softcap >= 0) || !std::isfinite(s.softcap)) {
    inference.fail(ErrorCode::invalid_argument, "softcap is out of range; got " +
                                                    std::to_string(s.softcap) +
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

void infer_attention(Inference& inference) {
  inference.shape = check_attention(inference, 0);
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
}

void infer_attention_with_sums(Inference& inference) {
  infer_attention(inference);
  const Shape& out = inference.shape;
  inference.more_outputs[0] = {{out[0], out[1], out[2]}, compute_dtype(inference.dtype)};
}

void infer_attention_backward(Inference& inference) {
  const Shape out = check_attention(inference, 2);
  const DType dtype = inference.input(2).dtype();
  const Shape rows = {out[0] * out[1] * out[2]};
  const DType sum_dtype = compute_dtype(dtype);
  if (inference.has(7) &&
      (inference.input(7).shape() != rows || inference.input(7).dtype() != sum_dtype)) {
    inference.fail(ErrorCode::shape,
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

// The operands in the dtype of the computation, as the math below wants them: keys and values that
// do not exist are 0, whatever their memory holds; heads that share keys lie among the rows.
struct Operands {
  Array q, k, v, mask, bias;
  Settings settings;

  Shape grouped(std::int64_t columns) const {  // [batch, kv_heads, group * q_length, columns]
    const Shape& kv = k.shape();
    return {kv[0], kv[1], kv[1] == 0 ? 0 : q.shape()[1] / kv[1] * q.shape()[2], columns};
  }
  Shape plain(std::int64_t columns) const {  // [batch, heads, q_length, columns]
    return {q.shape()[0], q.shape()[1], q.shape()[2], columns};
  }
};

Array columns(std::int64_t count, Device device) { return arange(0, count, 1, DType::i64, device); }

Array columns(const Operands& o) { return columns(o.k.shape()[2], o.k.device()); }

Operands operands(const Array& q, const Array& k, const Array& v, const Array& mask,
                  const Array& bias, const Settings& settings) {
  Operands o{wide(q), wide(k), wide(v), mask, bias.defined() ? wide(bias) : bias, settings};
  if (settings.kv_length < k.shape()[2]) {
    const Array exists = unsqueeze(less(columns(o), settings.kv_length), {1});
    o.k = where(exists, o.k, 0.0);
    o.v = where(exists, o.v, 0.0);
  }
  return o;
}

// True where a key comes after the last that its row sees, of which `seen` exist: [rows, keys].
// Layers share it.
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

// True where a key is masked out, of a shape that broadcasts to the scores; undefined: nowhere.
Array masked_out(const Operands& o) {
  Array masked = o.mask;
  const auto also = [&masked](const Array& more) {
    masked = masked.defined() ? logical_or(masked, more) : more;
  };
  const std::int64_t length = o.settings.kv_length;
  if (length < o.k.shape()[2]) also(greater_equal(columns(o), length));
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

struct Scores {
  Array scores;  // [batch, heads, q_length, length], -inf where masked out; 0 in rows of `unseeing`
  Array unseeing;  // see there
  Array tanh;      // of score / softcap; undefined without softcap
};

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

// `x` where rows see a key, else 0.
Array where_seeing(const Scores& s, const Array& x) {
  return s.unseeing.defined() ? where(s.unseeing, 0.0, x) : x;
}

// Whether scores are products, scaled, of which causal order may hide some.
bool is_plain(const Operands& o) {
  const Settings& s = o.settings;
  return !o.mask.defined() && !o.bias.defined() && s.softcap == 0 && s.kv_length == o.k.shape()[2];
}

// What a row's keys weigh where is_plain(); the rows of q are aligned with the last keys.
Array plain_weights(const Array& q, const Array& k, const Settings& settings) {
  const Shape& from = q.shape();
  const Shape& kv = k.shape();
  const std::int64_t lines = kv[1] == 0 ? 0 : from[1] / kv[1] * from[2];
  const Array products = matmul(reshape(q, {kv[0], kv[1], lines, from[3]}), transpose(k));
  const Array scores = reshape(products, {from[0], from[1], from[2], kv[2]});
  return call(defs::causal_softmax_op, Params().f64(settings.scale).boolean(settings.causal),
              {&scores});
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

bool is_empty(const Operands& o) {
  return o.q.size() == 0 || o.k.size() == 0 || o.v.size() == 0 || o.settings.kv_length == 0;
}

Array attention_composite(const Composite& c) {
  const Operands o =
      operands(c.input(0), c.input(1), c.input(2), c.has(3) ? c.input(3) : Array(),
               c.has(4) ? c.input(4) : Array(), settings_of(c.statics(), c.params.dynamics()[0]));
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
  const Array out = matmul(reshape(softmax(s.scores, 3), o.grouped(length)), o.v);
  return cast(where_seeing(s, reshape(out, shape)), dtype);
}

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
  scores = where(behind(count, keys, keys, c.device), -kInfinity, scores);
  if (count <= keys) return cast(softmax(scores, last), x.dtype());
  const Array blind = unsqueeze(less(columns(count, c.device), count - keys), {1});
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

std::vector<Array> attention_with_lse_composite(const Composite& c) {
  const Operands o =
      operands(c.input(0), c.input(1), c.input(2), c.has(3) ? c.input(3) : Array(),
               c.has(4) ? c.input(4) : Array(), settings_of(c.statics(), c.params.dynamics()[0]));
  const Shape& q = o.q.shape();
  const Shape rows = {q[0], q[1], q[2]};
  if (is_empty(o)) return {attention_composite(c), contiguous(zeros(rows, o.q.dtype(), c.device))};
  const Scores s = scores_of(o);
  return {attention_composite(c), reshape(where_seeing(s, logsumexp(s.scores, 3, true)), rows)};
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

// The gradients of the inputs from that of the rows, or that of their sums, or both; `sums` may be
// undefined.
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

Grads attention_vjp(const Vjp& v) { return attention_gradients(v, v.grad, Array(), Array()); }

Grads attention_with_lse_vjp(const Vjp& v) {
  const Array grad = v.grad.defined() ? v.grad : zeros_like(v.out);
  return attention_gradients(v, grad, flat(v.output(1)), v.output_grad(1));
}

Params attention_params(double scale, double softcap, bool causal, std::int64_t kv_length,
                        bool bounded = true) {
  return Params().f64(scale).f64(softcap).boolean(causal).boolean(bounded).dynamic_i64(kv_length);
}

std::vector<SampleCase> attention_samples() {
  const SampleInput mask = {{1, 1, 4, 5}, 0, 1, kBool};
  return {
      {{{{2, 2, 4, 8}}, {{2, 2, 5, 8}}, {{2, 2, 5, 6}}}, attention_params(0.35, 0, false, 5)},
      {{{{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}}, attention_params(0.35, 0, true, 4)},
      {{{{1, 2, 1, 8}}, {{1, 1, 7, 8}}, {{1, 1, 7, 8}}}, attention_params(0.35, 0, true, 3)},
      {{{{1, 2, 4, 8}}, {{1, 2, 5, 8}}, {{1, 2, 5, 8}}, mask}, attention_params(0.35, 2, false, 5)},
      {{{{1, 2, 4, 8}}, {{1, 2, 5, 8}}, {{1, 2, 5, 8}}, mask, {{2, 1, 5}}},
       attention_params(0.35, 0, true, 5)},
      {{{{1, 2, 4, 8}}, {{1, 2, 3, 8}}, {{1, 2, 3, 8}}}, attention_params(0.35, 0, true, 2)},
      {{{{1, 2, 0, 8}}, {{1, 2, 3, 8}}, {{1, 2, 3, 8}}}, attention_params(0.35, 0, false, 3)},
      {{{{1, 4, 9, 8}}, {{1, 2, 9, 8}}, {{1, 2, 9, 16}}},
       attention_params(0.35, 0, true, 9, false)},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(1, 0, false, 3, false),
       kArgumentError},
      {{{{1, 2, 3, 8}}, {{1, 2, 0, 8}}, {{1, 2, 0, 8}}}, attention_params(0.35, 0, false, 0)},
      {{{{1, 3, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(1, 0, false, 4),
       kShapeError},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 6}}, {{1, 2, 4, 6}}},
       attention_params(1, 0, false, 4),
       kShapeError},
      {{{{2, 4, 8}}, {{2, 4, 8}}, {{2, 4, 8}}}, attention_params(1, 0, false, 4), kShapeError},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(1, 0, false, 5),
       kArgumentError},
      {{{{1, 2, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(1, -1, false, 4),
       kArgumentError},
  };
}

std::vector<SampleCase> attention_backward_samples() {
  return {
      {{{{2, 2, 4, 6}}, {{2, 2, 4, 6}}, {{2, 2, 4, 8}}, {{2, 2, 5, 8}}, {{2, 2, 5, 6}}},
       attention_params(0.35, 0, false, 5)},
      {{{{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(0.35, 3, true, 4)},
      {{{{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(0.35, 0, true, 4, false)},
      {{{{1, 4, 4, 7}}, {{1, 4, 4, 8}}, {{1, 4, 4, 8}}, {{1, 2, 4, 8}}, {{1, 2, 4, 8}}},
       attention_params(0.35, 0, true, 4),
       kShapeError},
  };
}

}  // namespace

constinit const OpDef defs::attention_op = {
    .name = "attention",
    .revision = 2,
    .summary = "softmax(q k^T * scale) v, with softcap, mask, causal order and bias.",
    .shapes =
        "q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, "
        "dv], mask, bias -> [batch, heads, rows, dv]; mask and bias broadcast to [batch, heads, "
        "rows, length]",
    .method = "",
    .params = kAttention,
    .min_inputs = 3,
    .max_inputs = 5,
    .infer = infer_attention,
    .vjp = attention_vjp,
    .saves = Saves::all_inputs | Saves::output,
    .composite = attention_composite,
    .tracked_as = &defs::attention_with_lse_op,
    .accepts_dtype = is_float,
    .samples = attention_samples,
};

constinit const OpDef defs::attention_with_lse_op = {
    .name = "attention_with_lse",
    .revision = 2,
    .summary = "attention, and the logarithm of each row's sum of e^score, 0 where it sees no key.",
    .shapes =
        "q [batch, heads, rows, d], k [batch, kv_heads, length, d], v [batch, kv_heads, length, "
        "dv], mask, bias -> [batch, heads, rows, dv] and log sums [batch, heads, rows]; mask and "
        "bias broadcast to [batch, heads, rows, length]",
    .method = "",
    .params = kAttention,
    .min_inputs = 3,
    .max_inputs = 5,
    .outputs = 2,
    .infer = infer_attention_with_sums,
    .vjp = attention_with_lse_vjp,
    .saves = Saves::all_inputs | Saves::output | Saves::output1,
    .composite_outputs = attention_with_lse_composite,
    .accepts_dtype = is_float,
    .samples = attention_samples,
};

constinit const OpDef defs::attention_backward_op = {
    .name = "attention_backward",
    .revision = 3,
    .summary = "Gradients of attention for q, k and v.",
    .shapes =
        "grad [batch, heads, rows, dv], out [batch, heads, rows, dv], q [batch, heads, rows, d], k "
        "[batch, kv_heads, length, d], v [batch, kv_heads, length, dv], mask, bias, log_sums "
        "[batch * heads * rows] -> gradients of q, k and v in their shapes",
    .method = "",
    .params = kAttention,
    .min_inputs = 5,
    .max_inputs = 8,
    .outputs = 3,
    .infer = infer_attention_backward,
    .composite_outputs = attention_backward_composite,
    .accepts_dtype = is_float,
    .samples = attention_backward_samples,
};

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

inline namespace v0 {

Array attention(const Array& q, const Array& k, const Array& v,
                const AttentionOptions& options) try {
  const std::int64_t d = q.rank() == 4 ? q.shape()[3] : 1;
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(d > 0 ? d : 1)));
  const std::int64_t length = options.kv_length.value_or(k.rank() == 4 ? k.shape()[2] : 0);
  return call(defs::attention_op,
              attention_params(scale, options.softcap, options.causal, length,
                               options.kv_length.has_value()),
              {&q, &k, &v, optional_input(options.mask), optional_input(options.bias)});
} catch (const Error& error) {
  throw_as("attention", error);
}

}  // namespace v0
}  // namespace hearth
