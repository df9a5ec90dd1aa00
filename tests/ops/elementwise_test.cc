// What elementwise ops mean at the edges.
#include "check.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;
using check::kInf;
using check::kNan;
using check::Values;

constexpr DType kFloats[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
constexpr DType kSigned[] = {DType::i64, DType::i32, DType::i16, DType::i8};
constexpr DType kUnsigned[] = {DType::u64, DType::u32, DType::u16, DType::u8};

TEST(Elementwise, IntegerDivisionTruncatesAndRemainderFloors) {
  for (const DType dtype : kSigned) {
    const Array a = array({7, -7, 7, -7, 6, -3}, {6}, dtype);
    const Array b = array({2, 2, -2, -2, 3, 2}, {6}, dtype);
    expect_values(a / b, {6}, {3, -3, -3, 3, 2, -1});
    expect_values(a % b, {6}, {1, 1, -1, -1, 0, 1});
  }
  for (const DType dtype : kUnsigned) {
    const Array a = array({7, 100, 0}, {3}, dtype);
    expect_values(a / array({2, 7, 3}, {3}, dtype), {3}, {3, 14, 0});
    expect_values(a % array({2, 7, 3}, {3}, dtype), {3}, {1, 2, 0});
  }
}

TEST(Elementwise, IntegersWrap) {
  expect_values(array({127, -128}, {2}, DType::i8) + 1, {2}, {-128, -127});
  expect_values(abs(array({-128, -5, 5}, {3}, DType::i8)), {3}, {-128, 5, 5});
  expect_values(neg(array({-128, 5}, {2}, DType::i8)), {2}, {-128, -5});
  expect_values(array({255, 0}, {2}, DType::u8) * 2, {2}, {254, 0});
  const Array least = array({-2147483648.0}, {1}, DType::i32);
  expect_values(least / array({-1}, {1}, DType::i32), {1}, {-2147483648.0});
  expect_values(least % array({-1}, {1}, DType::i32), {1}, {0});
}

TEST(Elementwise, IntegerDivisionByZeroGivesZero) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i8, DType::u64, DType::u8}) {
    const Array a = array({5, 0}, {2}, dtype);
    const Array zero = array({0, 0}, {2}, dtype);
    expect_values(a / zero, {2}, {0, 0});
    expect_values(a % zero, {2}, {0, 0});
  }
}

TEST(Elementwise, FloatRemainderHasTheSignOfTheDivisor) {
  for (const DType dtype : kFloats) {
    const Array a = array({-3, 3, 1, 6, -6, 5.5}, {6}, dtype);
    const Array b = array({2, -2, -1.5, 3, 3, 2}, {6}, dtype);
    expect_values(a % b, {6}, {1, -1, -0.5, 0, 0, 1.5});
  }
  // A large divisor leaves a small dividend exactly alone.
  expect_values(array({3, 7}, {2}, DType::f32) % array({1e30, 16777216}, {2}, DType::f32), {2},
                {3, 7});
}

TEST(Elementwise, PowersOfNegativeBasesAreReal) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array a = array({-2, -2, -2, 2, -2, 0}, {6}, dtype);
    const Array b = array({3, 2, -1, 0.5, 0.5, 0}, {6}, dtype);
    expect_values(pow(a, b), {6}, {-8, 4, -0.5, std::sqrt(2.0), kNan, 1});
  }
  const Array x = array({-3, 2}, {2}, DType::f32);
  expect_values(pow(x, 0), {2}, {1, 1});
  expect_values(pow(x, 1), {2}, {-3, 2});
  expect_values(pow(x, 2), {2}, {9, 4});
  expect_values(pow(x, 3), {2}, {-27, 8});
  expect_values(pow(x, -1), {2}, {-1.0 / 3, 0.5});
  expect_values(pow(x, -2), {2}, {1.0 / 9, 0.25});
  // Exact beyond what a float holds, and wrapping.
  EXPECT_EQ(pow(array({3}, {1}, DType::i64), 39).to_vector<std::int64_t>()[0], 4052555153018976267);
  expect_values(pow(array({2, 3}, {2}, DType::i8), 7), {2}, {-128, -117});
  expect_values(
      pow(array({1, -1, -1, 2}, {4}, DType::i32), array({-1, -1, -2, -1}, {4}, DType::i32)), {4},
      {1, -1, 1, 0});
}

