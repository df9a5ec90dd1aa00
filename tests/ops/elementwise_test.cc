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

TEST(Elementwise, FmodTruncatesAndFloorDivideFloors) {
  for (const DType dtype : kSigned) {
    const Array a = array({7, -7, 7, -7, 6, -3, 5}, {7}, dtype);
    const Array b = array({2, 2, -2, -2, 3, 2, 0}, {7}, dtype);
    expect_values(fmod(a, b), {7}, {1, -1, 1, -1, 0, -1, 0});
    expect_values(floor_divide(a, b), {7}, {3, -4, -4, 3, 2, -2, 0});
  }
  for (const DType dtype : kUnsigned) {
    const Array a = array({7, 100, 5}, {3}, dtype);
    const Array b = array({2, 7, 0}, {3}, dtype);
    expect_values(fmod(a, b), {3}, {1, 2, 0});
    expect_values(floor_divide(a, b), {3}, {3, 14, 0});
  }
  for (const DType dtype : kFloats) {
    const Array a = array({-3, 3, 1, 6, -6, 5.5, -5, kInf, 5, kNan}, {10}, dtype);
    const Array b = array({2, -2, -1.5, 3, 3, 2, kInf, 2, 0, 1}, {10}, dtype);
    expect_values(fmod(a, b), {10}, {-1, 1, 1, 0, 0, 1.5, -5, kNan, kNan, kNan});
    expect_values(floor_divide(a, b), {10}, {-2, -2, -1, 2, -2, 2, -1, kNan, kInf, kNan});
    EXPECT_TRUE(std::signbit(fmod(a, b).to_doubles()[4]));
  }
  // The quotient rounds to 10 although 1 holds less than ten times the f64 nearest to 0.1.
  expect_values(floor_divide(array({1}, {1}), 0.1), {1}, {9});
  expect_values(fmod(array({1e30}, {1}), 7.0), {1}, {std::fmod(1e30, 7)});
  const Array a = array({5.5, -5.5, 5.5}, {3}).require_grad();
  const Array b = array({2, 2, -2}, {3}).require_grad();
  const Gradients gradients = backward(sum(fmod(a, b) + floor_divide(a, b)));
  expect_values(gradients.get(a), {3}, {1, 1, 1});
  expect_values(gradients.get(b), {3}, {-2, 2, 2});
}

TEST(Elementwise, BitsOfIntegers) {
  for (const DType dtype : kSigned) {
    const Array a = array({12, -1, 0, -128, 127}, {5}, dtype);
    const Array b = array({10, 5, 7, 1, -1}, {5}, dtype);
    expect_values(bitwise_and(a, b), {5}, {8, 5, 0, 0, 127});
    expect_values(bitwise_or(a, b), {5}, {14, -1, 7, -127, -1});
    expect_values(bitwise_xor(a, b), {5}, {6, -6, 7, -127, -128});
    expect_values(bitwise_not(a), {5}, {-13, 0, -1, 127, -128});
    expect_values(bitwise_and(a, 15), {5}, {12, 15, 0, 0, 15});
    expect_values(bitwise_or(1, a), {5}, {13, -1, 1, -127, 127});
    expect_values(bitwise_xor(a, -1), {5}, {-13, 0, -1, 127, -128});
  }
  for (const DType dtype : kUnsigned) {
    const Array a = array({12, 255, 0}, {3}, dtype);
    const double all = std::exp2(8.0 * static_cast<double>(size_of(dtype))) - 1;
    if (dtype != DType::u64) {
      expect_values(bitwise_not(a), {3}, {all - 12, all - 255, all});
      expect_values(bitwise_xor(a, bitwise_not(a)), {3}, {all, all, all});
    }
    expect_values(bitwise_not(bitwise_not(a)), {3}, {12, 255, 0});
    expect_values(bitwise_and(a, 10), {3}, {8, 10, 0});
  }
  EXPECT_EQ(bitwise_not(array({1}, {1}, DType::u64)).to_vector<std::uint64_t>()[0], ~1ULL);
  const Array yes = array({0, 0, 1, 1}, {4}, DType::bool_);
  const Array no = array({0, 1, 0, 1}, {4}, DType::bool_);
  expect_values(bitwise_and(yes, no), {4}, {0, 0, 0, 1});
  expect_values(bitwise_or(yes, no), {4}, {0, 1, 1, 1});
  expect_values(bitwise_xor(yes, true), {4}, {1, 1, 0, 0});
  expect_values(bitwise_not(yes), {4}, {1, 1, 0, 0});
  EXPECT_EQ(bitwise_not(yes).dtype(), DType::bool_);
  const Array f = array({1}, {1}, DType::f32);
  expect_error(ErrorCode::dtype, [&] { (void)bitwise_and(f, f); });
  expect_error(ErrorCode::dtype, [&] { (void)bitwise_not(f); });
  expect_error(ErrorCode::dtype, [&] { (void)bitwise_and(yes, array({1}, {1}, DType::i32)); });
  expect_error(ErrorCode::dtype, [&] { (void)bitwise_left_shift(yes, yes); });
  expect_error(ErrorCode::dtype, [&] { (void)bitwise_and(array({1}, {1}, DType::i8), 300); });
}

