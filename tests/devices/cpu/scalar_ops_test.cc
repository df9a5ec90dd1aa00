// Accuracy and special values of the scalar formulas, as the CPU's vectors compute them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "devices/region_fixture.h"

namespace hearth::region_test {
namespace {

using Wide = long double;
constexpr Wide kRootHalf = 0.707106781186547524400844362104849039L;

Wide wide_sigmoid(Wide x) { return 1 / (1 + std::exp(-x)); }
Wide wide_gelu(Wide x) { return x * std::erfc(-x * kRootHalf) / 2; }
Wide wide_silu(Wide x) { return x / (1 + std::exp(-x)); }
Wide wide_gelu_tanh(Wide x) {
  const Wide u = 1.5957691216057307117597842397375L * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-u));
}

struct Function {
  const OpDef* op;
  Wide (*reference)(Wide);
  double max_ulp;  // in f32
  double max_ulp64;
  double lowest =
      -std::numeric_limits<double>::infinity();  // below, only the absolute error counts
};

const Function kFunctions[] = {
    {&exp_def, [](Wide x) { return std::exp(x); }, 1.5, 1.5},
    {&expm1_def, [](Wide x) { return std::expm1(x); }, 2, 2},
    {&log_def, [](Wide x) { return std::log(x); }, 2, 1.5},
    {&log1p_def, [](Wide x) { return std::log1p(x); }, 2, 2},
    {&tanh_def, [](Wide x) { return std::tanh(x); }, 4, 4},
    {&sigmoid_def, wide_sigmoid, 3, 3},
    {&erf_def, [](Wide x) { return std::erf(x); }, 2, 2},
    {&sin_def, [](Wide x) { return std::sin(x); }, 2.5, 2},
    {&cos_def, [](Wide x) { return std::cos(x); }, 2.5, 2},
    {&tan_def, [](Wide x) { return std::tan(x); }, 5, 4},
    {&exp2_def, [](Wide x) { return std::exp2(x); }, 1.5, 1.5},
    {&log2_def, [](Wide x) { return std::log2(x); }, 2.5, 2},
    {&log10_def, [](Wide x) { return std::log10(x); }, 2.5, 2},
    {&sinh_def, [](Wide x) { return std::sinh(x); }, 2.5, 2.5},
    {&cosh_def, [](Wide x) { return std::cosh(x); }, 2, 2},
    {&asin_def, [](Wide x) { return std::asin(x); }, 2.5, 2.5},
    {&acos_def, [](Wide x) { return std::acos(x); }, 1.5, 1.5},
    {&atan_def, [](Wide x) { return std::atan(x); }, 2.5, 2.5},
    {&asinh_def, [](Wide x) { return std::asinh(x); }, 2.5, 2.5},
    {&acosh_def, [](Wide x) { return std::acosh(x); }, 2.5, 2.5},
    {&atanh_def, [](Wide x) { return std::atanh(x); }, 3, 2.5},
    {&rsqrt_def, [](Wide x) { return 1 / std::sqrt(x); }, 1.5, 1.5},
    {&sqrt_def, [](Wide x) { return std::sqrt(x); }, 0.51, 0.51},
    // e^x is subnormal at the end of the tail, and has few bits there.
    {&silu_def, wide_silu, 4, 4, -86},
    {&gelu_def, wide_gelu, 10, 24, -12},
    // The polynomial inside carries the error of its argument, up to 90 ulp of it.
    {&gelu_tanh_def, wide_gelu_tanh, 4, 4, -1},
};

// The distance in units of the last place of T at `right`.
template <class T>
double ulps(T got, Wide right) {
  if (std::isnan(got) || std::isnan(right)) return std::isnan(got) && std::isnan(right) ? 0 : 1e30;
  const T rounded = static_cast<T>(right);
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded)) {
    const T most = std::numeric_limits<T>::max();
    return std::abs(got) >= most && std::abs(rounded) >= most ? 1 : 1e30;
  }
  int exponent;
  std::frexp(right, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent;
  if (right == 0 || exponent < lowest) exponent = lowest;
  const Wide unit = std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - right) / unit);
}

