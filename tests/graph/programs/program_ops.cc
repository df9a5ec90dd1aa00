// The statements that compute element by element, reduce, contract or create.
#include "graph/programs/program_maker.h"
#include "graph/programs/program_text.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"

namespace hearth::testing {

bool ProgramMaker::unary() {
  using Function = Array (*)(const Array&);
  struct Entry {
    const char* name;
    Function apply;
  };
  static const Entry kSmooth[] = {{"neg", neg},
                                  {"tanh", tanh},
                                  {"sigmoid", sigmoid},
                                  {"erf", erf},
                                  {"relu", relu},
                                  {"silu", silu},
                                  {"abs", abs},
                                  {"square", square},
                                  {"gelu", [](const Array& x) { return gelu(x); }},
                                  {"gelu_tanh", [](const Array& x) { return gelu(x, true); }},
                                  {"exp_neg_abs", [](const Array& x) { return exp(neg(abs(x))); }},
                                  {"sin_tanh", [](const Array& x) { return sin(tanh(x)); }},
                                  {"log1p_abs", [](const Array& x) { return log1p(abs(x)); }}};
  static const Entry kJumping[] = {
      {"sign", sign},   {"sqrt", sqrt},
      {"rsqrt", rsqrt}, {"recip", recip},
      {"exp", exp},     {"expm1", expm1},
      {"log", log},     {"log1p", log1p},
      {"sin", sin},     {"cos", cos},
      {"floor", floor}, {"ceil", ceil},
      {"round", round}, {"is_nan", [](const Array& x) { return is_nan(x); }}};
  static const Entry kInteger[] = {{"neg", neg}, {"abs", abs}, {"sign", sign}, {"square", square}};
  const int x = pick([](const Array& a) { return !is_bool(a.dtype()); });
  if (x < 0) return false;
  const Entry entry = is_int(shadow(x).dtype())     ? kInteger[below(4)]
                      : options_.jumps && one_in(2) ? kJumping[below(14)]
                                                    : kSmooth[below(13)];
  return emit({x}, call_text(entry.name, {var(x)}),
              [x, apply = entry.apply](const Variables& v, Device) {
                return apply(v[static_cast<std::size_t>(x)]);
              });
}

namespace {
using Binary = Array (*)(const Array&, const Array&);
struct BinaryEntry {
  const char* name;
  Binary apply;
};
constexpr BinaryEntry kBinary[] = {{"add", add},         {"sub", sub}, {"mul", mul},
                                   {"add", add},         {"mul", mul}, {"maximum", maximum},
                                   {"minimum", minimum}, {"div", div}, {"remainder", remainder},
                                   {"pow", pow}};
constexpr int kSmoothBinary = 7;
constexpr int kBinaryCount = 10;
}  // namespace

bool ProgramMaker::binary() {
  const int a = pick([](const Array& x) { return !is_bool(x.dtype()); });
  if (a < 0) return false;
  const int b = broadcastable(a);
  const bool any = options_.jumps || is_int(shadow(a).dtype());
  const BinaryEntry entry = kBinary[below(any ? kBinaryCount : kSmoothBinary)];
  return emit({a, b}, call_text(entry.name, {var(a), var(b)}),
              [a, b, apply = entry.apply](const Variables& v, Device) {
                return apply(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]);
              });
}

bool ProgramMaker::with_scalar() {
  const int a = pick([](const Array& x) { return !is_bool(x.dtype()); });
  if (a < 0) return false;
  std::string text;
  const Array number = scalar(shadow(a).dtype(), text);
  const bool any = options_.jumps || is_int(shadow(a).dtype());
  const BinaryEntry entry = kBinary[below(any ? kBinaryCount : kSmoothBinary)];
  const bool left = one_in(3);
  return emit({a},
              left ? call_text(entry.name, {text, var(a)}) : call_text(entry.name, {var(a), text}),
              [a, number, left, apply = entry.apply](const Variables& v, Device) {
                const Array& x = v[static_cast<std::size_t>(a)];
                return left ? apply(number, x) : apply(x, number);
              });
}

bool ProgramMaker::compare() {
  static constexpr BinaryEntry kCompare[] = {
      {"equal", equal},     {"not_equal", not_equal},   {"less", less},
      {"greater", greater}, {"less_equal", less_equal}, {"greater_equal", greater_equal}};
  const int a = pick([](const Array& x) { return !is_bool(x.dtype()); });
  if (a < 0) return false;
  const int b = broadcastable(a);
  const BinaryEntry entry = kCompare[below(6)];
  return emit({a, b}, call_text(entry.name, {var(a), var(b)}),
              [a, b, apply = entry.apply](const Variables& v, Device) {
                return apply(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]);
              });
}