TEST(Elementwise, SignOfZeroAndNan) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Values got = sign(array({-0.0, 0.0, kNan, -kInf, 3}, {5}, dtype)).to_doubles();
    EXPECT_EQ(got, (Values{0, 0, 0, -1, 1}));
    EXPECT_FALSE(std::signbit(got[0]));
    EXPECT_FALSE(std::signbit(got[2]));
  }
  expect_values(sign(array({-5, 0, 5}, {3}, DType::i16)), {3}, {-1, 0, 1});
}

TEST(Elementwise, MaximumAndMinimumPropagateNan) {
  for (const DType dtype : kFloats) {
    const Array a = array({1, kNan, 2, kNan}, {4}, dtype);
    const Array b = array({kNan, 1, 3, kNan}, {4}, dtype);
    expect_values(maximum(a, b), {4}, {kNan, kNan, 3, kNan});
    expect_values(minimum(a, b), {4}, {kNan, kNan, 2, kNan});
  }
}

TEST(Elementwise, LerpMeetsItsStart) {
  for (const DType dtype : kFloats) {
    const Array a = array({1, -2, 3, kNan}, {4}, dtype);
    const Array b = array({5, 6, -3, 1}, {4}, dtype);
    expect_values(lerp(a, b, 0.0), {4}, {1, -2, 3, kNan});
    expect_values(lerp(a, b, 0.25), {4}, {2, 0, 1.5, kNan});
    expect_values(lerp(a, b, 1.0), {4}, {5, 6, -3, kNan});
    expect_values(lerp(a, 3.0, array({0.5}, {1}, dtype)), {4}, {2, 0.5, 3, kNan});
  }
  expect_error(ErrorCode::dtype, [] { (void)lerp(array({1, 2}, {2}, DType::i32), 5, 1); });
}

TEST(Elementwise, ClampKeepsNanAndLetsTheLowerBoundWin) {
  for (const DType dtype : kFloats) {
    const Array x = array({-5, 0.5, 5, kNan}, {4}, dtype);
    expect_values(clamp(x, -1, 1), {4}, {-1, 0.5, 1, kNan});
    expect_values(clamp(x, 2, 1), {4}, {2, 2, 2, kNan});
    expect_values(clamp_min(x, 0), {4}, {0, 0.5, 5, kNan});
    expect_values(clamp_max(x, 0), {4}, {-5, 0, 0, kNan});
  }
  expect_values(clamp(array({-5, 0, 5}, {3}, DType::i32), -1, 1), {3}, {-1, 0, 1});
}

TEST(Elementwise, ReluKeepsNan) {
  expect_values(relu(array({-1, 0, 2, kNan}, {4}, DType::f32)), {4}, {0, 0, 2, kNan});
}

TEST(Elementwise, CastsSaturateTruncateAndTestForZero) {
  const Array x = array({2.9, -2.9, 1e30, -1e30, kNan, 300, -0.5, kInf}, {8}, DType::f32);
  expect_values(cast(x, DType::i32), {8},
                {2, -2, 2147483647.0, -2147483648.0, 0, 300, 0, 2147483647.0});
  expect_values(cast(x, DType::u8), {8}, {2, 0, 255, 0, 0, 255, 0, 255});
  expect_values(cast(x, DType::i8), {8}, {2, -2, 127, -128, 0, 127, 0, 127});
  EXPECT_EQ(cast(x, DType::i64).to_vector<std::int64_t>()[2], INT64_MAX);
  EXPECT_EQ(cast(x, DType::i64).to_vector<std::int64_t>()[3], INT64_MIN);
  EXPECT_EQ(cast(x, DType::u64).to_vector<std::uint64_t>()[2], UINT64_MAX);
  EXPECT_EQ(cast(x, DType::bool_).to_vector<bool>(),
            (std::vector<bool>{true, true, true, true, true, true, true, true}));
  expect_values(cast(array({0, -0.0, 1e-30}, {3}, DType::f32), DType::bool_), {3}, {0, 0, 1});
  expect_values(cast(array({0, 1}, {2}, DType::bool_), DType::f16), {2}, {0, 1});
  expect_values(cast(array({300, -1}, {2}, DType::i32), DType::bool_), {2}, {1, 1});
  expect_values(cast(array({70000, 1e-9}, {2}, DType::f32), DType::f16), {2}, {kInf, 0});
}