template <class T>
void check(const Function& function, const std::vector<T>& points, double bound) {
  const std::vector<T> results = apply<T>(*function.op, {points});
  double worst = 0;
  T at = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Wide right = function.reference(static_cast<Wide>(points[i]));
    double error = ulps(results[i], right);
    // In the far tail: relative to one.
    if (static_cast<double>(points[i]) < function.lowest && std::abs(right) < 1 && error < 1e20) {
      error = static_cast<double>(std::abs(static_cast<Wide>(results[i]) - right) /
                                  std::numeric_limits<T>::epsilon());
    }
    if (error > worst) {
      worst = error;
      at = points[i];
    }
  }
  std::printf("[ %-9s %s ] max %.3f ulp at %.17g\n", function.op->name.text,
              sizeof(T) == 4 ? "f32" : "f64", worst, static_cast<double>(at));
  EXPECT_LE(worst, bound) << function.op->name.text << " at " << static_cast<double>(at);
}

std::vector<float> float_points() {
  std::vector<float> points;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 9721) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(x)) points.push_back(x);
  }
  for (int i = 0; i < 200000; ++i) points.push_back(static_cast<float>(i - 100000) * 1.0501e-3f);
  for (int i = 0; i < 50000; ++i) points.push_back(static_cast<float>(i - 25000) * 4.01e-5f);
  for (int i = 1; i < 20000; ++i) points.push_back(static_cast<float>(3.14159265358979 * i / 2));
  return points;
}
std::vector<double> double_points() {
  std::vector<double> points;
  std::uint64_t state = 88172645463325252u;
  for (int i = 0; i < 150000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto x = std::bit_cast<double>(state);
    if (!std::isnan(x)) points.push_back(x);
  }
  for (int i = 0; i < 100000; ++i) points.push_back((i - 50000) * 2.10501e-3);
  for (int i = 0; i < 50000; ++i) points.push_back((i - 25000) * 4.01e-5);
  for (int i = 0; i < 50000; ++i) points.push_back((i - 25000) * 2.98e-2);
  for (int i = 1; i < 5000; ++i) points.push_back(3.14159265358979323846 * i / 2);
  return points;
}

TEST(ScalarOps, F32ErrorsAreWithinTheirBounds) {
  const std::vector<float> points = float_points();
  for (const Function& function : kFunctions) check(function, points, function.max_ulp);
}
TEST(ScalarOps, F64ErrorsAreWithinTheirBounds) {
  const std::vector<double> points = double_points();
  for (const Function& function : kFunctions) check(function, points, function.max_ulp64);
}

template <class T>
void check_pow(double bound) {
  std::vector<T> x;
  std::vector<T> y;
  std::uint64_t state = 1234567;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int i = 0; i < 200000; ++i) {
    const double base = std::exp((next() - 0.5) * (i % 3 == 0 ? 160 : i % 3 == 1 ? 4 : 0.01));
    const bool integral = i % 4 == 0;
    const double limit = (sizeof(T) == 4 ? 95 : 740) / (std::abs(std::log(base)) + 1e-9);
    double exponent = (next() * 2 - 1) * std::min(limit, 1e6);
    if (integral) exponent = std::nearbyint(exponent);
    x.push_back(static_cast<T>(integral && i % 8 == 0 ? -base : base));
    y.push_back(static_cast<T>(exponent));
  }
  const std::vector<T> results = apply<T>(pow_def, {x, y});
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error =
        ulps(results[i], std::pow(static_cast<Wide>(x[i]), static_cast<Wide>(y[i])));
    if (error > worst) worst = error;
    ASSERT_LE(error, bound) << static_cast<double>(x[i]) << " ^ " << static_cast<double>(y[i])
                            << " = " << static_cast<double>(results[i]);
  }
  std::printf("[ pow       %s ] max %.3f ulp\n", sizeof(T) == 4 ? "f32" : "f64", worst);
}
TEST(ScalarOps, PowErrors) {
  check_pow<float>(4);
  check_pow<double>(1);
}