bool ProgramMaker::logic() {
  static constexpr BinaryEntry kLogic[] = {
      {"logical_and", logical_and}, {"logical_or", logical_or}, {"logical_xor", logical_xor}};
  const int a = pick_dtype(DType::bool_);
  if (a < 0) return false;
  if (one_in(4)) {
    return emit({a}, call_text("logical_not", {var(a)}), [a](const Variables& v, Device) {
      return logical_not(v[static_cast<std::size_t>(a)]);
    });
  }
  const int b = broadcastable(a);
  const BinaryEntry entry = kLogic[below(3)];
  return emit({a, b}, call_text(entry.name, {var(a), var(b)}),
              [a, b, apply = entry.apply](const Variables& v, Device) {
                return apply(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]);
              });
}

bool ProgramMaker::choose() {
  const int a = pick([](const Array&) { return true; });
  if (a < 0) return false;
  const int b = broadcastable(a);
  Shape shape = broadcast_shapes("choose", shadow(a).shape(), shadow(b).shape());
  if (element_count(shape) > size_limit()) return false;
  int condition = pick([&](const Array& x) { return is_bool(x.dtype()) && x.shape() == shape; });
  if (condition < 0) {
    if (shape.rank() > 0 && one_in(3)) shape[below(shape.rank())] = 1;
    condition = add_input(DType::bool_, shape);
  }
  if (one_in(4)) {
    std::string text;
    const Array number = scalar(shadow(a).dtype(), text);
    return emit({a, condition}, call_text("where", {var(condition), var(a), text}),
                [=](const Variables& v, Device) {
                  return where(v[static_cast<std::size_t>(condition)],
                               v[static_cast<std::size_t>(a)], number);
                });
  }
  return emit({a, condition, b}, call_text("where", {var(condition), var(a), var(b)}),
              [=](const Variables& v, Device) {
                return where(v[static_cast<std::size_t>(condition)], v[static_cast<std::size_t>(a)],
                             v[static_cast<std::size_t>(b)]);
              });
}

bool ProgramMaker::limit() {
  const int a = pick([](const Array& x) { return !is_bool(x.dtype()); });
  if (a < 0) return false;
  std::string low_text;
  std::string high_text;
  const Array low = scalar(shadow(a).dtype(), low_text);
  const Array high = scalar(shadow(a).dtype(), high_text);
  return emit(
      {a}, call_text("clamp", {var(a), low_text, high_text}),
      [=](const Variables& v, Device) { return clamp(v[static_cast<std::size_t>(a)], low, high); });
}

bool ProgramMaker::convert() {
  const int a = pick([](const Array&) { return true; });
  if (a < 0) return false;
  const DType dtype = random_dtype();
  if (shadow(a).dtype() == dtype) return false;
  return emit({a}, call_text("cast", {var(a), dtype_text(dtype)}), [=](const Variables& v, Device) {
    return cast(v[static_cast<std::size_t>(a)], dtype);
  });
}

bool ProgramMaker::reduce() {
  using Reduce = Array (*)(const Array&, const Dims&, bool);
  struct Entry {
    const char* name;
    Reduce apply;
  };
  static constexpr Entry kReduce[] = {
      {"sum", sum},
      {"mean", mean},
      {"max", max},
      {"min", min},
      {"sum", sum},
      {"any", any},
      {"all", [](const Array& x, const Dims& axes, bool keepdim) { return all(x, axes, keepdim); }},
      {"prod", prod}};
  const int a = pick([](const Array&) { return true; });
  if (a < 0) return false;
  const Array& x = shadow(a);
  int entry = options_.jumps ? below(8) : below(5);
  if (is_bool(x.dtype())) entry = 5 + below(2);
  const bool ordered = entry == 0 || entry == 1 || entry == 4 || entry == 7;
  if (ordered && is_float(x.dtype()) && !options_.float_sums) entry = 2 + below(2);
  if (kReduce[entry].apply == static_cast<Reduce>(mean) && is_int(x.dtype())) entry = 0;
  const bool extreme = entry == 2 || entry == 3 || entry == 1;
  if (extreme && x.size() == 0) return false;
  Dims axes;
  const bool everything = one_in(4);
  for (int i = 0; i < x.rank(); ++i) {
    if (everything || one_in(2)) axes.push_back(i);
  }
  const bool keepdim = one_in(2);
  // Of zeros of both signs max and min may give either: a sum with 0 leaves one of them, before or
  // after the reduction.
  const bool unsign = (entry == 2 || entry == 3) && is_float(x.dtype());
  const bool before = unsign && keepdim, after = unsign && !keepdim;
  const auto sum_text = [](const std::string& of) { return call_text("add", {of, "0.0"}); };
  const std::string text =
      call_text(kReduce[entry].name,
                {before ? sum_text(var(a)) : var(a), braces(axes), keepdim ? "true" : "false"});
  return emit(
      {a}, after ? sum_text(text) : text,
      [a, axes, keepdim, before, after, apply = kReduce[entry].apply](const Variables& v, Device) {
        const Array& of = v[static_cast<std::size_t>(a)];
        const Array result = apply(before ? hearth::add(of, 0.0) : of, axes, keepdim);
        return after ? hearth::add(result, 0.0) : result;
      });
}

