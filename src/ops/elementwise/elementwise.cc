// Functions of one array, element by element.
#include <algorithm>
#include <cmath>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr double kTwoOverSqrtPi = 1.1283791670955126;
constexpr double kSqrtHalf = 0.7071067811865476;
constexpr double kInverseSqrtTwoPi = 0.3989422804014327;
constexpr double kSqrtTwoOverPi = 0.7978845608028654;
constexpr double kGeluCubic = 0.044715;

// Of a function that is constant between its jumps.
Grads zero_gradient(const Vjp& v) { return grads(zeros_like(v.grad)); }

Grads gelu_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Array phi = mul(add(erf(mul(x, kSqrtHalf)), 1.0), 0.5);
  const Array density = mul(exp(mul(square(x), -0.5)), kInverseSqrtTwoPi);
  return grads(mul(v.grad, add(phi, mul(x, density))));
}

// With t = tanh(u(x)): y = x (1 + t) / 2, y' = (1 + t) / 2 + x (1 - t^2) u' / 2.
Grads gelu_tanh_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Array squared = square(x);
  const Array t = tanh(mul(mul(x, add(mul(squared, kGeluCubic), 1.0)), kSqrtTwoOverPi));
  const Array slope = mul(add(mul(squared, 3 * kGeluCubic), 1.0), kSqrtTwoOverPi);
  const Array tail = mul(mul(x, sub(1.0, square(t))), slope);
  return grads(mul(v.grad, mul(add(add(t, 1.0), tail), 0.5)));
}

Grads silu_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Array s = sigmoid(x);
  return grads(mul(v.grad, mul(s, add(mul(x, sub(1.0, s)), 1.0))));
}

void infer_cast(Inference& inference) {
  require_input(inference, 0);
  const Node& x = *node_of(inference.input(0));
  inference.shape = x.shape;
  inference.dtype = ParamReader(inference.params.statics().span()).dtype();
  // A number is converted when it is recorded, so that no device needs the wider dtype.
  inference.scalar_dtype = inference.dtype;
}

Grads cast_gradient(const Vjp& v) {
  if (!is_float(v.dtype(0)) || !is_float(v.grad.dtype())) return grads(Array());
  return grads(cast(v.grad, v.dtype(0)));
}

std::vector<SampleCase> cast_samples() {
  std::vector<SampleCase> samples;
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8, DType::bool_}) {
    SampleCase sample;
    sample.inputs = {{.shape = {2, 3}, .lo = -3, .hi = 3}};
    sample.params.dtype(dtype);
    samples.push_back(sample);
  }
  return samples;
}

constexpr ParamSpec kCastParams[] = {{.name = "dtype", .type = ParamType::dtype}};

// The integer of `dtype` that a float becomes: truncated, saturated, 0 for NaN. One beyond i64 is
// given as the i64 that wraps to it.
Array integral_number(double value, DType dtype) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  const bool is_signed = info(dtype).is_signed;
  const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  if (std::isnan(value) || (!is_signed && value < 1)) return std::int64_t{0};
  if (value >= end) {
    const std::uint64_t all = ~std::uint64_t{0} >> (is_signed ? 65 - bits : 64 - bits);
    return static_cast<std::int64_t>(all);
  }
  if (!is_signed) return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  return static_cast<std::int64_t>(std::max(value, -end));
}

Array unary(const OpDef& op, const Array& x) {
  const Array* const inputs[] = {&x};
  return record(op, inputs, kNoParams);
}

}  // namespace