// Pairs of every size, of like sizes, and along the lines where a formula changes.
template <class T>
void check_pairs(const OpDef& op, Wide (*reference)(Wide, Wide), double bound) {
  std::vector<T> x;
  std::vector<T> y;
  std::uint64_t state = 4242;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-52 - 1;
  };
  const double widest = sizeof(T) == 4 ? 60 : 480;
  for (int i = 0; i < 200000; ++i) {
    x.push_back(static_cast<T>(next() * std::exp(next() * (i % 2 == 0 ? widest : 2))));
    y.push_back(static_cast<T>(next() * std::exp(next() * (i % 2 == 0 ? widest : 2))));
    if (i % 5 == 0) y.back() = x.back() * static_cast<T>(1 + 1e-3 * next());
    if (i % 5 == 1) y.back() = x.back() * static_cast<T>(0.41421356 + 1e-3 * next());
  }
  const std::vector<T> results = apply<T>(op, {x, y});
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error =
        ulps(results[i], reference(static_cast<Wide>(x[i]), static_cast<Wide>(y[i])));
    if (error > worst) worst = error;
    ASSERT_LE(error, bound) << op.name.text << " of " << static_cast<double>(x[i]) << " and "
                            << static_cast<double>(y[i]);
  }
  std::printf("[ %-9s %s ] max %.3f ulp\n", op.name.text, sizeof(T) == 4 ? "f32" : "f64", worst);
}
TEST(ScalarOps, AngleAndLengthErrors) {
  const auto angle = [](Wide y, Wide x) { return std::atan2(y, x); };
  const auto length = [](Wide a, Wide b) { return std::hypot(a, b); };
  check_pairs<float>(atan2_def, angle, 2.5);
  check_pairs<double>(atan2_def, angle, 2.5);
  check_pairs<float>(hypot_def, length, 1.5);
  check_pairs<double>(hypot_def, length, 1.5);
}

template <class T>
void check_powers_of_two() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> powers;
  std::vector<T> exponents;
  for (int n = Limits::min_exponent - Limits::digits; n < Limits::max_exponent; ++n) {
    powers.push_back(std::ldexp(T(1), n));
    exponents.push_back(static_cast<T>(n));
  }
  EXPECT_EQ(apply<T>(log2_def, {powers}), exponents);
  EXPECT_EQ(apply<T>(exp2_def, {exponents}), powers);
}
TEST(ScalarOps, PowersOfTwoAreExact) {
  check_powers_of_two<float>();
  check_powers_of_two<double>();
}

template <class T>
void expect_same(T got, T want, const char* what, double x, double y = 0) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " " << x << " " << y << " gave " << got;
  } else {
    EXPECT_EQ(got, want) << what << " " << x << " " << y;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << what << " " << x << " " << y;
  }
}

