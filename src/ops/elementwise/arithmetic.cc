// Functions of two and three arrays, element by element: arithmetic, comparison, logic, where.
#include <cmath>
#include <limits>
#include <utility>

#include "core/throw_as.h"
#include "graph/record/grad_record.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/definition/product_saves.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr std::uint32_t kSecond = 2;

Array gradient_if(const Vjp& v, int input, Array (*rule)(const Vjp&)) {
  return v.needs(input) ? rule(v) : Array();
}

bool is_number(const Array& x) { return x.defined() && node_of(x)->weak; }

double number_of(const Array& x) { return scalar_as_double(*node_of(x)); }

// b a^(b - 1) times the gradient, and 0 for b = 0 whatever they are. Where it is differentiated
// again, b / a for b = 0, of which b has the derivative that the limit has; 0 where there is none.
Array pow_base_gradient(const Vjp& v, const Array& a, const Array& b) {
  const Array is_zero = equal(b, 0.0);
  if (!grad_enabled() || grad_of(b) == nullptr) {
    return where(is_zero, 0.0, mul(v.grad, mul(b, pow(a, sub(b, 1.0)))));
  }
  const Array has_limit = logical_and(is_zero, is_finite(recip(a)));
  const Array quotient = mul(where(has_limit, b, 0.0), recip(where(has_limit, a, 1.0)));
  const Array elsewhere = mul(b, pow(where(is_zero, 1.0, a), sub(b, 1.0)));
  const Array grad = where(logical_and(is_zero, is_nan(v.grad)), 0.0, v.grad);
  return mul(grad, where(is_zero, quotient, elsewhere));
}
// What is worked out from numbers alone stays a number: an op on two numbers would pick a dtype and
// a device.
Array pow_base_gradient(const Vjp& v) {
  const Array& a = v.input(0);
  const Array& b = v.input(1);
  if (!is_number(b)) return pow_base_gradient(v, a, b);
  const double power = number_of(b);
  return mul(v.grad, power == 0 ? Array(0.0) : mul(b, pow(a, Array(power - 1))));
}

// a^b log a, and its limit 0 for a = 0, b >= 0.
Array pow_exponent_gradient(const Vjp& v) {
  const Array& a = v.input(0);
  const Array limit = greater_equal(v.input(1), 0.0);
  if (!is_number(a)) {
    const Array at_zero = logical_and(equal(a, 0.0), limit);
    return mul(v.grad, where(at_zero, 0.0, mul(v.out, log(a))));
  }
  const Array slope = mul(v.out, Array(std::log(number_of(a))));
  return mul(v.grad, number_of(a) == 0 ? where(limit, 0.0, slope) : slope);
}

// Where both are equal each gets half; where one is NaN, the result is, and both get all.
template <Array (*loses)(const Array&, const Array&), int input>
Array extreme_gradient(const Vjp& v) {
  const Array& self = v.input(input);
  const Array& other = v.input(1 - input);
  return where(loses(self, other), 0.0, where(equal(self, other), mul(v.grad, 0.5), v.grad));
}

// less(), of two numbers where `beside` is.
Array is_less(const Array& a, const Array& b, const Array& beside) {
  if (!is_number(a) || !is_number(b)) return less(a, b);
  const std::int64_t holds = number_of(a) < number_of(b) ? 1 : 0;
  return full({}, holds, DType::bool_, beside.device());
}

Grads clamp_gradient(const Vjp& v) {
  const Array& x = v.input(0);
  const Array& low = v.input(1);
  const Array& high = v.input(2);
  // NaN compares false everywhere, so it counts as inside.
  const Array above = is_less(high, x, v.grad);
  const Array below = where(above, is_less(high, low, v.grad), is_less(x, low, v.grad));
  Grads list(3);
  if (v.needs(0)) list[0] = where(logical_or(above, below), 0.0, v.grad);
  if (v.needs(1)) list[1] = where(below, v.grad, 0.0);
  if (v.needs(2)) list[2] = where(logical_and(above, logical_not(below)), v.grad, 0.0);
  return list;
}

