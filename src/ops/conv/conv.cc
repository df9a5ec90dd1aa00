// Convolution, its gradients, and the transposed convolution, which is one of them.
#include <algorithm>

#include "core/throw_as.h"
#include "ops/conv/composite.h"
#include "ops/conv/window.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/product_saves.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kGradientWindow[] = {
    kWindow[0], kWindow[1], kWindow[2],
    kWindow[3], kWindow[4], {.name = "extents", .type = ParamType::i64_list, .range = "[0, inf)"}};

struct Statics {
  explicit Statics(ParamReader statics, bool has_extents) : window(statics) {
    if (has_extents) extents = statics.list();
  }
  ConvWindow window;
  Dims extents;  // what of the result's shape the operands do not say
};

Params params_of(const ConvWindow& window) {
  Params params;
  window.append_to(&params);
  return params;
}

Params params_of(const ConvWindow& window, const Dims& extents) {
  Params params = params_of(window);
  params.list(extents);
  return params;
}

void check_operands(const Inference& inference, const char* first, const char* second) {
  common_dtype(inference, 0, 1);
  require_float(inference, 0, first);
  const Shape& a = inference.input(0).shape();
  const Shape& b = inference.input(1).shape();
  if (a.rank() < 3 || a.rank() > 5 || b.rank() != a.rank()) {
    inference.fail(ErrorCode::shape, "operands of wrong rank; got " + std::string(first) + " " +
                                         to_string(a) + " and " + second + " " + to_string(b) +
                                         ", expected both of one rank from 3 to 5");
  }
}

void check_groups(const Inference& inference, std::int64_t inputs, std::int64_t outputs,
                  std::int64_t groups) {
  if (inputs % groups == 0 && outputs % groups == 0) return;
  inference.fail(ErrorCode::shape, "groups do not fit; got " + std::to_string(groups) + " for " +
                                       std::to_string(inputs) + " channels in and " +
                                       std::to_string(outputs) +
                                       " out, expected a divisor of both");
}

// What the window makes of `extents`; fails where the kernel does not fit once.
Dims positions_of(const Inference& inference, const ConvWindow& window, const Dims& extents,
                  const Dims& kernel) {
  Dims out;
  for (int i = 0; i < window.axes(); ++i) {
    const std::int64_t count = kernel[i] < 1 ? 0 : window.positions(i, extents[i], kernel[i]);
    if (count < 1) {
      inference.fail(ErrorCode::shape,
                     "kernel does not fit into the padded input; got kernel " + to_string(kernel) +
                         ", dilation " + to_string(window.dilation) + " and input " +
                         to_string(extents) + ", expected an input that covers it");
    }
    out.push_back(count);
  }
  return out;
}

// Gradients may be of fewer positions than the window makes: of the others they are zero.
void check_positions(const Inference& inference, const Dims& grad, const Dims& positions) {
  for (int i = 0; i < grad.rank(); ++i) {
    if (grad[i] <= positions[i]) continue;
    inference.fail(ErrorCode::shape, "positions do not fit; got " + to_string(grad) +
                                         ", expected at most " + to_string(positions));
  }
}

void infer_conv(Inference& inference) {
  check_operands(inference, "x", "weight");
  const Shape& x = inference.input(0).shape();
  const Shape& weight = inference.input(1).shape();
  const ConvWindow& window = Statics(ParamReader(inference.params.statics().span()), false).window;
  window.check(inference, x.rank() - 2);
  if (x[1] % window.groups != 0 || x[1] / window.groups != weight[1]) {
    const auto wanted =
        static_cast<std::uint64_t>(weight[1]) * static_cast<std::uint64_t>(window.groups);
    inference.fail(ErrorCode::shape, "channels do not fit; got x of " + std::to_string(x[1]) +
                                         " channels, expected " + std::to_string(wanted) +
                                         " (weight " + to_string(weight) + ", " +
                                         std::to_string(window.groups) +
                                         (window.groups == 1 ? " group)" : " groups)"));
  }
  check_groups(inference, x[1], weight[0], window.groups);
  if (inference.has(2) && inference.input(2).shape() != Shape{weight[0]}) {
    inference.fail(ErrorCode::shape, "bias does not fit; got " +
                                         to_string(inference.input(2).shape()) + ", expected " +
                                         to_string(Shape{weight[0]}));
  }
  inference.shape =
      with_spatial(x[0], weight[0], positions_of(inference, window, spatial(x), spatial(weight)));
  inference.dtype = inference.scalar_dtype = common_dtype(inference);
}