TEST(Elementwise, ComparisonsWithNan) {
  const Array a = array({kNan, 1, kNan}, {3}, DType::f32);
  const Array b = array({1, 1, kNan}, {3}, DType::f32);
  expect_values(equal(a, b), {3}, {0, 1, 0});
  expect_values(not_equal(a, b), {3}, {1, 0, 1});
  expect_values(less(a, b), {3}, {0, 0, 0});
  expect_values(less_equal(a, b), {3}, {0, 1, 0});
  expect_values(greater(a, b), {3}, {0, 0, 0});
  expect_values(greater_equal(a, b), {3}, {0, 1, 0});
  expect_values(is_nan(a), {3}, {1, 0, 1});
  EXPECT_EQ(equal(a, b).dtype(), DType::bool_);
}

TEST(Elementwise, Logic) {
  const Array a = array({0, 0, 1, 1}, {4}, DType::bool_);
  const Array b = array({0, 1, 0, 1}, {4}, DType::bool_);
  expect_values(logical_and(a, b), {4}, {0, 0, 0, 1});
  expect_values(logical_or(a, b), {4}, {0, 1, 1, 1});
  expect_values(logical_xor(a, b), {4}, {0, 1, 1, 0});
  expect_values(logical_not(a), {4}, {1, 1, 0, 0});
  expect_values(logical_or(a, true), {4}, {1, 1, 1, 1});
}

TEST(Elementwise, WhereTakesNumbersAndInfinities) {
  const Array condition = array({1, 0, 1}, {3}, DType::bool_);
  const Array x = array({1, 2, 3}, {3}, DType::f16);
  const Array filled = where(condition, -kInf, x);
  EXPECT_EQ(filled.dtype(), DType::f16);
  expect_values(filled, {3}, {-kInf, 2, -kInf});
  expect_values(where(condition, 1.0, 0.0), {3}, {1, 0, 1});
  expect_values(where(true, x, 0), {3}, {1, 2, 3});
  expect_values(where(array({1, 0}, {2, 1}, DType::bool_), x, 0), {2, 3}, {1, 2, 3, 0, 0, 0});
}

TEST(Elementwise, NumbersTakeTheDtypeBesideThem) {
  for (const DType dtype : kFloats) EXPECT_EQ((array({1}, {1}, dtype) * 0.5).dtype(), dtype);
  for (const DType dtype : kSigned) {
    EXPECT_EQ((array({1}, {1}, dtype) + 2).dtype(), dtype);
    EXPECT_EQ((array({1}, {1}, dtype) + 2.0).dtype(), dtype);
    expect_error(ErrorCode::dtype, [&] { (void)(array({1}, {1}, dtype) + 0.5); });
    expect_error(ErrorCode::dtype, [&] { (void)less(array({1}, {1}, dtype), 0.5); });
  }
  EXPECT_EQ((Array(1.5) + Array(2)).dtype(), DType::f32);
  expect_values(Array(1.5) + Array(2), {}, {3.5});
  EXPECT_EQ((Array(1) + Array(2)).dtype(), DType::i64);
  expect_values(exp(Array(0)), {}, {1});
}

TEST(Elementwise, MixedDtypesShapesAndKindsAreErrors) {
  const Array f = array({1, 2}, {2}, DType::f32);
  const Array d = array({1, 2}, {2}, DType::f64);
  const Array i = array({1, 2}, {2}, DType::i32);
  const Array b = array({1, 0}, {2}, DType::bool_);
  expect_error(ErrorCode::dtype, [&] { (void)(f + d); });
  expect_error(ErrorCode::dtype, [&] { (void)(f + i); });
  expect_error(ErrorCode::dtype, [&] { (void)(b + b); });
  expect_error(ErrorCode::dtype, [&] { (void)neg(b); });
  expect_error(ErrorCode::dtype, [&] { (void)exp(i); });
  expect_error(ErrorCode::dtype, [&] { (void)logical_and(f, f); });
  expect_error(ErrorCode::dtype, [&] { (void)where(f, f, f); });
  expect_error(ErrorCode::dtype, [&] { (void)where(b, f, d); });
  expect_error(ErrorCode::shape, [&] { (void)(f + array({1, 2, 3}, {3}, DType::f32)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)(f + Array()); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)exp(Array()); });
}