namespace defs {

constinit const OpDef neg_op = elementwise({
    .name = "neg",
    .summary = "-x.",
    .vjp = [](const Vjp& v) { return grads(neg(v.grad)); },
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef abs_op = elementwise({
    .name = "abs",
    .summary = "|x|; the least signed integer stays.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, sign(v.input(0)))); },
    .saves = Saves::input0,
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef sign_op = elementwise({
    .name = "sign",
    .summary = "-1, +0 or 1; 0 for NaN.",
    .may_wrap = false,
    .vjp = zero_gradient,
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef square_op = elementwise({
    .name = "square",
    .summary = "x * x.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, mul(v.input(0), 2.0))); },
    .saves = Saves::input0,
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef sqrt_op = elementwise({
    .name = "sqrt",
    .summary = "The square root.",
    .vjp = [](const Vjp& v) { return grads(div(mul(v.grad, 0.5), v.out)); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 2, 40>,
});

constinit const OpDef rsqrt_op = elementwise({
    .name = "rsqrt",
    .summary = "1 / sqrt(x).",
    .vjp = [](const Vjp& v) { return grads(mul(mul(v.grad, -0.5), mul(v.out, square(v.out)))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 2, 40>,
});

constinit const OpDef recip_op = elementwise({
    .name = "recip",
    .summary = "1 / x.",
    .vjp = [](const Vjp& v) { return grads(neg(mul(v.grad, square(v.out)))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 3, 40>,
});

constinit const OpDef exp_op = elementwise({
    .name = "exp",
    .summary = "e^x.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, v.out)); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
});

constinit const OpDef expm1_op = elementwise({
    .name = "expm1",
    .summary = "e^x - 1, exact near 0.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, add(v.out, 1.0))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
});

constinit const OpDef log_op = elementwise({
    .name = "log",
    .summary = "The natural logarithm.",
    .vjp = [](const Vjp& v) { return grads(div(v.grad, v.input(0))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 2, 40>,
});

constinit const OpDef log1p_op = elementwise({
    .name = "log1p",
    .summary = "log(1 + x), exact near 0.",
    .vjp = [](const Vjp& v) { return grads(div(v.grad, add(v.input(0), 1.0))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, -8, 40>,
});

constinit const OpDef tanh_op = elementwise({
    .name = "tanh",
    .summary = "The hyperbolic tangent.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, sub(1.0, square(v.out)))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
});

constinit const OpDef sigmoid_op = elementwise({
    .name = "sigmoid",
    .summary = "1 / (1 + e^-x), without overflow.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, mul(v.out, sub(1.0, v.out)))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
});

constinit const OpDef erf_op = elementwise({
    .name = "erf",
    .summary = "The error function.",
    .vjp =
        [](const Vjp& v) {
          return grads(mul(v.grad, mul(exp(neg(square(v.input(0)))), kTwoOverSqrtPi)));
        },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef sin_op = elementwise({
    .name = "sin",
    .summary = "The sine of x in radians.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, cos(v.input(0)))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef cos_op = elementwise({
    .name = "cos",
    .summary = "The cosine of x in radians.",
    .vjp = [](const Vjp& v) { return grads(neg(mul(v.grad, sin(v.input(0))))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef tan_op = elementwise({
    .name = "tan",
    .summary = "The tangent of x in radians.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, add(square(v.out), 1.0))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, -12, 12>,
});

constinit const OpDef floor_op = elementwise({
    .name = "floor",
    .summary = "The largest whole number not above x.",
    .vjp = zero_gradient,
    .accepts_dtype = is_float,
});

constinit const OpDef ceil_op = elementwise({
    .name = "ceil",
    .summary = "The smallest whole number not below x.",
    .vjp = zero_gradient,
    .accepts_dtype = is_float,
});

constinit const OpDef round_op = elementwise({
    .name = "round",
    .summary = "The nearest whole number; ties to even.",
    .vjp = zero_gradient,
    .accepts_dtype = is_float,
});

constinit const OpDef trunc_op = elementwise({
    .name = "trunc",
    .summary = "The whole part of x, with its sign.",
    .vjp = zero_gradient,
    .accepts_dtype = is_float,
});

constinit const OpDef relu_op = elementwise({
    .name = "relu",
    .summary = "x where x > 0, else 0; NaN stays.",
    .vjp = [](const Vjp& v) { return grads(where(greater(v.out, 0.0), v.grad, 0.0)); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
});

constinit const OpDef gelu_op = elementwise({
    .name = "gelu",
    .summary = "x * (1 + erf(x / sqrt(2))) / 2.",
    .vjp = gelu_gradient,
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef gelu_tanh_op = elementwise({
    .name = "gelu_tanh",
    .summary = "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.",
    .method = "",
    .vjp = gelu_tanh_gradient,
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef silu_op = elementwise({
    .name = "silu",
    .summary = "x * sigmoid(x).",
    .vjp = silu_gradient,
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef logical_not_op = elementwise({
    .name = "logical_not",
    .summary = "Whether x is false.",
    .method = "bool_not",
    .infer = infer_elementwise_bool,
    .formula = Formula::logic,
    .differentiable = false,
    .accepts_dtype = is_bool,
});

constinit const OpDef signbit_op = elementwise({
    .name = "signbit",
    .summary = "Whether the sign of x is minus: of -0 and of a NaN as well.",
    .infer = infer_elementwise_bool,
    .formula = Formula::comparison,
    .differentiable = false,
    .accepts_dtype = numeric_dtype,
});

#define HEARTH_FLOAT_TEST(token, text)             \
  constinit const OpDef token##_op = elementwise({ \
      .name = #token,                              \
      .summary = text,                             \
      .infer = infer_elementwise_bool,             \
      .formula = Formula::comparison,              \
      .differentiable = false,                     \
      .accepts_dtype = is_float,                   \
  });
HEARTH_FLOAT_TEST(is_nan, "Whether x is not a number.")
HEARTH_FLOAT_TEST(is_inf, "Whether x is infinite, of either sign.")
HEARTH_FLOAT_TEST(is_finite, "Whether x is neither infinite nor NaN.")
#undef HEARTH_FLOAT_TEST

constinit const OpDef cast_op = elementwise({
    .name = "cast",
    .summary = "x in another dtype: truncates and saturates to integers, != 0 to bool.",
    .params = kCastParams,
    .infer = infer_cast,
    .formula = Formula::cast,
    .vjp = cast_gradient,
    .samples = cast_samples,
});

}  // namespace defs

inline namespace v0 {

Array neg(const Array& x) { return unary(defs::neg_op, x); }
Array abs(const Array& x) { return unary(defs::abs_op, x); }
Array sign(const Array& x) { return unary(defs::sign_op, x); }
Array square(const Array& x) { return unary(defs::square_op, x); }
Array sqrt(const Array& x) { return unary(defs::sqrt_op, x); }
Array rsqrt(const Array& x) { return unary(defs::rsqrt_op, x); }
Array recip(const Array& x) { return unary(defs::recip_op, x); }
Array exp(const Array& x) { return unary(defs::exp_op, x); }
Array expm1(const Array& x) { return unary(defs::expm1_op, x); }
Array log(const Array& x) { return unary(defs::log_op, x); }
Array log1p(const Array& x) { return unary(defs::log1p_op, x); }
Array tanh(const Array& x) { return unary(defs::tanh_op, x); }
Array sigmoid(const Array& x) { return unary(defs::sigmoid_op, x); }
Array erf(const Array& x) { return unary(defs::erf_op, x); }
Array sin(const Array& x) { return unary(defs::sin_op, x); }
Array cos(const Array& x) { return unary(defs::cos_op, x); }
Array tan(const Array& x) { return unary(defs::tan_op, x); }
Array floor(const Array& x) { return unary(defs::floor_op, x); }
Array ceil(const Array& x) { return unary(defs::ceil_op, x); }
Array round(const Array& x) { return unary(defs::round_op, x); }
Array trunc(const Array& x) { return unary(defs::trunc_op, x); }
Array relu(const Array& x) { return unary(defs::relu_op, x); }
Array gelu(const Array& x, bool approximate) try {
  return unary(approximate ? defs::gelu_tanh_op : defs::gelu_op, x);
} catch (const Error& error) {
  throw_as("gelu", error);
}
Array silu(const Array& x) { return unary(defs::silu_op, x); }
Array logical_not(const Array& x) { return unary(defs::logical_not_op, x); }
Array signbit(const Array& x) { return unary(defs::signbit_op, x); }
Array is_nan(const Array& x) { return unary(defs::is_nan_op, x); }
Array is_inf(const Array& x) { return unary(defs::is_inf_op, x); }
Array is_finite(const Array& x) { return unary(defs::is_finite_op, x); }

Array cast(const Array& x, DType dtype) {
  if (x.defined()) {
    const Node& node = *node_of(x);
    if (node.device != nullptr) {
      if (node.dtype == dtype) return x;
    } else if (is_int(dtype) && is_float(node.dtype)) {
      return cast(integral_number(scalar_as_double(node), dtype), dtype);
    }
  }
  const Array* const inputs[] = {&x};
  return record(defs::cast_op, inputs, Params().dtype(dtype));
}

}  // namespace v0
}  // namespace hearth