template <class T>
void check_specials() {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  constexpr T half_pi = static_cast<T>(1.57079632679489661923132169163975144L);
  struct Case {
    const OpDef* op;
    T x, want;
  };
  const Case cases[] = {
      {&exp_def, inf, inf},
      {&exp_def, -inf, 0},
      {&exp_def, nan, nan},
      {&exp_def, T(-0.0), 1},
      {&exp_def, T(1e4), inf},
      {&exp_def, T(-1e4), 0},
      {&exp_def, tiny, 1},
      {&expm1_def, T(-0.0), T(-0.0)},
      {&expm1_def, inf, inf},
      {&expm1_def, -inf, -1},
      {&expm1_def, nan, nan},
      {&expm1_def, tiny, tiny},
      {&expm1_def, -tiny, -tiny},
      {&log_def, 0, -inf},
      {&log_def, T(-0.0), -inf},
      {&log_def, -1, nan},
      {&log_def, inf, inf},
      {&log_def, nan, nan},
      {&log_def, 1, 0},
      {&log_def, -inf, nan},
      {&log_def, -tiny, nan},
      {&log1p_def, T(-0.0), T(-0.0)},
      {&log1p_def, -1, -inf},
      {&log1p_def, -2, nan},
      {&log1p_def, inf, inf},
      {&log1p_def, nan, nan},
      {&log1p_def, tiny, tiny},
      {&tanh_def, T(-0.0), T(-0.0)},
      {&tanh_def, inf, 1},
      {&tanh_def, -inf, -1},
      {&tanh_def, nan, nan},
      {&tanh_def, tiny, tiny},
      {&tanh_def, T(-100), -1},
      {&sigmoid_def, inf, 1},
      {&sigmoid_def, -inf, 0},
      {&sigmoid_def, nan, nan},
      {&sigmoid_def, 0, T(0.5)},
      {&erf_def, T(-0.0), T(-0.0)},
      {&erf_def, inf, 1},
      {&erf_def, -inf, -1},
      {&erf_def, nan, nan},
      {&sin_def, T(-0.0), T(-0.0)},
      {&sin_def, inf, nan},
      {&sin_def, nan, nan},
      {&sin_def, tiny, tiny},
      {&cos_def, inf, nan},
      {&cos_def, nan, nan},
      {&cos_def, 0, 1},
      {&sqrt_def, -1, nan},
      {&sqrt_def, T(-0.0), T(-0.0)},
      {&tan_def, T(-0.0), T(-0.0)},
      {&tan_def, inf, nan},
      {&exp2_def, inf, inf},
      {&exp2_def, -inf, 0},
      {&exp2_def, nan, nan},
      {&exp2_def, T(-0.0), 1},
      {&log2_def, 0, -inf},
      {&log2_def, T(-0.0), -inf},
      {&log2_def, -1, nan},
      {&log2_def, inf, inf},
      {&log2_def, nan, nan},
      {&log2_def, 1, 0},
      {&log10_def, 0, -inf},
      {&log10_def, -1, nan},
      {&log10_def, inf, inf},
      {&log10_def, nan, nan},
      {&log10_def, 1, 0},
      {&log10_def, 1000, 3},
      {&sinh_def, T(-0.0), T(-0.0)},
      {&sinh_def, -inf, -inf},
      {&sinh_def, nan, nan},
      {&sinh_def, tiny, tiny},
      {&sinh_def, T(-1e4), -inf},
      {&cosh_def, 0, 1},
      {&cosh_def, -inf, inf},
      {&cosh_def, nan, nan},
      {&cosh_def, T(1e4), inf},
      {&asin_def, T(-0.0), T(-0.0)},
      {&asin_def, 1, half_pi},
      {&asin_def, -1, -half_pi},
      {&asin_def, T(1.0001), nan},
      {&asin_def, inf, nan},
      {&asin_def, nan, nan},
      {&asin_def, tiny, tiny},
      {&acos_def, 1, 0},
      {&acos_def, -1, half_pi * 2},
      {&acos_def, 0, half_pi},
      {&acos_def, T(-1.0001), nan},
      {&acos_def, -inf, nan},
      {&acos_def, nan, nan},
      {&atan_def, T(-0.0), T(-0.0)},
      {&atan_def, inf, half_pi},
      {&atan_def, -inf, -half_pi},
      {&atan_def, 1, half_pi / 2},
      {&atan_def, nan, nan},
      {&atan_def, -tiny, -tiny},
      {&asinh_def, T(-0.0), T(-0.0)},
      {&asinh_def, -inf, -inf},
      {&asinh_def, nan, nan},
      {&asinh_def, tiny, tiny},
      {&acosh_def, 1, 0},
      {&acosh_def, T(0.999), nan},
      {&acosh_def, -2, nan},
      {&acosh_def, -inf, nan},
      {&acosh_def, inf, inf},
      {&acosh_def, nan, nan},
      {&atanh_def, T(-0.0), T(-0.0)},
      {&atanh_def, 1, inf},
      {&atanh_def, -1, -inf},
      {&atanh_def, T(1.001), nan},
      {&atanh_def, -inf, nan},
      {&atanh_def, nan, nan},
      {&atanh_def, tiny, tiny},
      {&trunc_def, T(-0.0), T(-0.0)},
      {&trunc_def, T(-0.5), T(-0.0)},
      {&trunc_def, T(-2.5), -2},
      {&trunc_def, T(2.5), 2},
      {&trunc_def, -inf, -inf},
      {&trunc_def, nan, nan},
      {&rsqrt_def, 0, inf},
      {&rsqrt_def, inf, 0},
      {&recip_def, T(-0.0), -inf},
      {&gelu_def, inf, inf},
      {&gelu_def, -inf, T(-0.0)},
      {&gelu_def, nan, nan},
      {&gelu_tanh_def, inf, inf},
      {&gelu_tanh_def, -inf, T(-0.0)},
      {&gelu_tanh_def, nan, nan},
      {&silu_def, inf, inf},
      {&silu_def, -inf, T(-0.0)},
      {&silu_def, nan, nan},
      {&relu_def, nan, nan},
      {&relu_def, -1, 0},
      {&relu_def, T(-0.0), 0},
      {&relu_def, 2, 2},
      {&sign_def, T(-0.0), 0},
      {&sign_def, nan, 0},
      {&sign_def, -inf, -1},
      {&sign_def, tiny, 1},
      {&round_def, T(0.5), 0},
      {&round_def, T(1.5), 2},
      {&round_def, T(2.5), 2},
      {&round_def, T(-0.5), T(-0.0)},
      {&round_def, T(-2.5), -2},
      {&floor_def, T(-0.5), -1},
      {&ceil_def, T(-0.5), T(-0.0)},
      {&floor_def, inf, inf},
      {&abs_def, T(-0.0), 0},
      {&neg_def, 0, T(-0.0)},
  };
  for (const Case& one : cases) {
    // In a vector of its own and among ordinary values.
    for (const std::size_t n : {std::size_t{1}, std::size_t{67}}) {
      std::vector<T> points(n, T(0.3));
      points[n / 2] = one.x;
      expect_same(apply<T>(*one.op, {points})[n / 2], one.want, one.op->name.text,
                  static_cast<double>(one.x));
    }
  }

  struct Pair {
    const OpDef* op;
    T x, y, want;
  };
  const Pair pairs[] = {
      {&pow_def, -2, 3, -8},
      {&pow_def, -2, 2, 4},
      {&pow_def, -2, T(0.5), nan},
      {&pow_def, nan, 0, 1},
      {&pow_def, 0, 0, 1},
      {&pow_def, 1, nan, 1},
      {&pow_def, 2, nan, nan},
      {&pow_def, 0, -1, inf},
      {&pow_def, T(-0.0), -1, -inf},
      {&pow_def, T(-0.0), 3, T(-0.0)},
      {&pow_def, 0, 2, 0},
      {&pow_def, inf, 2, inf},
      {&pow_def, -inf, 3, -inf},
      {&pow_def, -inf, -3, T(-0.0)},
      {&pow_def, -1, inf, 1},
      {&pow_def, 2, inf, inf},
      {&pow_def, T(0.5), inf, 0},
      {&pow_def, 2, -inf, 0},
      {&pow_def, 3, 1, 3},
      {&remainder_def, -3, 2, 1},
      {&remainder_def, 1, T(-1.5), T(-0.5)},
      {&remainder_def, 6, 3, 0},
      {&remainder_def, -6, 3, 0},
      {&remainder_def, 6, -3, T(-0.0)},
      {&remainder_def, 5, inf, 5},
      {&remainder_def, -5, inf, inf},
      {&remainder_def, 5, 0, nan},
      {&remainder_def, inf, 2, nan},
      {&remainder_def, nan, 2, nan},
      {&remainder_def, 2, nan, nan},
      {&fmod_def, -3, 2, -1},
      {&fmod_def, 3, -2, 1},
      {&fmod_def, -6, 3, T(-0.0)},
      {&fmod_def, T(-0.0), 3, T(-0.0)},
      {&fmod_def, -5, inf, -5},
      {&fmod_def, inf, 2, nan},
      {&fmod_def, inf, 0, nan},
      {&fmod_def, 5, 0, nan},
      {&fmod_def, nan, 2, nan},
      {&fmod_def, 2, nan, nan},
      {&floor_divide_def, 7, 2, 3},
      {&floor_divide_def, -7, 2, -4},
      {&floor_divide_def, 7, -2, -4},
      {&floor_divide_def, -5, inf, -1},
      {&floor_divide_def, 5, inf, 0},
      {&floor_divide_def, T(-0.0), 3, T(-0.0)},
      {&floor_divide_def, 5, 0, inf},
      {&floor_divide_def, -5, 0, -inf},
      {&floor_divide_def, 0, 0, nan},
      {&floor_divide_def, inf, 2, nan},
      {&floor_divide_def, nan, 2, nan},
      {&atan2_def, 0, 0, 0},
      {&atan2_def, T(-0.0), 0, T(-0.0)},
      {&atan2_def, 0, T(-0.0), half_pi * 2},
      {&atan2_def, T(-0.0), T(-0.0), half_pi * -2},
      {&atan2_def, 0, -1, half_pi * 2},
      {&atan2_def, T(-0.0), 1, T(-0.0)},
      {&atan2_def, 1, 0, half_pi},
      {&atan2_def, -1, T(-0.0), -half_pi},
      {&atan2_def, inf, inf, half_pi / 2},
      {&atan2_def, -inf, -inf, half_pi * T(-1.5)},
      {&atan2_def, inf, 1, half_pi},
      {&atan2_def, 1, inf, 0},
      {&atan2_def, -1, inf, T(-0.0)},
      {&atan2_def, 1, -inf, half_pi * 2},
      {&atan2_def, nan, 1, nan},
      {&atan2_def, 1, nan, nan},
      {&atan2_def, inf, nan, nan},
      {&hypot_def, T(-0.0), T(-0.0), 0},
      {&hypot_def, 3, -4, 5},
      {&hypot_def, nan, -inf, inf},
      {&hypot_def, inf, nan, inf},
      {&hypot_def, nan, 1, nan},
      {&hypot_def, 0, nan, nan},
      {&hypot_def, tiny, 0, tiny},
      {&maximum_def, nan, 1, nan},
      {&maximum_def, 1, nan, nan},
      {&maximum_def, 1, 2, 2},
      {&minimum_def, nan, 1, nan},
      {&minimum_def, 1, nan, nan},
      {&minimum_def, -inf, 2, -inf},
      {&div_def, 1, 0, inf},
      {&div_def, 0, 0, nan},
  };
  for (const Pair& one : pairs) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{67}}) {
      std::vector<T> x(n, T(1.25));
      std::vector<T> y(n, T(2));
      x[n / 2] = one.x;
      y[n / 2] = one.y;
      expect_same(apply<T>(*one.op, {x, y})[n / 2], one.want, one.op->name.text,
                  static_cast<double>(one.x), static_cast<double>(one.y));
    }
  }
}
TEST(ScalarOps, SpecialValuesF32) { check_specials<float>(); }
TEST(ScalarOps, SpecialValuesF64) { check_specials<double>(); }