TEST(Elementwise, ShiftsByAnyCount) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u64, DType::u32,
                            DType::u16, DType::u8}) {
    const bool is_signed = info(dtype).is_signed;
    const double width = 8.0 * static_cast<double>(size_of(dtype));
    const double minus = is_signed ? -1 : 1;
    const Array a = array({1, 5, 100 * minus, 7 * minus, 1}, {5}, dtype);
    const Array b = array({3, 0, 2, width, width + 1}, {5}, dtype);
    const bool wraps = dtype == DType::i8 || dtype == DType::u8;
    expect_values(bitwise_left_shift(a, b), {5},
                  {8, 5, wraps ? (is_signed ? 112 : 144) : 400 * minus, 0, 0});
    expect_values(bitwise_right_shift(a, b), {5}, {0, 5, 25 * minus, is_signed ? -1.0 : 0, 0});
    expect_values(bitwise_left_shift(a, 1), {5},
                  {2, 10, wraps && is_signed ? 56 : 200 * minus, 14 * minus, 2});
    expect_values(bitwise_right_shift(a, 1), {5}, {0, 2, 50 * minus, is_signed ? -4.0 : 3, 0});
    expect_values(bitwise_right_shift(array({}, {0, 5}, dtype), b), {0, 5}, {});
    if (!is_signed) continue;
    expect_values(bitwise_left_shift(a, -1), {5}, {0, 0, 0, 0, 0});
    expect_values(bitwise_right_shift(a, -1), {5}, {0, 0, -1, -1, 0});
  }
  EXPECT_EQ(bitwise_left_shift(array({1}, {1}, DType::i64), 63).to_vector<std::int64_t>()[0],
            INT64_MIN);
}

TEST(Elementwise, InfinityFiniteAndTrunc) {
  for (const DType dtype : kFloats) {
    const Array x = array({-kInf, kInf, kNan, -0.0, 6e4, -2.5, 2.5, -0.5}, {8}, dtype);
    expect_values(is_inf(x), {8}, {1, 1, 0, 0, 0, 0, 0, 0});
    expect_values(is_finite(x), {8}, {0, 0, 0, 1, 1, 1, 1, 1});
    EXPECT_EQ(is_finite(x).dtype(), DType::bool_);
    const Array whole = trunc(x);
    const Values values = whole.to_doubles();
    expect_values(whole, {8}, {-kInf, kInf, kNan, 0, x.to_doubles()[4], -2, 2, 0});
    EXPECT_TRUE(std::signbit(values[3]) && std::signbit(values[7]));
  }
  // What rounds to infinity in f16 is infinite there.
  expect_values(is_inf(cast(array({7e4}, {1}, DType::f32), DType::f16)), {1}, {1});
  expect_error(ErrorCode::dtype, [] { (void)is_inf(array({1}, {1}, DType::i32)); });
}

