// What activations mean: values, limits, and gradients where two branches meet.
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

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// The functions in f64 as PyTorch's documentation writes them, their limits at both infinities, and
// the points where branches meet with the gradient there that PyTorch gives.
struct Activation {
  const char* name;
  std::function<Array(const Array&)> ours;
  double (*theirs)(double);
  double at_minus_infinity;
  double at_infinity;
  Values joints;
  Values gradients;
};

const Activation kActivations[] = {
    {"leaky_relu",
     [](const Array& x) { return leaky_relu(x, 0.25); },
     [](double x) { return x > 0 ? x : 0.25 * x; },
     -kInf,
     kInf,
     {0},
     {0.25}},
    {"elu",
     [](const Array& x) { return elu(x, 1.5); },
     [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); },
     -1.5,
     kInf,
     {0},
     {1.5}},
    {"celu",
     [](const Array& x) { return celu(x, 2); },
     [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); },
     -2,
     kInf,
     {0},
     {1}},
    {"selu",
     selu,
     [](double x) {
       return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
     },
     -1.7580993408473766,
     kInf,
     {0},
     {1.7580993408473766}},
    {"hard_sigmoid",
     [](const Array& x) { return hard_sigmoid(x, 0.25, 0.5); },
     [](double x) { return std::clamp(0.25 * x + 0.5, 0.0, 1.0); },
     0,
     1,
     {-2, 2},
     {0, 0}},
    {"hard_swish",
     hard_swish,
     [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; },
     0,
     kInf,
     {-3, 3},
     {0, 1}},
    {"hard_shrink",
     [](const Array& x) { return hard_shrink(x); },
     [](double x) { return std::abs(x) > 0.5 ? x : 0; },
     -kInf,
     kInf,
     {-0.5, 0.5},
     {0, 0}},
    {"soft_shrink",
     [](const Array& x) { return soft_shrink(x); },
     [](double x) { return x > 0.5    ? x - 0.5
                           : x < -0.5 ? x + 0.5
                                      : 0; },
     -kInf,
     kInf,
     {-0.5, 0.5},
     {0, 0}},
    {"shrink",
     [](const Array& x) { return shrink(x, 0.5, 0.25); },
     [](double x) { return x > 0.5    ? x - 0.25
                           : x < -0.5 ? x + 0.25
                                      : 0; },
     -kInf,
     kInf,
     {-0.5, 0.5},
     {0, 0}},
    {"thresholded_relu",
     [](const Array& x) { return thresholded_relu(x); },
     [](double x) { return x > 1 ? x : 0; },
     0,
     kInf,
     {1},
     {0}},
    {"threshold",
     [](const Array& x) { return threshold(x, 0.5, 7); },
     [](double x) { return x > 0.5 ? x : 7; },
     7,
     kInf,
     {0.5},
     {0}},
    {"softplus", [](const Array& x) { return softplus(x); }, softplus_of, 0, kInf, {0}, {0.5}},
    {"softplus by beta",
     [](const Array& x) { return softplus(x, 4); },
     [](double x) { return softplus_of(4 * x) / 4; },
     0,
     kInf,
     {0},
     {0.5}},
    {"softsign", softsign, [](double x) { return x / (1 + std::abs(x)); }, -1, 1, {0}, {1}},
    {"mish", mish, [](double x) { return x * std::tanh(softplus_of(x)); }, 0, kInf, {0}, {0.6}},
    {"log_sigmoid", log_sigmoid, [](double x) { return -softplus_of(-x); }, -kInf, 0, {0}, {0.5}},
    {"hardtanh",
     [](const Array& x) { return hardtanh(x, -0.5, 2); },
     [](double x) { return std::clamp(x, -0.5, 2.0); },
     -0.5,
     2,
     {-0.5, 2},
     {0, 0}},
    {"relu6", relu6, [](double x) { return std::clamp(x, 0.0, 6.0); }, 0, 6, {0, 6}, {0, 0}},
    {"tanhshrink", tanhshrink, [](double x) { return x - std::tanh(x); }, -kInf, kInf, {0}, {0}},
};

TEST(Activations, Values) {
  for (const Activation& f : kActivations) {
    SCOPED_TRACE(f.name);
    for (const DType dtype : kFloats) {
      const Array x = check::random_array({7, 41}, dtype, -8, 8, 11);
      Values expected = x.to_doubles();
      for (double& value : expected) value = f.theirs(value);
      expect_values(f.ours(x), {7, 41}, expected);
      EXPECT_EQ(f.ours(x).dtype(), dtype);
    }
  }
}