void check_extents(const Inference& inference, const Dims& extents, int axes) {
  bool fits = extents.rank() == axes;
  for (const std::int64_t extent : extents) fits = fits && extent >= 0;
  if (fits) return;
  inference.fail(ErrorCode::invalid_argument, "extents do not fit; got " + to_string(extents) +
                                                  ", expected " + std::to_string(axes) +
                                                  " that are not negative");
}

void infer_input_gradient(Inference& inference) {
  check_operands(inference, "grad", "weight");
  const Shape& grad = inference.input(0).shape();
  const Shape& weight = inference.input(1).shape();
  const Statics statics(ParamReader(inference.params.statics().span()), true);
  const ConvWindow& window = statics.window;
  window.check(inference, grad.rank() - 2);
  check_extents(inference, statics.extents, grad.rank() - 2);
  std::int64_t inputs = 0;
  if (__builtin_mul_overflow(weight[1], window.groups, &inputs)) {
    inference.fail(ErrorCode::shape, "too many channels; got weight " + to_string(weight) +
                                         " and " + std::to_string(window.groups) +
                                         " groups, expected a product below 2^63");
  }
  check_groups(inference, inputs, grad[1], window.groups);
  if (grad[1] != weight[0]) {
    inference.fail(ErrorCode::shape, "channels do not fit; got grad " + to_string(grad) +
                                         " and weight " + to_string(weight) +
                                         ", expected as many in grad as weights");
  }
  check_positions(inference, spatial(grad),
                  positions_of(inference, window, statics.extents, spatial(weight)));
  inference.shape = with_spatial(grad[0], inputs, statics.extents);
  inference.dtype = inference.scalar_dtype = common_dtype(inference);
}

void infer_weight_gradient(Inference& inference) {
  check_operands(inference, "x", "grad");
  const Shape& x = inference.input(0).shape();
  const Shape& grad = inference.input(1).shape();
  const Statics statics(ParamReader(inference.params.statics().span()), true);
  const ConvWindow& window = statics.window;
  window.check(inference, x.rank() - 2);
  check_extents(inference, statics.extents, x.rank() - 2);
  check_groups(inference, x[1], grad[1], window.groups);
  if (x[0] != grad[0]) {
    inference.fail(ErrorCode::shape, "batches differ; got x " + to_string(x) + " and grad " +
                                         to_string(grad) + ", expected one batch");
  }
  check_positions(inference, spatial(grad),
                  positions_of(inference, window, spatial(x), statics.extents));
  inference.shape = with_spatial(grad[1], x[1] / window.groups, statics.extents);
  inference.dtype = inference.scalar_dtype = common_dtype(inference);
}

Array convolved(const Array& x, const Array& weight, const ConvWindow& window) {
  return call(defs::conv_op, params_of(window), {&x, &weight});
}
// The first of the positions that the window makes.
Array convolved(const Array& x, const Array& weight, const ConvWindow& window,
                const Dims& positions) {
  Array out = convolved(x, weight, window);
  for (int i = 0; i < positions.rank(); ++i) {
    if (out.shape()[i + 2] != positions[i]) out = narrow(out, i + 2, 0, positions[i]);
  }
  return out;
}
Array input_gradient(const Array& grad, const Array& weight, const ConvWindow& window,
                     const Dims& extents) {
  return call(defs::conv_input_gradient_op, params_of(window, extents), {&grad, &weight});
}
Array weight_gradient(const Array& x, const Array& grad, const ConvWindow& window,
                      const Dims& kernel) {
  return call(defs::conv_weight_gradient_op, params_of(window, kernel), {&x, &grad});
}

// Each rule calls the other two ops: all three are linear in either operand.
Grads conv_vjp(const Vjp& v) {
  const ConvWindow window = Statics(v.statics(), false).window;
  Grads out(static_cast<std::size_t>(v.input_count()));
  if (v.needs(0)) out[0] = input_gradient(v.grad, v.input(1), window, spatial(v.shape(0)));
  if (v.needs(1)) out[1] = weight_gradient(v.input(0), v.grad, window, spatial(v.shape(1)));
  if (v.needs(2)) {
    Dims axes = {0};
    for (int i = 2; i < v.grad.rank(); ++i) axes.push_back(i);
    out[2] = sum(v.grad, axes);
  }
  return out;
}