TEST(ScalarOps, RemainderIsExactForAnyQuotient) {
  std::uint64_t state = 99;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  std::vector<float> x;
  std::vector<float> y;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(static_cast<float>((next() - 0.5) * std::exp(next() * 60 - 20)));
    y.push_back(static_cast<float>((next() - 0.5) * std::exp(next() * 20 - 5)));
    if (i % 5 == 0) x.back() = y.back() * static_cast<float>(i % 1000);
  }
  const std::vector<float> r = apply<float>(remainder_def, {x, y});
  const std::vector<float> truncated = apply<float>(fmod_def, {x, y});
  const std::vector<float> quotient = apply<float>(floor_divide_def, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i) {
    float want = std::fmod(x[i], y[i]);
    ASSERT_EQ(truncated[i], want) << x[i] << " fmod " << y[i];
    // Of 80 bits enough hold the whole part of quotients up to 2^40.
    const Wide exact =
        (static_cast<Wide>(x[i]) - static_cast<Wide>(want)) / static_cast<Wide>(y[i]);
    const bool below = want != 0 && (want < 0) != (y[i] < 0);
    if (std::abs(exact) < 0x1p40L) {
      const auto floored = static_cast<float>(std::rint(exact) - (below ? 1 : 0));
      ASSERT_LE(ulps(quotient[i], static_cast<Wide>(floored)), 2) << x[i] << " over " << y[i];
      if (std::abs(exact) < 0x1p22L) {
        ASSERT_EQ(quotient[i], floored) << x[i] << " over " << y[i];
      }
    }
    if (want != 0 && (want < 0) != (y[i] < 0)) want += y[i];
    ASSERT_EQ(r[i], want) << x[i] << " remainder " << y[i];
  }
}