TEST(Activations, LimitsNanAndEmptyArrays) {
  for (const Activation& f : kActivations) {
    SCOPED_TRACE(f.name);
    for (const DType dtype : kFloats) {
      expect_values(f.ours(array({-kInf, kInf, kNan}, {3}, dtype)), {3},
                    {f.at_minus_infinity, f.at_infinity, kNan});
      expect_values(f.ours(array({}, {2, 0}, dtype)), {2, 0}, {});
      expect_values(f.ours(array({0.75}, {}, dtype)), {},
                    {f.theirs(array({0.75}, {}, dtype).to_doubles()[0])});
    }
    expect_values(f.ours(Array(0.75)), {}, {f.theirs(0.75)});
  }
}

// Far out on both sides nothing overflows on the way to a value or a gradient.
TEST(Activations, TailsAreQuiet) {
  const Values far = {-3e38, -1e5, -800, -90, 90, 800, 1e5, 3e38};
  for (const Activation& f : kActivations) {
    SCOPED_TRACE(f.name);
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array x = array(far, {8}, dtype).require_grad();
      const Array y = f.ours(x);
      Values expected = x.to_doubles();
      for (double& value : expected) value = f.theirs(value);
      expect_values(y, {8}, expected);
      for (const double slope : backward(sum(y)).get(x).to_doubles()) {
        EXPECT_TRUE(slope > -1e-30 && slope < 1.0508) << slope;
      }
    }
    const Array x = array({-kInf, kInf}, {2}).require_grad();
    for (const double slope : backward(sum(f.ours(x))).get(x).to_doubles()) {
      EXPECT_TRUE(slope > -1e-30 && slope < 1.0508) << slope;
    }
  }
}

TEST(Activations, GradientsWhereBranchesMeet) {
  for (const Activation& f : kActivations) {
    SCOPED_TRACE(f.name);
    for (const DType dtype : {DType::f64, DType::f32, DType::f16}) {
      const auto count = static_cast<std::int64_t>(f.joints.size());
      const Array x = array(f.joints, {count}, dtype).require_grad();
      expect_values(backward(sum(f.ours(x))).get(x), {count}, f.gradients);
    }
  }
}

TEST(Activations, GradientsOfBothOrders) {
  // Between the points where branches meet.
  const Array x = array({-4.3, -1.7, -0.8, -0.3, 0.2, 0.7, 1.6, 2.4, 4.1}, {9});
  for (const Activation& f : kActivations) {
    SCOPED_TRACE(f.name);
    const auto ours = [&f](std::span<const Array> in) { return f.ours(in[0]); };
    check::check_gradients(ours, {x});
    check::check_second_gradients([&](std::span<const Array> in) { return ours(in) * in[0]; }, {x});
  }
}

// A kink that is there in the formula but not in the function.
TEST(Activations, SmoothOnesHaveSecondDerivativesAtZero) {
  for (const auto& [function, expected] :
       {std::pair<Array (*)(const Array&), double>([](const Array& x) { return softplus(x); },
                                                   0.25),
        std::pair<Array (*)(const Array&), double>(log_sigmoid, -0.25)}) {
    const Array x = array({0}, {1}).require_grad();
    const Array slope = backward(sum(function(x)), {.create_graph = true}).get(x);
    expect_values(backward(sum(slope)).get(x), {1}, {expected});
  }
}

TEST(Activations, TailsKeepTheirDigits) {
  const Array x = array({-40, -200, -700}, {3});
  for (const Array& got : {softplus(x), neg(log_sigmoid(neg(x)))}) {
    const Values values = got.to_doubles();
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(values[i] / std::exp(x.to_doubles()[i]), 1, 1e-14);
    }
  }
}