Grads input_gradient_vjp(const Vjp& v) {
  const ConvWindow window = Statics(v.statics(), true).window;
  Grads out(2);
  if (v.needs(0)) out[0] = convolved(v.grad, v.input(1), window, spatial(v.shape(0)));
  if (v.needs(1)) out[1] = weight_gradient(v.grad, v.input(0), window, spatial(v.shape(1)));
  return out;
}

Grads weight_gradient_vjp(const Vjp& v) {
  const ConvWindow window = Statics(v.statics(), true).window;
  Grads out(2);
  if (v.needs(0)) out[0] = input_gradient(v.input(1), v.grad, window, spatial(v.shape(0)));
  if (v.needs(1)) out[1] = convolved(v.input(0), v.grad, window, spatial(v.shape(1)));
  return out;
}

// out [batch, channels, positions...] and bias [channels].
Array plus_bias(const Array& out, const Array& bias) {
  Shape column = Dims::filled(out.rank() - 1, 1);
  column[0] = out.shape()[1];
  return out + reshape(bias, column);
}

Array conv_composite(const Composite& c) {
  const Array out = conv_of_patches(c.input(0), c.input(1), Statics(c.statics(), false).window);
  return c.has(2) ? plus_bias(out, c.input(2)) : out;
}

Array input_gradient_composite(const Composite& c) {
  const Statics statics(c.statics(), true);
  return conv_input_of_patches(c.input(0), c.input(1), statics.window, statics.extents);
}

Array weight_gradient_composite(const Composite& c) {
  const Statics statics(c.statics(), true);
  return conv_weight_of_patches(c.input(0), c.input(1), statics.window, statics.extents);
}

ConvWindow window_of(Dims stride, Dims before, Dims after, Dims dilation, std::int64_t groups) {
  ConvWindow window;
  window.stride = stride;
  window.before = before;
  window.after = after;
  window.dilation = dilation;
  window.groups = groups;
  return window;
}

// Windows, and the shapes of x, weight and result that go with them.
struct Problem {
  ConvWindow window;
  Shape x, weight, out;
};
std::vector<Problem> problems() {
  return {
      {window_of({1}, {0}, {0}, {1}, 1), {2, 3, 7}, {4, 3, 3}, {2, 4, 5}},
      {window_of({2}, {1}, {2}, {2}, 2), {1, 4, 9}, {6, 2, 3}, {1, 6, 4}},
      {window_of({1, 1}, {0, 0}, {0, 0}, {1, 1}, 1), {2, 3, 4, 5}, {4, 3, 1, 1}, {2, 4, 4, 5}},
      {window_of({1, 1}, {1, 1}, {1, 1}, {1, 1}, 1), {2, 3, 5, 6}, {4, 3, 3, 3}, {2, 4, 5, 6}},
      {window_of({2, 3}, {1, 0}, {0, 2}, {1, 2}, 2), {1, 4, 7, 8}, {6, 2, 3, 2}, {1, 6, 3, 3}},
      {window_of({1, 2}, {2, 1}, {2, 1}, {2, 1}, 3), {2, 3, 6, 5}, {6, 1, 3, 3}, {2, 6, 6, 3}},
      {window_of({1, 2, 1}, {0, 1, 1}, {1, 1, 0}, {1, 1, 2}, 1),
       {1, 2, 3, 5, 4},
       {3, 2, 2, 3, 2},
       {1, 3, 3, 3, 3}},
      {window_of({1, 1}, {0, 0}, {0, 0}, {1, 1}, 1), {0, 3, 4, 4}, {2, 3, 3, 3}, {0, 2, 2, 2}},
      {window_of({1, 1}, {0, 0}, {0, 0}, {1, 1}, 1), {1, 8, 3, 4}, {8, 8, 2, 1}, {1, 8, 2, 4}},
  };
}

std::vector<SampleCase> conv_samples() {
  std::vector<SampleCase> cases;
  for (const Problem& p : problems()) {
    cases.push_back({{{p.x}, {p.weight}}, params_of(p.window)});
  }
  const Problem plain = problems()[3];
  cases.push_back({{{plain.x}, {plain.weight}, {{4}}}, params_of(plain.window)});
  // Channels enough for tiles of matrices.
  cases.push_back({{{{1, 16, 5, 6}}, {{8, 16, 3, 3}}}, params_of(plain.window)});
  cases.push_back({{{plain.x}, {plain.weight}, {{3}}}, params_of(plain.window), kShapeError});
  cases.push_back({{{{2, 4, 5, 6}}, {plain.weight}}, params_of(plain.window), kShapeError});
  cases.push_back({{{{2, 3, 5}}, {plain.weight}}, params_of(plain.window), kShapeError});
  cases.push_back({{{{2, 3, 5, 0}}, {{4, 3, 3, 4}}}, params_of(plain.window), kShapeError});
  ConvWindow still = plain.window;
  still.stride = {0, 1};
  cases.push_back({{{plain.x}, {plain.weight}}, params_of(still), kArgumentError});
  return cases;
}