TEST(ScalarOps, IntegersWrapAndNeverTrap) {
  constexpr std::int32_t min = std::numeric_limits<std::int32_t>::min();
  using V = std::vector<std::int32_t>;
  EXPECT_EQ(apply<std::int32_t>(abs_def, {V{min, -3, 4}}), (V{min, 3, 4}));
  EXPECT_EQ(apply<std::int32_t>(neg_def, {V{min, -3, 4}}), (V{min, 3, -4}));
  EXPECT_EQ(apply<std::int32_t>(div_def, {V{min, 7, -7, 5}, V{-1, 2, 2, 0}}), (V{min, 3, -3, 0}));
  EXPECT_EQ(apply<std::int32_t>(remainder_def, {V{min, -3, 3, 5}, V{-1, 2, -2, 0}}),
            (V{0, 1, -1, 0}));
  EXPECT_EQ(apply<std::int32_t>(pow_def, {V{3, -2, 2, 1, -1, 2}, V{4, 31, 32, -5, -5, -1}}),
            (V{81, min, 0, 1, -1, 0}));
  EXPECT_EQ(apply<std::int32_t>(sign_def, {V{min, 0, 9}}), (V{-1, 0, 1}));
  EXPECT_EQ(apply<std::int32_t>(fmod_def, {V{min, -3, 3, 5}, V{-1, 2, -2, 0}}), (V{0, -1, 1, 0}));
  EXPECT_EQ(apply<std::int32_t>(floor_divide_def, {V{min, -7, 7, 5, 6}, V{-1, 2, -2, 0, 3}}),
            (V{min, -4, -4, 0, 2}));
  EXPECT_EQ(apply<std::int32_t>(bitwise_not_def, {V{min, 0, 5}}), (V{~min, -1, -6}));
  EXPECT_EQ(apply<std::int32_t>(bitwise_left_shift_def, {V{1, 3, 1, 1, -5}, V{31, 31, 32, -1, 1}}),
            (V{min, min, 0, 0, -10}));
  EXPECT_EQ(apply<std::int32_t>(bitwise_right_shift_def,
                                {V{min, min, 7, -7, 7, -7}, V{31, 1, 1, 1, 32, -1}}),
            (V{-1, min / 2, 3, -4, 0, -1}));
  using B = std::vector<std::int8_t>;
  EXPECT_EQ(apply<std::int8_t>(bitwise_left_shift_def, {B{1, 1, 3, 1}, B{7, 8, 6, -1}}),
            (B{-128, 0, -64, 0}));
  EXPECT_EQ(apply<std::int8_t>(bitwise_right_shift_def, {B{-128, -128, 127, -1}, B{7, 8, 8, -1}}),
            (B{-1, -1, 0, -1}));
  EXPECT_EQ(apply<std::int8_t>(add_def, {B{127, -128, 5}, B{1, -1, 6}}), (B{-128, 127, 11}));
  EXPECT_EQ(apply<std::int8_t>(div_def, {B{-128}, B{-1}}), (B{-128}));
  using U = std::vector<std::uint8_t>;
  EXPECT_EQ(apply<std::uint8_t>(sub_def, {U{1, 0}, U{2, 1}}), (U{255, 255}));
  EXPECT_EQ(apply<std::uint8_t>(bitwise_not_def, {U{0, 5}}), (U{255, 250}));
  EXPECT_EQ(apply<std::uint8_t>(bitwise_right_shift_def, {U{255, 255, 255}, U{7, 8, 255}}),
            (U{1, 0, 0}));
  using W = std::vector<std::uint32_t>;
  EXPECT_EQ(apply<std::uint32_t>(bitwise_left_shift_def, {W{3, 1, 1}, W{31, 32, 40}}),
            (W{0x80000000u, 0, 0}));
  EXPECT_EQ(apply<std::uint32_t>(bitwise_right_shift_def, {W{0x80000000u, 9}, W{31, 40}}),
            (W{1, 0}));
  EXPECT_EQ(apply<std::uint32_t>(mul_def, {W{4000000000u, 3}, W{4000000000u, 5}}),
            (W{4000000000u * 4000000000u, 15}));
  using L = std::vector<std::uint64_t>;
  constexpr std::uint64_t kBig = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(apply<std::uint64_t>(div_def, {L{kBig, 7}, L{2, 0}}), (L{kBig / 2, 0}));
  EXPECT_EQ(apply<std::uint64_t>(bitwise_right_shift_def, {L{kBig, kBig, kBig}, L{63, 64, kBig}}),
            (L{1, 0, 0}));
  EXPECT_EQ(apply<std::uint64_t>(bitwise_xor_def, {L{kBig, 7}, L{2, 9}}), (L{kBig - 2, 14}));
  EXPECT_EQ(apply<std::uint64_t>(maximum_def, {L{kBig, 7}, L{2, 9}}), (L{kBig, 9}));
}

}  // namespace
}  // namespace hearth::region_test