bool ProgramMaker::arg_reduce() {
  const int a =
      pick([](const Array& x) { return x.rank() > 0 && x.size() > 0 && !is_bool(x.dtype()); });
  if (a < 0) return false;
  const int axis = below(shadow(a).rank());
  const bool largest = one_in(2);
  return emit({a}, call_text(largest ? "argmax" : "argmin", {var(a), std::to_string(axis)}),
              [=](const Variables& v, Device) {
                const Array& x = v[static_cast<std::size_t>(a)];
                return largest ? argmax(x, axis) : argmin(x, axis);
              });
}

bool ProgramMaker::extreme_with_indices() {
  const int a =
      pick([](const Array& x) { return x.rank() > 0 && x.size() > 0 && !is_bool(x.dtype()); });
  if (a < 0) return false;
  const int axis = below(shadow(a).rank());
  const bool largest = one_in(2), keepdim = one_in(2);
  return emit_several({a},
                      call_text(largest ? "max_with_indices" : "min_with_indices",
                                {var(a), std::to_string(axis), keepdim ? "true" : "false"}),
                      [=](const Variables& v, Device) {
                        const Array& x = v[static_cast<std::size_t>(a)];
                        const auto [value, at] = largest ? max_with_indices(x, axis, keepdim)
                                                         : min_with_indices(x, axis, keepdim);
                        return std::vector<Array>{value, at};
                      });
}

bool ProgramMaker::norm_gradients() {
  const int x = pick([](const Array& y) { return is_float(y.dtype()) && y.rank() > 0; });
  if (x < 0) return false;
  const Shape shape = shadow(x).shape();
  int g =
      pick([&](const Array& y) { return y.shape() == shape && y.dtype() == shadow(x).dtype(); });
  if (g < 0) g = add_input(shadow(x).dtype(), shape);
  const bool centred = one_in(2);
  // Bounded, with a deviation that rounding cannot change much.
  return emit_several({g, x},
                      call_text(centred ? "layer_norm_backward" : "rms_norm_backward",
                                {"tanh(" + var(g) + ")", "tanh(" + var(x) + ")"}),
                      [=](const Variables& v, Device) {
                        const Array grad = tanh(v[static_cast<std::size_t>(g)]);
                        const Array rows = tanh(v[static_cast<std::size_t>(x)]);
                        const Array* const inputs[] = {&grad, &rows};
                        return record_outputs(
                            centred ? defs::layer_norm_backward_op : defs::rms_norm_backward_op,
                            inputs, Params().f64(1));
                      });
}

bool ProgramMaker::normalize() {
  const int a = pick([](const Array& x) { return is_float(x.dtype()) && x.rank() > 0; });
  if (a < 0) return false;
  const int axis = below(shadow(a).rank());
  const int which = below(3);
  static constexpr const char* kNames[] = {"softmax", "log_softmax", "logsumexp"};
  return emit({a}, call_text(kNames[which], {var(a), std::to_string(axis)}),
              [=](const Variables& v, Device) {
                const Array& x = v[static_cast<std::size_t>(a)];
                return which == 0   ? softmax(x, axis)
                       : which == 1 ? log_softmax(x, axis)
                                    : logsumexp(x, axis);
              });
}

bool ProgramMaker::multiply_matrices() {
  const int a = pick([](const Array& x) { return x.rank() >= 1 && !is_bool(x.dtype()); });
  if (a < 0) return false;
  const Array& x = shadow(a);
  const std::int64_t k = x.shape(-1);
  int b = pick(
      [&](const Array& y) { return y.dtype() == x.dtype() && y.rank() == 2 && y.shape(0) == k; });
  if (b < 0) {
    constexpr std::int64_t kColumns[] = {1, 2, 5, 8, 16, 31};
    const std::int64_t columns = kColumns[below(6)];
    if (k * columns > size_limit()) return false;
    b = add_input(x.dtype(), {k, columns});
  }
  if (x.size() * shadow(b).shape(1) > (options_.large ? 40 : 1) * std::int64_t{1000000})
    return false;
  // Products are scaled so that chains of them stay bounded.
  return emit({a, b}, call_text("matmul", {var(a), var(b)}), [=](const Variables& v, Device) {
    return matmul(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]);
  });
}