std::vector<SampleCase> input_gradient_samples() {
  std::vector<SampleCase> cases;
  for (const Problem& p : problems()) {
    cases.push_back({{{p.out}, {p.weight}}, params_of(p.window, spatial(p.x))});
  }
  const Problem plain = problems()[3];
  cases.push_back({{{{2, 4, 4, 6}}, {plain.weight}}, params_of(plain.window, {5, 6})});
  cases.push_back({{{{2, 4, 6, 6}}, {plain.weight}}, params_of(plain.window, {5, 6}), kShapeError});
  cases.push_back({{{{2, 5, 5, 6}}, {plain.weight}}, params_of(plain.window, {5, 6}), kShapeError});
  cases.push_back({{{plain.out}, {plain.weight}}, params_of(plain.window, {5}), kArgumentError});
  return cases;
}

std::vector<SampleCase> weight_gradient_samples() {
  std::vector<SampleCase> cases;
  for (const Problem& p : problems()) {
    cases.push_back({{{p.x}, {p.out}}, params_of(p.window, spatial(p.weight))});
  }
  const Problem plain = problems()[3];
  cases.push_back({{{plain.x}, {{2, 4, 5, 3}}}, params_of(plain.window, {3, 3})});
  cases.push_back({{{plain.x}, {{1, 4, 5, 6}}}, params_of(plain.window, {3, 3}), kShapeError});
  cases.push_back({{{plain.x}, {{2, 4, 7, 6}}}, params_of(plain.window, {3, 3}), kShapeError});
  return cases;
}

template <class Options>
ConvWindow window_of(const Options& options, const Array& x) {
  const int axes = x.defined() ? std::max(x.rank() - 2, 0) : 0;
  const WindowPadding padding = padding_of(options.padding, options.padding_end, axes);
  ConvWindow window;
  window.stride = per_axis(options.stride, axes, 1);
  window.before = padding.before;
  window.after = padding.after;
  window.dilation = per_axis(options.dilation, axes, 1);
  window.groups = options.groups;
  return window;
}

ConvWindow window_of(const ConvOptions& options, const Array& x, const Array& weight) {
  ConvWindow window = window_of(options, x);
  require_padding_or_same("conv", options.same, options.padding, options.padding_end);
  const bool has_axes = x.defined() && weight.defined() && x.rank() > 2 && weight.rank() > 2;
  if (!options.same || !has_axes) return window;
  const WindowPadding padding =
      same_padding(spatial(x.shape()), spatial(weight.shape()), window.stride, window.dilation);
  window.before = padding.before;
  window.after = padding.after;
  return window;
}