// trunc(a / b) as fmod has it: a / b may be rounded up to a whole number.
Array whole_quotient(const Array& a, const Array& b) { return round(div(sub(a, fmod(a, b)), b)); }

Grads lerp_gradient(const Vjp& v) {
  Grads list(3);
  if (v.needs(0) || v.needs(1)) {
    Array along = mul(v.grad, v.input(2));
    if (v.needs(0)) list[0] = sub(v.grad, along);
    if (v.needs(1)) list[1] = std::move(along);
  }
  if (v.needs(2)) list[2] = mul(v.grad, sub(v.input(1), v.input(0)));
  return list;
}

void infer_where(Inference& inference) {
  for (int i = 0; i < 3; ++i) require_input(inference, i);
  const Node& condition = *node_of(inference.input(0));
  if (!is_bool(condition.dtype)) {
    inference.fail(ErrorCode::dtype, "condition is not bool; got " +
                                         std::string(name(condition.dtype)) + ", expected bool");
  }
  inference.dtype = operand_dtype(inference, 1, 2);
  inference.scalar_dtype = inference.dtype;
  inference.shape = condition.shape;
  for (int i = 1; i < 3; ++i) {
    require_number_fits("where", *node_of(inference.input(i)), inference.dtype);
    const Shape& shape = node_of(inference.input(i))->shape;
    if (shape.rank() != 0 && shape != inference.shape) {
      inference.shape = broadcast_shapes("where", inference.shape, shape);
    }
  }
}

std::vector<SampleCase> where_samples() {
  const auto make = [](Shape condition, Shape a, Shape b) {
    SampleCase sample;
    sample.inputs = {{.shape = condition, .dtype = kBool}, {.shape = a}, {.shape = b}};
    return sample;
  };
  std::vector<SampleCase> samples = {make({2, 3}, {2, 3}, {2, 3}), make({3}, {2, 1}, {2, 3}),
                                     make({2, 1}, {}, {3}), make({0, 3}, {3}, {1, 3}),
                                     make({2, 3}, {4}, {3})};
  samples.back().error = kShapeError;
  return samples;
}

std::vector<SampleCase> clamp_samples() {
  std::vector<SampleCase> samples;
  const Shape shapes[][3] = {{{5, 4}, {}, {}}, {{5, 4}, {4}, {5, 1}}, {{0, 2}, {2}, {1, 2}}};
  for (const auto& shape : shapes) {
    SampleCase sample;
    sample.inputs = {{.shape = shape[0], .lo = -3, .hi = 3},
                     {.shape = shape[1], .lo = -2, .hi = -1},
                     {.shape = shape[2], .lo = 1, .hi = 2}};
    samples.push_back(sample);
  }
  return samples;
}

std::vector<SampleCase> divisor_samples() {
  std::vector<SampleCase> samples = elementwise_samples(2, -3, 3);
  for (SampleCase& sample : samples) {
    sample.inputs[1].lo = 1;
    sample.inputs[1].hi = 4;
  }
  return samples;
}

Array binary(const OpDef& op, const Array& a, const Array& b) {
  const Array* const inputs[] = {&a, &b};
  return record(op, inputs, kNoParams);
}

// x, but NaN where `bound` is, since comparisons with it choose x.
Array unless_nan(const Array& x, const Array& bound) {
  if (!x.defined() || !bound.defined() || !is_float(bound.dtype())) return x;
  if (is_number(bound)) {
    if (!std::isnan(number_of(bound))) return x;
    return is_number(x) ? bound : add(x, bound);
  }
  // What does not go together is the caller's to refuse.
  if (!is_number(x) && (x.dtype() != bound.dtype() || x.device() != bound.device())) return x;
  return where(is_nan(bound), bound, x);
}

// Whether an op of both is one of floats.
bool is_real(const Array& a, const Array& b) {
  const Array& typed = is_number(a) ? b : a;
  return typed.defined() && is_float(typed.dtype());
}

}  // namespace

