// The walk: accumulation, release, higher orders, functions, recomputation.
#include <cmath>

#include "check.h"
#include "graph/record/grad_record.h"
#include "graph/record/node.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;
using check::kNan;
using check::Values;

Array leaf(const Values& values) {
  return array(values, {static_cast<std::int64_t>(values.size())}).require_grad();
}

TEST(Backward, SumsOverAllPaths) {
  const Array x = leaf({1, 2, 3});
  const Array y = square(x);
  const Array loss = sum(y * x + y + x);  // x^3 + x^2 + x
  expect_values(backward(loss).get(x), {3}, {6, 17, 34});
}

TEST(Backward, BroadcastsSumBack) {
  const Array x = array({1, 2}, {2, 1}).require_grad();
  const Array b = array({10, 20, 30}, {3}).require_grad();
  const Array s = array({2}, {}).require_grad();
  const Gradients gradients = backward(sum(x * b * s));
  expect_values(gradients.get(x), {2, 1}, {120, 120});
  expect_values(gradients.get(b), {3}, {6, 6, 6});
  expect_values(gradients.get(s), {}, {180});
  EXPECT_EQ(gradients.size(), 3u);
}

TEST(Backward, OnlyWhatIsTracked) {
  const Array x = leaf({1, 2});
  const Array other = leaf({1, 2});
  const Array constant = array({3, 4}, {2});
  const Gradients gradients = backward(sum(x * constant + other.detach()));
  expect_values(gradients.get(x), {2}, {3, 4});
  EXPECT_FALSE(gradients.has(other));
  EXPECT_FALSE(gradients.get(constant).defined());
  {
    const NoGrad untracked;
    EXPECT_FALSE((x * 2.0).is_require_grad());
  }
  EXPECT_TRUE((x * 2.0).is_require_grad());
  EXPECT_FALSE(less(x, 2.0).is_require_grad());
  EXPECT_FALSE(cast(x, DType::i32).is_require_grad());
}

TEST(Backward, Errors) {
  const Array x = leaf({1, 2});
  expect_error(ErrorCode::shape, [&] { backward(x * 2.0); });
  expect_error(ErrorCode::invalid_argument, [&] { backward(Array()); });
  expect_error(ErrorCode::invalid_argument, [&] { backward(sum(array({1}, {1}))); });
  expect_error(ErrorCode::dtype, [&] { backward(sum(cast(x, DType::i32))); });
  expect_error(ErrorCode::dtype, [&] { (void)array({1}, {1}, DType::i64).require_grad(); });
}

TEST(Backward, ASecondCallNeedsRetain) {
  const Array x = leaf({1, 2});
  const Array loss = sum(exp(x) * x);
  const Gradients first = backward(loss, {.retain = true});
  const Gradients second = backward(loss);
  EXPECT_EQ(first.get(x).to_doubles(), second.get(x).to_doubles());
  expect_error(ErrorCode::invalid_argument, [&] { backward(loss); });
  const Array linear = sum(x);
  backward(linear);
  expect_error(ErrorCode::invalid_argument, [&] { backward(linear); });
}

TEST(Backward, ReleasesSavedValues) {
  const Array x = leaf({1, 2});
  const Array loss = sum(exp(x));
  const GradRecord* record = grad_of(loss)->inputs[0].parent;
  EXPECT_TRUE(record->output.defined());
  backward(loss);
  EXPECT_FALSE(record->output.defined());
}

TEST(Backward, KeepsOnlyTheFactorThatIsRead) {
  const Array x = leaf({1, 2});
  const Array constant = array({3, 4}, {2});
  const Array y = x * constant;
  EXPECT_FALSE(grad_of(y)->inputs[0].saved.defined());
  EXPECT_TRUE(grad_of(y)->inputs[1].saved.defined());
}

TEST(Backward, RecordsAreRecycledEmpty) {
  const Array x = leaf({1, 2});
  const std::vector<Array> at = {x};
  const GradRecord* used = nullptr;
  {
    const Array y = checkpoint([](std::span<const Array> in) { return exp(in[0]); })(at);
    used = grad_of(y);
    backward(sum(y));
  }
  std::vector<Array> fresh;
  while (fresh.empty() || (grad_of(fresh.back()) != used && fresh.size() < 10000)) {
    fresh.push_back(x * 2.0);
  }
  ASSERT_EQ(grad_of(fresh.back()), used);
  EXPECT_EQ(used->readers.load(), 0u);
  EXPECT_FALSE(used->replay);
  EXPECT_FALSE(used->output.defined());
  ASSERT_EQ(used->inputs.size(), 2u);
  EXPECT_EQ(used->inputs[0].parent, grad_of(x));
  EXPECT_EQ(used->inputs[1].parent, nullptr);
  EXPECT_GT(used->sequence, grad_of(fresh.front())->sequence - 1);
}