TEST(Elementwise, BroadcastsFromBothSides) {
  const Array column = array({1, 2}, {2, 1}, DType::f32);
  const Array row = array({10, 20, 30}, {3}, DType::f32);
  expect_values(column + row, {2, 3}, {11, 21, 31, 12, 22, 32});
  expect_values(array({}, {0, 1}, DType::f32) + row, {0, 3}, {});
  expect_values(array({5}, {}, DType::f32) * row, {3}, {50, 100, 150});
}

TEST(Elementwise, FunctionsAgreeWithThePlatform) {
  struct Row {
    Array (*ours)(const Array&);
    double (*theirs)(double);
    double lo;
    double hi;
  };
  const Row rows[] = {
      {exp, std::exp, -10, 10},
      {expm1, std::expm1, -5, 5},
      {log, std::log, 1e-3, 50},
      {log1p, std::log1p, -0.9, 50},
      {tanh, std::tanh, -5, 5},
      {erf, std::erf, -4, 4},
      {sin, std::sin, -30, 30},
      {cos, std::cos, -30, 30},
      {tan, std::tan, -1.5, 1.5},
      {sqrt, std::sqrt, 0, 100},
      {abs, std::fabs, -3, 3},
      {floor, std::floor, -9, 9},
      {ceil, std::ceil, -9, 9},
      {sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -20, 20},
      {silu, [](double x) { return x / (1 + std::exp(-x)); }, -20, 20},
      {recip, [](double x) { return 1 / x; }, 0.1, 9},
      {rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
      {[](const Array& x) { return gelu(x); },
       [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, -6, 6},
      {[](const Array& x) { return gelu(x, true); },
       [](double x) {
         return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) /
                2;
       },
       -6, 6},
  };
  int index = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(index++);
    for (const DType dtype : kFloats) {
      const Array x = check::random_array({257}, dtype, row.lo, row.hi, 5);
      Values expected = x.to_doubles();
      for (double& value : expected) value = row.theirs(value);
      expect_values(row.ours(x), {257}, expected);
    }
  }
}

TEST(Elementwise, RoundsTiesToEven) {
  expect_values(round(array({0.5, 1.5, 2.5, -0.5, -1.5, 2.4}, {6}, DType::f32)), {6},
                {0, 2, 2, 0, -2, 2});
}

TEST(Elementwise, TranscendentalsAtTheEdges) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    expect_values(exp(array({-kInf, kInf, kNan, 0, -1000, 1000}, {6}, dtype)), {6},
                  {0, kInf, kNan, 1, 0, kInf});
    expect_values(log(array({0, kInf, -1, 1, kNan}, {5}, dtype)), {5},
                  {-kInf, kInf, kNan, 0, kNan});
    expect_values(sigmoid(array({-1000, 0, 1000, kNan}, {4}, dtype)), {4}, {0, 0.5, 1, kNan});
    expect_values(tanh(array({-kInf, 0, kInf, kNan}, {4}, dtype)), {4}, {-1, 0, 1, kNan});
    expect_values(erf(array({-kInf, 0, kInf, kNan, 0.5}, {5}, dtype)), {5},
                  {-1, 0, 1, kNan, std::erf(0.5)});
    expect_values(log1p(array({0, -1, -2, 1e-10}, {4}, dtype)), {4}, {0, -kInf, kNan, 1e-10});
    expect_values(sqrt(array({-1, 0, 4, kInf}, {4}, dtype)), {4}, {kNan, 0, 2, kInf});
    expect_values(silu(array({-1000, 0, 1000}, {3}, dtype)), {3}, {0, 0, 1000});
  }
  // Exact near 0, where 1 + x loses x.
  const Values tiny = {1e-20, -3e-12};
  for (const Array& got : {log1p(array(tiny, {2})), expm1(array(tiny, {2}))}) {
    const Values values = got.to_doubles();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(values[i] / tiny[i], 1, 1e-11);
  }
}

}  // namespace
}  // namespace hearth