namespace defs {

constinit const OpDef add_op = elementwise({
    .name = "add",
    .summary = "a + b.",
    .min_inputs = 2,
    .fma = FmaPart::sum,
    .vjp = [](const Vjp& v) { return grads(v.grad, v.grad); },
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef sub_op = elementwise({
    .name = "sub",
    .summary = "a - b.",
    .min_inputs = 2,
    .fma = FmaPart::difference,
    .vjp =
        [](const Vjp& v) {
          return grads(v.grad, gradient_if(v, 1, [](const Vjp& w) { return neg(w.grad); }));
        },
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef mul_op = elementwise({
    .name = "mul",
    .summary = "a * b.",
    .min_inputs = 2,
    .fma = FmaPart::product,
    .vjp =
        [](const Vjp& v) {
          return grads(gradient_if(v, 0, [](const Vjp& w) { return mul(w.grad, w.input(1)); }),
                       gradient_if(v, 1, [](const Vjp& w) { return mul(w.grad, w.input(0)); }));
        },
    .saves = Saves::input0 | Saves::input1,
    .saves_for = saves_of_product,
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef div_op = elementwise({
    .name = "div",
    .summary = "a / b; integers truncate, and give 0 for b = 0.",
    .min_inputs = 2,
    .vjp =
        [](const Vjp& v) {
          const Array scaled = div(v.grad, v.input(1));
          return grads(scaled, v.needs(1) ? neg(mul(scaled, v.out)) : Array());
        },
    .saves = Saves::input1 | Saves::output,
    .saves_for =
        [](std::uint32_t needs, ParamReader) {
          return Saves::input1 | ((needs & kSecond) != 0 ? Saves::output : Saves::none);
        },
    .accepts_dtype = numeric_dtype,
    .samples = divisor_samples,
});

constinit const OpDef pow_op = elementwise({
    .name = "pow",
    .summary = "a^b; real for negative a and whole b; integers wrap.",
    .method = "",
    .min_inputs = 2,
    .vjp =
        [](const Vjp& v) {
          return grads(gradient_if(v, 0, [](const Vjp& w) { return pow_base_gradient(w); }),
                       gradient_if(v, 1, pow_exponent_gradient));
        },
    .saves = Saves::input0 | Saves::input1 | Saves::output,
    .saves_for =
        [](std::uint32_t needs, ParamReader) {
          return Saves::input0 | Saves::input1 |
                 ((needs & kSecond) != 0 ? Saves::output : Saves::none);
        },
    .accepts_dtype = numeric_dtype,
    .samples = elementwise_samples<2, 2, 30>,
});

constinit const OpDef remainder_op = elementwise({
    .name = "remainder",
    .summary = "a - b * floor(a / b): the sign of b. Integers give 0 for b = 0.",
    .min_inputs = 2,
    .may_wrap = false,
    .vjp =
        [](const Vjp& v) {
          return grads(v.grad, gradient_if(v, 1, [](const Vjp& w) {
                         return neg(mul(w.grad, floor_divide(w.input(0), w.input(1))));
                       }));
        },
    .saves = Saves::input0 | Saves::input1,
    .saves_for =
        [](std::uint32_t needs, ParamReader) {
          return (needs & kSecond) != 0 ? Saves::input0 | Saves::input1 : Saves::none;
        },
    .accepts_dtype = numeric_dtype,
    .samples = divisor_samples,
});

constinit const OpDef fmod_op = elementwise({
    .name = "fmod",
    .summary = "a - b * trunc(a / b): the sign of a. Integers give 0 for b = 0.",
    .min_inputs = 2,
    .may_wrap = false,
    .vjp =
        [](const Vjp& v) {
          return grads(v.grad, gradient_if(v, 1, [](const Vjp& w) {
                         return neg(mul(w.grad, whole_quotient(w.input(0), w.input(1))));
                       }));
        },
    .saves = Saves::input0 | Saves::input1,
    .saves_for =
        [](std::uint32_t needs, ParamReader) {
          return (needs & kSecond) != 0 ? Saves::input0 | Saves::input1 : Saves::none;
        },
    .accepts_dtype = numeric_dtype,
    .samples = divisor_samples,
});

constinit const OpDef floor_divide_op = elementwise({
    .name = "floor_divide",
    .summary = "floor(a / b); integers give 0 for b = 0.",
    .min_inputs = 2,
    .vjp =
        [](const Vjp& v) {
          const auto zero = [](const Vjp& w) { return zeros_like(w.grad); };
          return grads(gradient_if(v, 0, zero), gradient_if(v, 1, zero));
        },
    .accepts_dtype = numeric_dtype,
    .samples = divisor_samples,
});

constinit const OpDef maximum_op = elementwise({
    .name = "maximum",
    .summary = "The larger of a and b; NaN if either is.",
    .method = "max_pair",
    .min_inputs = 2,
    .may_wrap = false,
    .vjp =
        [](const Vjp& v) {
          return grads(gradient_if(v, 0, extreme_gradient<less, 0>),
                       gradient_if(v, 1, extreme_gradient<less, 1>));
        },
    .saves = Saves::input0 | Saves::input1,
    .accepts_dtype = numeric_dtype,
});

constinit const OpDef minimum_op = elementwise({
    .name = "minimum",
    .summary = "The smaller of a and b; NaN if either is.",
    .method = "min_pair",
    .min_inputs = 2,
    .may_wrap = false,
    .vjp =
        [](const Vjp& v) {
          return grads(gradient_if(v, 0, extreme_gradient<greater, 0>),
                       gradient_if(v, 1, extreme_gradient<greater, 1>));
        },
    .saves = Saves::input0 | Saves::input1,
    .accepts_dtype = numeric_dtype,
});

#define HEARTH_BOOL_OP(token, burn, text, form, accepted) \
  constinit const OpDef token##_op = elementwise({        \
      .name = #token,                                     \
      .summary = text,                                    \
      .method = burn,                                     \
      .min_inputs = 2,                                    \
      .infer = infer_elementwise_bool,                    \
      .formula = Formula::form,                           \
      .differentiable = false,                            \
      .accepts_dtype = accepted,                          \
  });
HEARTH_BOOL_OP(equal, nullptr, "Whether a = b; false for NaN.", comparison, nullptr)
HEARTH_BOOL_OP(not_equal, nullptr, "Whether a differs from b; true for NaN.", comparison, nullptr)
HEARTH_BOOL_OP(less, "lower", "Whether a < b; false for NaN.", comparison, nullptr)
HEARTH_BOOL_OP(less_equal, "lower_equal", "Whether a <= b; false for NaN.", comparison, nullptr)
HEARTH_BOOL_OP(greater, nullptr, "Whether a > b; false for NaN.", comparison, nullptr)
HEARTH_BOOL_OP(greater_equal, nullptr, "Whether a >= b; false for NaN.", comparison, nullptr)
HEARTH_BOOL_OP(logical_and, "bool_and", "Whether a and b.", logic, is_bool)
HEARTH_BOOL_OP(logical_or, "bool_or", "Whether a or b.", logic, is_bool)
HEARTH_BOOL_OP(logical_xor, "bool_xor", "Whether a or b but not both.", logic, is_bool)
#undef HEARTH_BOOL_OP

constinit const OpDef where_op = elementwise({
    .name = "where",
    .summary = "a where the condition is true, else b.",
    .shapes = "condition [...], a [...], b [...] -> [...], all broadcast",
    .method = "mask_where",
    .min_inputs = 3,
    .infer = infer_where,
    .formula = Formula::choice,
    .may_wrap = false,
    .vjp =
        [](const Vjp& v) {
          return grads(
              Array(),
              gradient_if(v, 1, [](const Vjp& w) { return where(w.input(0), w.grad, 0.0); }),
              gradient_if(v, 2, [](const Vjp& w) { return where(w.input(0), 0.0, w.grad); }));
        },
    .saves = Saves::input0,
    .samples = where_samples,
});

constinit const OpDef clamp_op = elementwise({
    .name = "clamp",
    .summary = "x limited to [low, high]; low wins; NaN stays.",
    .shapes = "x [...], low [...], high [...] -> [...], all broadcast",
    .min_inputs = 3,
    .may_wrap = false,
    .vjp = clamp_gradient,
    .saves = Saves::input0 | Saves::input1 | Saves::input2,
    .accepts_dtype = numeric_dtype,
    .samples = clamp_samples,
});

constinit const OpDef lerp_op = elementwise({
    .name = "lerp",
    .summary = "a + (b - a) * t.",
    .shapes = "a [...], b [...], t [...] -> [...], all broadcast",
    .min_inputs = 3,
    .vjp = lerp_gradient,
    .saves = Saves::input0 | Saves::input1 | Saves::input2,
    .accepts_dtype = is_float,
});

}  // namespace defs

inline namespace v0 {

Array add(const Array& a, const Array& b) { return binary(defs::add_op, a, b); }
Array sub(const Array& a, const Array& b) { return binary(defs::sub_op, a, b); }
Array mul(const Array& a, const Array& b) { return binary(defs::mul_op, a, b); }
Array div(const Array& a, const Array& b) { return binary(defs::div_op, a, b); }
Array remainder(const Array& a, const Array& b) { return binary(defs::remainder_op, a, b); }
Array fmod(const Array& a, const Array& b) { return binary(defs::fmod_op, a, b); }
Array floor_divide(const Array& a, const Array& b) { return binary(defs::floor_divide_op, a, b); }
Array maximum(const Array& a, const Array& b) { return binary(defs::maximum_op, a, b); }
Array minimum(const Array& a, const Array& b) { return binary(defs::minimum_op, a, b); }

Array pow(const Array& a, const Array& b) {
  if (is_number(b) && a.defined() && node_of(a)->device != nullptr &&
      numeric_dtype(node_of(a)->dtype)) {
    const double exponent = scalar_as_double(*node_of(b));
    if (exponent == 1) return a;
    if (exponent == 2) return square(a);
    if (exponent == 3) return mul(square(a), a);
    if (is_float(node_of(a)->dtype)) {
      if (exponent == -1) return recip(a);
      if (exponent == -2) return div(recip(a), a);  // a^2 overflows before its reciprocal is 0
    }
  }
  return binary(defs::pow_op, a, b);
}

Array equal(const Array& a, const Array& b) { return binary(defs::equal_op, a, b); }
Array not_equal(const Array& a, const Array& b) { return binary(defs::not_equal_op, a, b); }
Array less(const Array& a, const Array& b) { return binary(defs::less_op, a, b); }
Array less_equal(const Array& a, const Array& b) { return binary(defs::less_equal_op, a, b); }
Array greater(const Array& a, const Array& b) { return binary(defs::greater_op, a, b); }
Array greater_equal(const Array& a, const Array& b) { return binary(defs::greater_equal_op, a, b); }
Array logical_and(const Array& a, const Array& b) { return binary(defs::logical_and_op, a, b); }
Array logical_or(const Array& a, const Array& b) { return binary(defs::logical_or_op, a, b); }
Array logical_xor(const Array& a, const Array& b) { return binary(defs::logical_xor_op, a, b); }

Array where(const Array& condition, const Array& a, const Array& b) {
  if (condition.defined() && node_of(condition)->device == nullptr) {
    // A scalar operand takes the dtype of a and b; a condition must not.
    return where(cast(condition, DType::bool_), a, b);
  }
  const Array* const inputs[] = {&condition, &a, &b};
  return record(defs::where_op, inputs, kNoParams);
}

Array clamp(const Array& x, const Array& low, const Array& high) try {
  const Array limited = unless_nan(unless_nan(x, low), high);
  const Array* const inputs[] = {&limited, &low, &high};
  return record(defs::clamp_op, inputs, kNoParams);
} catch (const Error& error) {
  throw_as("clamp", error);
}
Array lerp(const Array& a, const Array& b, const Array& t) {
  const Array* const inputs[] = {&a, &b, &t};
  return record(defs::lerp_op, inputs, kNoParams);
}
// maximum would share the gradient of a tie; integers have none.
Array clamp_min(const Array& x, const Array& low) try {
  return is_real(x, low) ? clamp(x, low, kInfinity) : maximum(x, low);
} catch (const Error& error) {
  throw_as("clamp_min", error);
}
Array clamp_max(const Array& x, const Array& high) try {
  return is_real(x, high) ? clamp(x, -kInfinity, high) : minimum(x, high);
} catch (const Error& error) {
  throw_as("clamp_max", error);
}

}  // namespace v0
}  // namespace hearth