TEST(Backward, ALeafItself) {
  const Array x = array({5}, {}).require_grad();
  expect_values(backward(x).get(x), {}, {1});
}

TEST(Backward, LongChains) {
  const Array x = array({1}, {}, DType::f64).require_grad();
  Array y = x;
  for (int i = 0; i < 20000; ++i) y = y * 1.0001 + 0.0;
  const double expected = std::pow(1.0001, 20000);
  EXPECT_NEAR(backward(y).get(x).item(), expected, 1e-9 * expected);
}

TEST(Backward, GradientsFollowTheDtype) {
  const Array x = array({1, 2}, {2}, DType::bf16).require_grad();
  const Array y = cast(x, DType::f32);
  const Array gradient = backward(sum(y * y)).get(x);
  EXPECT_EQ(gradient.dtype(), DType::bf16);
  expect_values(gradient, {2}, {2, 4});
}

TEST(Gradient, TiesShare) {
  const Array x = leaf({3, 1, 3});
  expect_values(backward(max(x)).get(x), {3}, {0.5, 0, 0.5});
  expect_values(backward(sum(maximum(x, 3.0))).get(x), {3}, {0.5, 0, 0.5});
  expect_values(backward(sum(relu(x - 3.0))).get(x), {3}, {0, 0, 0});
  const Array a = leaf({1, 2});
  const Array b = leaf({1, 3});
  const Gradients gradients = backward(sum(minimum(a, b)));
  expect_values(gradients.get(a), {2}, {0.5, 1});
  expect_values(gradients.get(b), {2}, {0.5, 0});
}

TEST(Gradient, ClampBounds) {
  const Array x = leaf({-2, 0, 2, 1});
  const Array low = array({-1}, {}).require_grad();
  const Array high = array({1}, {}).require_grad();
  const Gradients gradients = backward(sum(clamp(x, low, high)));
  expect_values(gradients.get(x), {4}, {0, 1, 0, 1});
  expect_values(gradients.get(low), {}, {1});
  expect_values(gradients.get(high), {}, {1});
}

TEST(Gradient, PowersAtZero) {
  const Array x = leaf({0, 2, 0});
  const Array e = array({0, 3, 2}, {3}).require_grad();
  const Gradients gradients = backward(sum(pow(x, e)));
  expect_values(gradients.get(x), {3}, {0, 12, 0});
  expect_values(gradients.get(e), {3}, {0, 8 * std::log(2.0), 0});
}

TEST(Gradient, ProductsWithZeros) {
  const Array x = array({2, 0, 3, 0, 0, 5, 1, 2, 3}, {3, 3}).require_grad();
  expect_values(backward(sum(prod(x, {1}))).get(x), {3, 3}, {0, 6, 0, 0, 0, 0, 6, 3, 2});
}

TEST(Gradient, StepFunctionsGiveZeros) {
  const Array x = leaf({0.3, -1.6});
  for (const auto& f : {sign, floor, ceil, round, trunc}) {
    expect_values(backward(sum(f(x))).get(x), {2}, {0, 0});
  }
}

TEST(Gradient, ViewsOfViews) {
  const Array x = check::random_array({4, 6});
  check::check_gradients(
      [](std::span<const Array> in) {
        const Array view = slice(transpose(in[0]), {{1, 6, -2}, {0, 3}});
        return square(reshape(flip(view, {1}), {9})) * dynamic_slice(flatten(in[0]), {3}, {9});
      },
      {x});
  check::check_gradients(
      [](std::span<const Array> in) {
        const Array rows = cat({in[0], expand(in[1], {2, 6}), in[0]}, 0);
        return mul(rows, narrow(repeat(in[0], {3, 1}), 0, 1, 10));
      },
      {x, check::random_array({6}, DType::f64, -1, 1, 3)});
}

TEST(HigherOrder, Polynomials) {
  const Function cube = [](const Array& x) { return sum(x * x * x); };
  const Array x = array({2}, {1});
  expect_values(grad(cube)(x), {1}, {12});
  expect_values(grad(Function([&](const Array& y) { return sum(grad(cube)(y)); }))(x), {1}, {12});
  const Function third = [&](const Array& y) {
    return sum(grad(Function([&](const Array& z) { return sum(grad(cube)(z)); }))(y));
  };
  expect_values(grad(third)(x), {1}, {6});
}