TEST(Activations, PreluHasASlopeForEachChannel) {
  for (const DType dtype : kFloats) {
    const Array x = array({-1, 2, -3, 4, -5, 6, -0.0, 8, -9, kNan, -11, 12}, {2, 3, 2}, dtype);
    const Array slopes = array({0.5, 0.25, 2}, {3}, dtype);
    expect_values(prelu(x, slopes), {2, 3, 2},
                  {-0.5, 2, -0.75, 4, -10, 6, 0, 8, -2.25, kNan, -22, 12});
    expect_values(prelu(x, array({0.5}, {1}, dtype)), {2, 3, 2},
                  {-0.5, 2, -1.5, 4, -2.5, 6, 0, 8, -4.5, kNan, -5.5, 12});
    expect_values(prelu(array({-1, 2, -3}, {3}, dtype), slopes), {3}, {-0.5, 2, -6});
    expect_values(prelu(array({}, {0, 3}, dtype), slopes), {0, 3}, {});
    expect_values(prelu(array({-1, -2, -3, 4}, {2, 2}, dtype), array({2, 3}, {2, 1}, dtype)),
                  {2, 2}, {-2, -4, -9, 4});
  }
  const Array x = array({-1, kInf, 0, -3, 4, -5}, {2, 3}).require_grad();
  const Array slopes = array({0.5, 0.25, 2}, {3}).require_grad();
  const Gradients gradients = backward(sum(prelu(x, slopes)));
  expect_values(gradients.get(x), {2, 3}, {0.5, 1, 2, 0.5, 1, 2});
  expect_values(gradients.get(slopes), {3}, {-4, 0, -5});
  const Array one = array({0.1}, {1}).require_grad();
  expect_values(backward(sum(prelu(array({-1, 2, -3}, {3}), one))).get(one), {1}, {-4});
  expect_error(ErrorCode::shape, [&] { (void)prelu(x, array({1, 2}, {2})); });
  expect_error(ErrorCode::shape, [&] { (void)prelu(x, array({1, 2}, {1, 2})); });
  expect_error(ErrorCode::shape, [&] { (void)prelu(x, array({1, 2, 3}, {1, 1, 3})); });
  expect_error(ErrorCode::dtype, [&] { (void)prelu(x, array({1}, {1}, DType::f32)); });
}

TEST(Activations, GluHalvesAnAxis) {
  for (const DType dtype : kFloats) {
    const Array x = array({1, -2, 0, 3, 4, 5, -1, 0}, {2, 4}, dtype);
    expect_values(glu(x), {2, 2}, {0.5, -2 * sigmoid_of(3), 4 * sigmoid_of(-1), 2.5});
    expect_values(glu(x, 0), {1, 4}, {sigmoid_of(4), -2 * sigmoid_of(5), 0, 1.5});
    expect_values(glu(transpose(x), -2), {2, 2},
                  {0.5, 4 * sigmoid_of(-1), -2 * sigmoid_of(3), 2.5});
    expect_values(glu(array({}, {3, 0}, dtype)), {3, 0}, {});
  }
  check::check_gradients([](std::span<const Array> in) { return glu(in[0], 1); },
                         {check::random_array({3, 6, 2})});
  expect_error(ErrorCode::shape, [] { (void)glu(array({1, 2, 3}, {3})); });
  expect_error(ErrorCode::invalid_argument, [] { (void)glu(array({1, 2}, {2}), 1); });
  expect_error(ErrorCode::invalid_argument, [] { (void)glu(array({1}, {})); });
}

TEST(Activations, RefuseWhatMeansNothing) {
  const Array x = array({1}, {1});
  for (const Activation& f : kActivations) {
    SCOPED_TRACE(f.name);
    expect_error(ErrorCode::dtype, [&] { (void)f.ours(array({1, 2}, {2}, DType::i32)); });
    expect_error(ErrorCode::dtype, [&] { (void)f.ours(array({1, 0}, {2}, DType::bool_)); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)f.ours(Array()); });
  }
  for (const double wrong : {-1.0, kNan}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)celu(x, wrong); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)softplus(x, wrong); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)hard_shrink(x, wrong); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)soft_shrink(x, wrong); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)shrink(x, wrong, 0); });
    expect_error(ErrorCode::invalid_argument, [&] { (void)hardtanh(x, 1, wrong); });
  }
  expect_error(ErrorCode::invalid_argument, [&] { (void)celu(x, 0); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)softplus(x, kInf); });
}

// A product with 1 / 6, fused with the sum, gave 2.8e-17 at -3, and 1.2e-4 in f16.
TEST(Activations, HardSigmoidMeetsItsBounds) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const double sixth : {1.0 / 6, -1.0 / 6}) {
      const double side = sixth > 0 ? 1 : -1;
      const Array x = array({-3 * side, 3 * side, 0, 1.5 * side}, {4}, dtype).require_grad();
      const Array y = hard_sigmoid(x, sixth);
      EXPECT_EQ(y.to_doubles(), Values({0, 1, 0.5, 0.75}));
      const Values slopes = backward(sum(y)).get(x).to_doubles();
      EXPECT_EQ(slopes[0], 0);
      EXPECT_EQ(slopes[1], 0);
      EXPECT_NEAR(slopes[2], sixth, check::tolerance(dtype));
    }
    EXPECT_EQ(hard_sigmoid(array({-2.5, 2.5}, {2}, dtype)).to_doubles(), Values({0, 1}));
    expect_values(hard_sigmoid(array({-1, 1}, {2}, dtype), 0.3, 0.5), {2}, {0.2, 0.8});
    expect_values(hard_sigmoid(array({-1, 1}, {2}, dtype), 0, 0.25), {2}, {0.25, 0.25});
  }
}

}  // namespace
}  // namespace hearth
