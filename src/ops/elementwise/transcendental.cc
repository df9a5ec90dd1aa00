// Logarithms and powers of other bases than e, hyperbolic functions, angles and lengths.
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kLn10 = 2.302585092994046;

// 1 / sqrt(1 - x^2), by factors that are exact near both ends.
Array inverse_root(const Array& x) { return mul(rsqrt(sub(1.0, x)), rsqrt(add(x, 1.0))); }

// 1 in place of lengths of 0, so that there the gradient is 0.
Array positive(const Array& length) { return where(equal(length, 0.0), 1.0, length); }

Grads hypot_gradient(const Vjp& v) {
  const Array length = positive(v.out);
  Grads list(2);
  for (int i = 0; i < 2; ++i) {
    if (v.needs(i)) list[static_cast<std::size_t>(i)] = mul(v.grad, div(v.input(i), length));
  }
  return list;
}

// (x, -y) / (x^2 + y^2), whose squares would overflow.
Grads atan2_gradient(const Vjp& v) {
  const Array& y = v.input(0);
  const Array& x = v.input(1);
  const Array length = positive(hypot(y, x));
  const Array scaled = div(v.grad, length);
  Grads list(2);
  if (v.needs(0)) list[0] = mul(scaled, div(x, length));
  if (v.needs(1)) list[1] = neg(mul(scaled, div(y, length)));
  return list;
}

// Apart from the origin and from the line where the angle jumps.
std::vector<SampleCase> atan2_samples() {
  std::vector<SampleCase> samples = elementwise_samples(2, -3, 3);
  for (SampleCase& sample : samples) {
    sample.inputs[0].lo = 0.5;
    sample.inputs[0].hi = 2;
  }
  return samples;
}

}  // namespace

namespace defs {

constinit const OpDef log2_op = elementwise({
    .name = "log2",
    .summary = "The logarithm to base 2, exact of powers of 2.",
    .vjp = [](const Vjp& v) { return grads(div(v.grad, mul(v.input(0), kLn2))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 2, 40>,
});

constinit const OpDef log10_op = elementwise({
    .name = "log10",
    .summary = "The logarithm to base 10.",
    .vjp = [](const Vjp& v) { return grads(div(v.grad, mul(v.input(0), kLn10))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 2, 40>,
});

constinit const OpDef exp2_op = elementwise({
    .name = "exp2",
    .summary = "2^x, exact of whole numbers.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, mul(v.out, kLn2))); },
    .saves = Saves::output,
    .accepts_dtype = is_float,
});

constinit const OpDef sinh_op = elementwise({
    .name = "sinh",
    .summary = "The hyperbolic sine.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, cosh(v.input(0)))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef cosh_op = elementwise({
    .name = "cosh",
    .summary = "The hyperbolic cosine.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, sinh(v.input(0)))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef asin_op = elementwise({
    .name = "asin",
    .summary = "The angle in [-pi / 2, pi / 2] whose sine is x.",
    .vjp = [](const Vjp& v) { return grads(mul(v.grad, inverse_root(v.input(0)))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, -9, 9>,
});

constinit const OpDef acos_op = elementwise({
    .name = "acos",
    .summary = "The angle in [0, pi] whose cosine is x.",
    .vjp = [](const Vjp& v) { return grads(neg(mul(v.grad, inverse_root(v.input(0))))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, -9, 9>,
});

constinit const OpDef atan_op = elementwise({
    .name = "atan",
    .summary = "The angle in [-pi / 2, pi / 2] whose tangent is x.",
    .vjp = [](const Vjp& v) { return grads(div(v.grad, add(square(v.input(0)), 1.0))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef asinh_op = elementwise({
    .name = "asinh",
    .summary = "The inverse of sinh.",
    .vjp = [](const Vjp& v) { return grads(div(v.grad, hypot(v.input(0), 1.0))); },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
});

constinit const OpDef acosh_op = elementwise({
    .name = "acosh",
    .summary = "The inverse of cosh that is not negative; NaN below 1.",
    .vjp =
        [](const Vjp& v) {
          const Array& x = v.input(0);
          return grads(mul(v.grad, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0)))));
        },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, 13, 40>,
});

constinit const OpDef atanh_op = elementwise({
    .name = "atanh",
    .summary = "The inverse of tanh; NaN beyond 1.",
    .vjp =
        [](const Vjp& v) {
          const Array& x = v.input(0);
          return grads(div(v.grad, mul(sub(1.0, x), add(x, 1.0))));
        },
    .saves = Saves::input0,
    .accepts_dtype = is_float,
    .samples = elementwise_samples<1, -9, 9>,
});

constinit const OpDef atan2_op = elementwise({
    .name = "atan2",
    .summary = "The angle of the point (x, y) in [-pi, pi]; signs of zeros count.",
    .shapes = "y [...], x [...] -> [...], both broadcast",
    .min_inputs = 2,
    .vjp = atan2_gradient,
    .saves = Saves::input0 | Saves::input1,
    .accepts_dtype = is_float,
    .samples = atan2_samples,
});

constinit const OpDef hypot_op = elementwise({
    .name = "hypot",
    .summary = "sqrt(a^2 + b^2), without overflow in between.",
    .min_inputs = 2,
    .vjp = hypot_gradient,
    .saves = Saves::input0 | Saves::input1 | Saves::output,
    .accepts_dtype = is_float,
});

}  // namespace defs

inline namespace v0 {

Array log2(const Array& x) { return call(defs::log2_op, kNoParams, {&x}); }
Array log10(const Array& x) { return call(defs::log10_op, kNoParams, {&x}); }
Array exp2(const Array& x) { return call(defs::exp2_op, kNoParams, {&x}); }
Array sinh(const Array& x) { return call(defs::sinh_op, kNoParams, {&x}); }
Array cosh(const Array& x) { return call(defs::cosh_op, kNoParams, {&x}); }
Array asin(const Array& x) { return call(defs::asin_op, kNoParams, {&x}); }
Array acos(const Array& x) { return call(defs::acos_op, kNoParams, {&x}); }
Array atan(const Array& x) { return call(defs::atan_op, kNoParams, {&x}); }
Array asinh(const Array& x) { return call(defs::asinh_op, kNoParams, {&x}); }
Array acosh(const Array& x) { return call(defs::acosh_op, kNoParams, {&x}); }
Array atanh(const Array& x) { return call(defs::atanh_op, kNoParams, {&x}); }
Array atan2(const Array& y, const Array& x) { return call(defs::atan2_op, kNoParams, {&y, &x}); }
Array hypot(const Array& a, const Array& b) { return call(defs::hypot_op, kNoParams, {&a, &b}); }

}  // namespace v0
}  // namespace hearth