TEST(HigherOrder, CreateGraph) {
  const Array x = leaf({0.5, 1.5});
  const Array gradient = backward(sum(sin(x)), {.create_graph = true}).get(x);
  EXPECT_TRUE(gradient.is_require_grad());
  expect_values(backward(sum(gradient)).get(x), {2}, {-std::sin(0.5), -std::sin(1.5)});
}

TEST(HigherOrder, GuardedDenominatorsHaveGradientsAtZero) {
  const auto gradient = [](bool guarded) {
    const Array x = zeros({1}, DType::f64).require_grad();
    const Array is_zero = equal(x, 0.0);
    const Array by = guarded ? where(is_zero, 1.0, x) : x;
    const Array y = where(is_zero, 0.0, div(sin(x), by));
    return backward(sum(y)).get(x).to_doubles()[0];
  };
  EXPECT_TRUE(std::isnan(gradient(false)));
  EXPECT_EQ(gradient(true), 0);
}

TEST(HigherOrder, SecondGradientsOfEveryCurvedFunction) {
  const Array x = array(check::random_values(6, 0.3, 1.4), {2, 3});
  const auto functions = {square, sqrt, rsqrt, recip, exp,   expm1, log,  log1p, tanh, sigmoid, erf,
                          sin,    cos,  silu,  log2,  log10, exp2,  sinh, cosh,  atan, asinh};
  int index = 0;
  for (const auto& f : functions) {
    SCOPED_TRACE(index++);
    check::check_second_gradients([f](std::span<const Array> in) { return f(in[0]); }, {x});
  }
  for (const bool approximate : {false, true}) {
    check::check_second_gradients(
        [approximate](std::span<const Array> in) { return gelu(in[0], approximate); }, {x});
  }
  const Array y = array(check::random_values(3, 0.5, 1.5, 9), {3});
  for (const auto& f : {mul, div, pow, atan2, hypot}) {
    check::check_second_gradients([f](std::span<const Array> in) { return f(in[0], in[1]); },
                                  {x, y});
  }
  for (const auto& f : {asin, acos, atanh}) {
    check::check_second_gradients([f](std::span<const Array> in) { return f(in[0] * 0.6); }, {x});
  }
  check::check_second_gradients([](std::span<const Array> in) { return acosh(in[0] + 1.0); }, {x});
  check::check_second_gradients([](std::span<const Array> in) { return prod(in[0], {1}); }, {x});
  check::check_second_gradients([](std::span<const Array> in) { return square(max(in[0], {0})); },
                                {x});
  check::check_second_gradients(
      [](std::span<const Array> in) {
        return square(cat({flip(transpose(in[0]), {0}), reshape(in[0], {3, 2})}, 1));
      },
      {x});
}

TEST(Functional, ManyArguments) {
  const auto f = value_and_grad(FunctionOfMany(
      [](std::span<const Array> in) { return sum(in[0] * in[1]) + sum(square(in[0])); }));
  const std::vector<Array> at = {array({1, 2}, {2}), array({3, 4}, {2}), array({5}, {1})};
  const auto [value, gradients] = f(at);
  EXPECT_EQ(value.item(), 16);
  EXPECT_FALSE(value.is_require_grad());
  expect_values(gradients[0], {2}, {5, 8});
  expect_values(gradients[1], {2}, {1, 2});
  expect_values(gradients[2], {1}, {0});
  EXPECT_FALSE(gradients[0].is_require_grad());
}

TEST(Functional, WorksUnderNoGradAndWithTheSameArgumentTwice) {
  const NoGrad untracked;
  const Array x = array({3}, {1});
  const auto f = grad(FunctionOfMany([](std::span<const Array> in) { return sum(in[0] * in[1]); }));
  const std::vector<Array> at = {x, x};
  const std::vector<Array> gradients = f(at);
  expect_values(gradients[0], {1}, {3});
  expect_values(gradients[1], {1}, {3});
}

TEST(Functional, LeavesCapturedGraphsAlone) {
  const Array w = leaf({2, 3});
  const Array hidden = exp(w);
  const Array x = array({1, 1}, {2});
  const Array gradient = grad(Function([&](const Array& y) { return sum(y * y * hidden); }))(x);
  expect_values(gradient, {2}, {2 * std::exp(2.0), 2 * std::exp(3.0)});
  // The gradient depends on w, through a graph that is still whole.
  expect_values(backward(sum(gradient)).get(w), {2}, {2 * std::exp(2.0), 2 * std::exp(3.0)});
  const Array again = leaf({1});
  const Array loss = sum(exp(again) * 2.0);
  (void)grad(Function([&](const Array& y) { return sum(y * loss); }))(x);
  expect_values(backward(loss).get(again), {1}, {2 * std::exp(1.0)});
}

