#include "ops/reference/host_elementwise.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>

namespace hearth::testing {
namespace {

double gelu_of(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

double remainder_of(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
double maximum_of(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}
double minimum_of(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}

double integer_divide(double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }
double integer_remainder(double a, double b) { return b == 0 ? 0 : remainder_of(a, b); }
double integer_fmod(double a, double b) { return b == 0 ? 0 : std::fmod(a, b); }
double integer_floor_divide(double a, double b) { return b == 0 ? 0 : std::floor(a / b); }
double integer_power(double a, double b) {
  if (b >= 0) return std::pow(a, b);
  if (a == 1) return 1;
  if (a == -1) return std::fmod(b, 2) == 0 ? 1 : -1;
  return 0;
}

template <class Operator>
double bits_of(double a, double b) {
  return static_cast<double>(
      Operator()(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
}

}  // namespace

Scalar1 host_unary(std::string_view op, DType) {
  static const std::unordered_map<std::string_view, Scalar1> functions = {
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : 0.0; }},
      {"square", [](double x) { return x * x; }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"recip", [](double x) { return 1 / x; }},
      {"exp", [](double x) { return std::exp(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", sigmoid_of},
      {"erf", [](double x) { return std::erf(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"bitwise_not", [](double x) { return -1 - x; }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"relu", [](double x) { return std::isnan(x) ? x
                                     : x > 0       ? x
                                                   : 0.0; }},
      {"gelu", gelu_of},
      {"gelu_tanh", gelu_tanh_of},
      {"silu", [](double x) { return x * sigmoid_of(x); }},
      {"logical_not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"signbit", [](double x) { return std::signbit(x) ? 1.0 : 0.0; }},
      {"is_nan", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
      {"is_inf", [](double x) { return std::isinf(x) ? 1.0 : 0.0; }},
      {"is_finite", [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }}};
  const auto at = functions.find(op);
  return at == functions.end() ? nullptr : at->second;
}

Scalar2 host_binary(std::string_view op, DType dtype) {
  if (is_int(dtype)) {
    if (op == "div") return integer_divide;
    if (op == "remainder") return integer_remainder;
    if (op == "fmod") return integer_fmod;
    if (op == "floor_divide") return integer_floor_divide;
    if (op == "pow") return integer_power;
  }
  static const std::unordered_map<std::string_view, Scalar2> functions = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"remainder", remainder_of},
      {"fmod", [](double a, double b) { return std::fmod(a, b); }},
      {"floor_divide", [](double a, double b) { return std::floor(a / b); }},
      {"atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"hypot", [](double a, double b) { return std::hypot(a, b); }},
      {"bitwise_and", bits_of<std::bit_and<>>},
      {"bitwise_or", bits_of<std::bit_or<>>},
      {"bitwise_xor", bits_of<std::bit_xor<>>},
      {"bitwise_left_shift", [](double a, double b) { return a * std::exp2(b); }},
      {"bitwise_right_shift", [](double a, double b) { return std::floor(a / std::exp2(b)); }},
      {"maximum", maximum_of},
      {"minimum", minimum_of},
      {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"not_equal", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {"less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"less_equal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"greater_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"logical_and", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"logical_or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
      {"logical_xor", [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }}};
  const auto at = functions.find(op);
  return at == functions.end() ? nullptr : at->second;
}

}  // namespace hearth::testing