TEST(Elementwise, SignBit) {
  for (const DType dtype : kFloats) {
    const Array x = array({-kInf, -0.0, 0, -2.5, 3, kInf}, {6}, dtype);
    expect_values(signbit(x), {6}, {1, 1, 0, 1, 0, 0});
    EXPECT_EQ(signbit(x).dtype(), DType::bool_);
    const Array nan = array({std::copysign(kNan, -1.0), std::copysign(kNan, 1.0)}, {2}, dtype);
    expect_values(signbit(nan), {2}, {1, 0});
  }
  for (const DType dtype : {DType::i64, DType::i32, DType::i8}) {
    expect_values(signbit(array({-3, 0, 3}, {3}, dtype)), {3}, {1, 0, 0});
  }
  for (const DType dtype : {DType::u64, DType::u32, DType::u8}) {
    expect_values(signbit(sub(array({0, 3}, {2}, dtype), std::int64_t{1})), {2}, {0, 0});
  }
  expect_error(ErrorCode::dtype, [] { (void)signbit(array({1}, {1}, DType::bool_)); });
}

TEST(Elementwise, AnglesAndLengths) {
  const double pi = std::acos(-1.0);
  for (const DType dtype : kFloats) {
    const Array y = array({0, 1, 1, -1, -0.0, kInf, 0}, {7}, dtype);
    const Array x = array({1, 0, -1, -1, -1, -kInf, 0}, {7}, dtype);
    expect_values(atan2(y, x), {7}, {0, pi / 2, 3 * pi / 4, -3 * pi / 4, -pi, 3 * pi / 4, 0});
    expect_values(
        hypot(array({3, 0, kInf, 3e4}, {4}, dtype), array({-4, 0, kNan, 4e4}, {4}, dtype)), {4},
        {5, 0, kInf, hypot(array({3e4}, {}, dtype), array({4e4}, {}, dtype)).to_doubles()[0]});
  }
  expect_values(hypot(array({3e200}, {1}), 4e200), {1}, {5e200});
  expect_values(hypot(array({3e-30}, {1}, DType::f32), array({4e-30}, {1}, DType::f32)), {1},
                {5e-30});
  // Defined, and 0, where both are 0; no squares on the way to a gradient.
  const Array y = array({0, 3, 3e200}, {3}).require_grad();
  const Array x = array({0, 4, 4e200}, {3}).require_grad();
  const Gradients lengths = backward(sum(hypot(y, x)));
  expect_values(lengths.get(y), {3}, {0, 0.6, 0.6});
  expect_values(lengths.get(x), {3}, {0, 0.8, 0.8});
  const Gradients angles = backward(sum(atan2(y, x)));
  expect_values(angles.get(y), {3}, {0, 0.16, 1.6e-201});
  expect_values(angles.get(x), {3}, {0, -0.12, -1.2e-201});
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

// Bounds that are NaN were none, while maximum() and minimum() kept them.
TEST(Elementwise, ClampKeepsNanOfItsBounds) {
  for (const DType dtype : kFloats) {
    const Array x = array({-5, 0.5, 5, kNan}, {4}, dtype), nan = array({kNan}, {1}, dtype);
    const Array some = array({kNan, 0, kInf, 1}, {4}, dtype);
    for (const Array& none : {clamp(x, kNan, 1), clamp(x, -1, kNan), clamp(x, nan, 1),
                              clamp(x, -1, nan), clamp_min(x, kNan), clamp_max(x, nan)}) {
      expect_values(none, {4}, {kNan, kNan, kNan, kNan});
    }
    expect_values(clamp(x, -1, some), {4}, {kNan, 0, 5, kNan});
    expect_values(clamp_min(x, some), {4}, {kNan, 0.5, kInf, kNan});
    expect_values(clamp(3.0, kNan, some), {4}, {kNan, kNan, kNan, kNan});
  }
  const Array x = array({1, 2}, {2}).require_grad();
  expect_values(backward(sum(clamp(x, array({kNan, 0}, {2}), 5))).get(x), {2}, {0, 1});
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
      {exp2, std::exp2, -10, 10},
      {log2, std::log2, 1e-3, 50},
      {log10, std::log10, 1e-3, 50},
      {sinh, std::sinh, -5, 5},
      {cosh, std::cosh, -5, 5},
      {asin, std::asin, -1, 1},
      {acos, std::acos, -1, 1},
      {atan, std::atan, -9, 9},
      {asinh, std::asinh, -9, 9},
      {acosh, std::acosh, 1, 9},
      {atanh, std::atanh, -0.9, 0.9},
      {trunc, std::trunc, -9, 9},
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