TEST(Checkpoint, GivesTheSameGradients) {
  const Array w = leaf({0.5, -1, 2});
  int calls = 0;
  const FunctionOfMany block = [&](std::span<const Array> in) {
    ++calls;
    return tanh(in[0] * w) * sigmoid(in[0]);
  };
  const Array x = leaf({1, 2, 3});
  const std::vector<Array> at = {square(x)};
  const Gradients plain = backward(sum(block(at)));
  const std::vector<Array> once_more = {square(x)};
  const Gradients recomputed = backward(sum(checkpoint(block)(once_more)));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(plain.get(x).to_doubles(), recomputed.get(x).to_doubles());
  EXPECT_EQ(plain.get(w).to_doubles(), recomputed.get(w).to_doubles());
}

TEST(Checkpoint, KeepsOnlyItsArguments) {
  const Array x = leaf({1, 2, 3});
  const std::vector<Array> at = {x};
  const Array y = checkpoint([](std::span<const Array> in) { return exp(exp(in[0])); })(at);
  ASSERT_EQ(grad_of(y)->inputs.size(), 1u);
  EXPECT_EQ(node_of(grad_of(y)->inputs[0].saved), node_of(x));
  EXPECT_EQ(grad_of(y)->inputs[0].parent, grad_of(x));
}

TEST(Checkpoint, RepeatsRandomNumbersAndNests) {
  seed(7);
  const Array x = leaf({1, 2, 3, 4});
  const std::vector<Array> at = {x};
  Array mask;
  const FunctionOfMany noisy = [&](std::span<const Array> in) {
    mask = random_uniform({4}, 0, 1, DType::f64);
    return exp(in[0] * mask);
  };
  const Array y = checkpoint([&](std::span<const Array> in) {
    const std::vector<Array> inner = {in[0] * 2.0};
    return checkpoint(noisy)(inner) + in[0];
  })(at);
  const Values drawn = mask.to_doubles();
  const Generator before = generator();
  const Values gradient = backward(sum(y)).get(x).to_doubles();
  EXPECT_EQ(before, generator());
  for (std::size_t i = 0; i < 4; ++i) {
    const double at_i = static_cast<double>(i + 1);
    EXPECT_NEAR(gradient[i], 2 * drawn[i] * std::exp(2 * drawn[i] * at_i) + 1, 1e-9);
  }
}

// What the function captures is held by nobody else, and is let go while the walk is still to come
// to it.
TEST(Checkpoint, CapturesWhatIsTracked) {
  const Array x = leaf({1, 2, 3});
  for (const bool retain : {false, true}) {
    const Array y = [&] {
      const Array inner = square(x);
      const std::vector<Array> at = {x * 1.0};
      return checkpoint([inner](std::span<const Array> in) { return exp(in[0]) * inner; })(at);
    }();
    const Array loss = sum(y);
    for (int round = 0; round < (retain ? 2 : 1); ++round) {
      const Values gradient = backward(loss, {.retain = retain}).get(x).to_doubles();
      for (std::size_t i = 0; i < 3; ++i) {
        const double at_i = static_cast<double>(i + 1);
        EXPECT_NEAR(gradient[i], std::exp(at_i) * (at_i * at_i + 2 * at_i), 1e-9);
      }
    }
  }
}

TEST(Checkpoint, SecondOrder) {
  const Function f = [](const Array& x) {
    const std::vector<Array> at = {x};
    return sum(checkpoint([](std::span<const Array> in) { return exp(square(in[0])); })(at));
  };
  const Function first = [&](const Array& x) { return sum(grad(f)(x)); };
  const double x = 0.7;
  EXPECT_NEAR(grad(first)(array({x}, {1})).item(), (2 + 4 * x * x) * std::exp(x * x), 1e-9);
}

TEST(Gradients, SetTakeAndIds) {
  const Array x = leaf({1});
  const Array y = x * 2.0;
  EXPECT_NE(gradient_id(x), 0u);
  EXPECT_EQ(gradient_id(y), 0u);
  Gradients gradients = backward(sum(y));
  gradients.set(x, gradients.get(x) * 10.0);
  expect_values(gradients.take(x), {1}, {20});
  EXPECT_FALSE(gradients.has(x));
  expect_error(ErrorCode::invalid_argument, [&] { gradients.set(y, y); });
}

}  // namespace
}  // namespace hearth