bool ProgramMaker::layers() {
  const int a =
      pick([](const Array& x) { return is_float(x.dtype()) && x.rank() >= 1 && x.shape(-1) > 1; });
  if (a < 0) return false;
  const Array& x = shadow(a);
  const std::int64_t dim = x.shape(-1);
  const int which = below(4);
  if (which == 3) {
    if (x.rank() < 2 || dim % 2 != 0) return false;
    RopeOptions options;
    options.offset = below(50);
    options.interleaved = one_in(2);
    return emit(
        {a},
        call_text("rope", {var(a), "{.interleaved = " + std::to_string(options.interleaved) +
                                       ", .offset = " + std::to_string(options.offset) + "}"}),
        [=](const Variables& v, Device) { return rope(v[static_cast<std::size_t>(a)], options); });
  }
  int weight = pick(
      [&](const Array& w) { return w.dtype() == x.dtype() && w.rank() == 1 && w.shape(0) == dim; });
  if (weight < 0) weight = add_input(x.dtype(), {dim});
  if (which == 0) {
    return emit(
        {a, weight}, call_text("rms_norm", {var(a), var(weight)}), [=](const Variables& v, Device) {
          return rms_norm(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(weight)]);
        });
  }
  if (which == 1) {
    return emit({a, weight}, call_text("layer_norm", {var(a), var(weight), var(weight)}),
                [=](const Variables& v, Device) {
                  const Array& w = v[static_cast<std::size_t>(weight)];
                  return layer_norm(v[static_cast<std::size_t>(a)], w, w);
                });
  }
  const std::int64_t out = 1 + below(9);
  const int matrix = add_input(x.dtype(), {out, dim});
  return emit({a, matrix}, call_text("linear", {var(a), var(matrix)}),
              [=](const Variables& v, Device) {
                return linear(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(matrix)]);
              });
}

bool ProgramMaker::attend() {
  const int a =
      pick([](const Array& x) { return is_float(x.dtype()) && x.size() >= 8 && x.size() <= 4096; });
  if (a < 0) return false;
  const Array& x = shadow(a);
  const std::int64_t d = x.size() % 4 == 0 ? 4 : 1;
  const std::int64_t length = x.size() / d;
  if (length > 300) return false;
  const std::int64_t keys = 1 + below(9);
  const int k = add_input(x.dtype(), {1, 1, keys, d});
  AttentionOptions options;
  options.causal = one_in(2);
  options.kv_length = keys - below(static_cast<int>(std::min<std::int64_t>(keys, 3)));
  return emit({a, k},
              "attention(reshape(" + var(a) + ", " + braces({1, 1, length, d}) + "), " + var(k) +
                  ", " + var(k) + ", {.causal = " + std::to_string(options.causal) +
                  ", .kv_length = " + std::to_string(*options.kv_length) + "})",
              [=](const Variables& v, Device) {
                const Array& key = v[static_cast<std::size_t>(k)];
                return attention(reshape(v[static_cast<std::size_t>(a)], {1, 1, length, d}), key,
                                 key, options);
              });
}

bool ProgramMaker::create() {
  const Shape shape = random_shape();
  const DType dtype = options_.jumps ? random_dtype() : options_.float_dtype;
  std::string text;
  const int which = below(3);
  if (which == 0) {
    const Array number = scalar(dtype, text);
    return emit(
        {}, call_text("full", {braces(shape), text, dtype_text(dtype)}),
        [=](const Variables&, Device device) { return full(shape, number, dtype, device); });
  }
  if (which == 1) {
    const std::int64_t end = 1 + below(40);
    const std::int64_t step = 1 + below(3);
    const DType whole = is_bool(dtype) ? DType::i32 : dtype;
    return emit(
        {},
        call_text("arange", {"0", std::to_string(end), std::to_string(step), dtype_text(whole)}),
        [=](const Variables&, Device device) { return arange(0, end, step, whole, device); });
  }
  Generator generator{program_.seed, static_cast<std::uint64_t>(below(1000))};
  const DType real = options_.float_dtype;
  const bool normal = one_in(2);
  return emit({},
              std::string("[] { Generator g{") + std::to_string(generator.seed) + ", " +
                  std::to_string(generator.counter) + "}; return random_" +
                  (normal ? "normal(" : "uniform(") + braces(shape) + ", 0, 1, " +
                  dtype_text(real) + ", device, &g); }()",
              [=](const Variables&, Device device) {
                Generator source = generator;
                return normal ? random_normal(shape, 0, 1, real, device, &source)
                              : random_uniform(shape, 0, 1, real, device, &source);
              });
}

}  // namespace hearth::testing