// What a transposed convolution of x makes of each axis. Throws what is wrong with x and weight, in
// the words of who calls it; of the window the op says the rest.
Dims transposed_extents(const Array& x, const Array& weight, const ConvWindow& window,
                        const Dims& output_padding) {
  const auto fail = [](ErrorCode code, const std::string& what) {
    throw Error(code, "conv_transpose: " + what);
  };
  if (!x.defined() || !weight.defined()) return {};
  const int axes = x.rank() - 2;
  if (axes < 1 || axes > 3 || weight.rank() != x.rank()) {
    fail(ErrorCode::shape, "operands of wrong rank; got x " + to_string(x.shape()) +
                               " and weight " + to_string(weight.shape()) +
                               ", expected both of one rank from 3 to 5");
  }
  const std::int64_t channels = x.shape()[1];
  if (weight.shape()[0] != channels) {
    fail(ErrorCode::shape, "channels do not fit; got x of " + std::to_string(channels) +
                               " channels, expected " + std::to_string(weight.shape()[0]) +
                               " (weight " + to_string(weight.shape()) + ")");
  }
  if (window.groups >= 1 && channels % window.groups != 0) {
    fail(ErrorCode::shape, "groups do not divide the channels; got " +
                               std::to_string(window.groups) + " groups of " +
                               std::to_string(channels) + " channels, expected a divisor");
  }
  if (!is_float(x.dtype())) {
    fail(ErrorCode::dtype, "x is not a float array; got " + std::string(name(x.dtype())) +
                               ", expected f64, f32, f16 or bf16");
  }
  const Dims more = per_axis(output_padding, axes, 0);
  Dims extents = Dims::filled(axes, 0);
  const auto is_window = [&](const Dims& list) {
    return list.rank() == axes && std::all_of(list.begin(), list.end(), [](std::int64_t item) {
             return item >= 0 && item <= INT32_MAX;
           });
  };
  if (!is_window(window.stride) || !is_window(window.before) || !is_window(window.after) ||
      !is_window(window.dilation)) {
    return extents;
  }
  for (int i = 0; i < axes; ++i) {
    if (more.rank() != axes || more[i] < 0 || more[i] > INT32_MAX) {
      fail(ErrorCode::invalid_argument, "output padding does not fit; got " + to_string(more) +
                                            ", expected " + std::to_string(axes) +
                                            " numbers from 0 to 2147483647");
    }
    std::int64_t walked = 0, covered = 0, extent = 0;
    const bool overflows =
        __builtin_mul_overflow(x.shape()[i + 2] - 1, window.stride[i], &walked) ||
        __builtin_mul_overflow(weight.shape()[i + 2] - 1, window.dilation[i], &covered) ||
        __builtin_add_overflow(walked, covered, &extent) ||
        __builtin_add_overflow(extent, 1 + more[i] - window.before[i] - window.after[i], &extent);
    if (overflows || extent < 1) {
      fail(ErrorCode::shape, "result has no elements, or too many; got x " + to_string(x.shape()) +
                                 ", kernel " + to_string(spatial(weight.shape())) +
                                 " and padding " + to_string(window.before) +
                                 ", expected padding that leaves some");
    }
    extents[i] = extent;
  }
  return extents;
}

}  // namespace

constinit const OpDef defs::conv_op = {
    .name = "conv",
    .summary = "Convolution (cross-correlation) over one to three spatial axes.",
    .shapes =
        "x [batch, in, spatial...], weight [out, in / groups, kernel...], bias [out] -> "
        "[batch, out, positions...]",
    .method = "",
    .params = kWindow,
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer_conv,
    .vjp = conv_vjp,
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .composite = conv_composite,
    .accepts_dtype = is_float,
    .samples = conv_samples,
};

constinit const OpDef defs::conv_input_gradient_op = {
    .name = "conv_input_gradient",
    .summary = "Gradient of conv for x: what each position gives to the elements that it met.",
    .shapes =
        "grad [batch, out, positions...], weight [out, in / groups, kernel...] -> [batch, "
        "in, extents...]",
    .method = "",
    .params = kGradientWindow,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_input_gradient,
    .vjp = input_gradient_vjp,
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .composite = input_gradient_composite,
    .accepts_dtype = is_float,
    .samples = input_gradient_samples,
};

constinit const OpDef defs::conv_weight_gradient_op = {
    .name = "conv_weight_gradient",
    .summary = "Gradient of conv for its weight: each position times what it met, summed.",
    .shapes =
        "x [batch, in, spatial...], grad [batch, out, positions...] -> [out, in / groups, "
        "extents...]",
    .method = "",
    .params = kGradientWindow,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_weight_gradient,
    .vjp = weight_gradient_vjp,
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .composite = weight_gradient_composite,
    .accepts_dtype = is_float,
    .samples = weight_gradient_samples,
};

inline namespace v0 {

Array conv(const Array& x, const Array& weight, const Array& bias, const ConvOptions& options) {
  return call(defs::conv_op, params_of(window_of(options, x, weight)),
              {&x, &weight, optional_input(bias)});
}

Array conv_transpose(const Array& x, const Array& weight, const Array& bias,
                     const ConvTransposeOptions& options) try {
  const ConvWindow window = window_of(options, x);
  const Dims extents = transposed_extents(x, weight, window, options.output_padding);
  Array out = input_gradient(x, weight, window, extents);
  if (!bias.defined()) return out;
  if (bias.shape() != Shape{out.shape()[1]}) {
    throw Error(ErrorCode::shape, "conv_transpose: bias does not fit; got " +
                                      to_string(bias.shape()) + ", expected " +
                                      to_string(Shape{out.shape()[1]}));
  }
  return plus_bias(out, bias);
} catch (const Error& error) {
  throw_as("conv_transpose", error);
}

}  // namespace v0
}  // namespace hearth
