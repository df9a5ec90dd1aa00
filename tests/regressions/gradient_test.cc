// Gradients that were once wrong.
#include <gtest/gtest.h>

#include "check.h"
#include "hearth/grad.h"
#include "hearth/indexing.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::array;
using check::expect_close;
using check::expect_values;
using check::ints;
using check::Values;

// Rules that combined numbers with numbers got f32, which then met arrays of other dtypes.
TEST(Gradient, NumbersBesideArraysOfEveryFloatDtype) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Array x = array({1, 2, 4}, {3}, dtype).require_grad();
    expect_values(backward(sum(pow(x, 3.0))).get(x), {3}, {3, 12, 48});
    const double close = dtype == DType::bf16 ? 2e-2 : 2e-3;
    expect_close(backward(sum(pow(x, 0.5))).get(x), {0.5, 0.35355339, 0.25}, close);
    expect_close(backward(sum(pow(2.0, x))).get(x), {1.38629436, 2.77258872, 11.0903549}, close);
    expect_values(backward(sum(clamp(3.0, x, 5.0))).get(x), {3}, {0, 0, 1});
    expect_values(backward(sum(clamp(3.0, 1.0, x))).get(x), {3}, {1, 1, 0});
  }
}

// Two zeros in a slice made every second derivative 0.
TEST(Gradient, OfProductsWithZerosToAnyOrder) {
  const auto second = [](const Array& x) {
    return backward(sum(backward(prod(x), {.create_graph = true}).get(x)), {.create_graph = true})
        .get(x);
  };
  const Array zeros_and_two = array({0, 0, 2}, {3}).require_grad();
  // The rows of the Hessian of x0 x1 x2, added.
  expect_values(second(zeros_and_two), {3}, {2, 2, 0});
  const Array third = array({0, 0, 0, 5}, {4}).require_grad();
  const Array by_pairs = second(third);
  expect_values(by_pairs, {4}, {0, 0, 0, 0});
  // Of each, two pairs of others leave the 5.
  expect_values(backward(sum(by_pairs)).get(third), {4}, {10, 10, 10, 0});
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{0, 2}, Dims{2, 1, 0}}) {
    Values values = check::random_values(2 * 3 * 5, 0.5, 1.5);
    for (const std::size_t i : {0u, 1u, 7u, 11u, 20u}) values[i] = 0;
    check::check_second_gradients([&](std::span<const Array> x) { return prod(x[0], axes, true); },
                                  {array(values, {2, 3, 5})});
  }
  EXPECT_EQ(second(array({}, {0}).require_grad()).size(), 0);
}

// clamp_min and clamp_max shared the gradient of a tie with the bound, clamp did not.
TEST(Gradient, ClampsAtTheirBounds) {
  const Array x = array({-1, 0, 1, 2}, {4}).require_grad();
  expect_values(backward(sum(clamp(x, 0.0, 1.0))).get(x), {4}, {0, 1, 1, 0});
  expect_values(backward(sum(clamp_min(x, 0.0))).get(x), {4}, {0, 1, 1, 1});
  expect_values(backward(sum(clamp_max(x, 1.0))).get(x), {4}, {1, 1, 1, 0});
}

// The quotient was one too many where a / b is rounded up to a whole number.
TEST(Gradient, OfRemaindersIsThatOfTheirValues) {
  const Array a = array({0.25, 1, -1, 1, 100.5}, {5});
  const Array b = array({0.001, 0.001, -0.001, -0.001, 7}, {5}).require_grad();
  // 1 is 999 times the f64 nearest to 0.001, and a bit less than that is left.
  expect_values(backward(sum(remainder(a, b))).get(b), {5}, {-249, -999, -999, 1000, -14});
  expect_values(backward(sum(fmod(a, b))).get(b), {5}, {-249, -999, -999, 999, -14});
  expect_values(backward(sum(remainder(0.25, b))).get(b), {5}, {-249, -249, 250, 250, 0});
  expect_values(backward(sum(fmod(0.25, b))).get(b), {5}, {-249, -249, 249, 249, 0});
}

// Numbers compared with numbers stood on the default device.
TEST(Gradient, NumbersBesideArraysOfOtherDevices) {
  const Array x = to_device(array({0, 1, 2, 4}, {4}), Device::named("hostile")).require_grad();
  const auto gradient = [&](const Array& y) { return backward(sum(y)).get(x); };
  expect_values(gradient(clamp(x, 1.0, 2.0)), {4}, {0, 1, 1, 0});
  expect_values(gradient(clamp(x, 2.0, 1.0)), {4}, {0, 0, 0, 0});
  expect_values(gradient(clamp(3.0, x, 5.0)), {4}, {0, 0, 0, 1});
  expect_values(gradient(clamp(3.0, 1.0, x)), {4}, {0, 1, 1, 0});
  expect_values(gradient(clamp_min(x, 1.0)), {4}, {0, 1, 1, 1});
  expect_values(gradient(pow(x, 3.0)), {4}, {0, 3, 12, 48});
  expect_values(gradient(pow(x, 0.0)), {4}, {0, 0, 0, 0});
  const double log2 = std::log(2.0);
  expect_close(gradient(pow(2.0, x)), {log2, 2 * log2, 4 * log2, 16 * log2}, 1e-12);
  expect_values(gradient(pow(0.0, x)), {4}, {0, 0, 0, 0});
}

// Results that no element of an input decides were constants: backward() found nothing to
// differentiate, or no gradient of one input.
TEST(Gradient, OfEmptyInputsIsEmpty) {
  using Arrays = std::span<const Array>;
  struct Row {
    const char* name;
    std::vector<Shape> shapes;
    std::function<Array(Arrays)> f;
  };
  const Array none = ints({}, {0});
  const auto conv = [](Arrays x) { return deform_conv2d(x[0], x[1], x[2], x[3]); };
  const Row rows[] = {
      {"pad", {{0, 2}}, [](Arrays x) { return pad(x[0], {1, 0}, {2, 1}); }},
      {"slice_assign",
       {{3, 2}, {0, 2}},
       [](Arrays x) { return slice_assign(x[0], {{1, 1}}, x[1]); }},
      {"set",
       {{3, 2}, {0, 2}},
       [](Arrays x) { return tensor_detail::set(x[0], std::span<const std::int64_t>(), x[1]); }},
      {"det", {{2, 0, 0}}, [](Arrays x) { return det(x[0]); }},
      {"slogdet, sign", {{2, 0, 0}}, [](Arrays x) { return slogdet(x[0]).first; }},
      {"slogdet", {{2, 0, 0}}, [](Arrays x) { return slogdet(x[0]).second; }},
      {"matrix_power", {{2, 3, 3}}, [](Arrays x) { return matrix_power(x[0], 0); }},
      {"vector_norm", {{3}}, [](Arrays x) { return vector_norm(x[0], 0); }},
      {"multi_margin_loss",
       {{2, 0}, {0}},
       [](Arrays x) {
         return multi_margin_loss(x[0], ints({0, 0}, {2}), 1, 1, x[1], Reduction::none);
       }},
      {"multi_margin_loss",
       {{0, 3}, {3}},
       [&](Arrays x) { return multi_margin_loss(x[0], none, 1, 1, x[1], Reduction::sum); }},
      {"deform_conv2d", {{0, 1, 3, 3}, {0, 8, 2, 2}, {1, 1, 2, 2}, {0, 4, 2, 2}}, conv},
      {"deform_conv2d", {{1, 0, 3, 3}, {1, 8, 2, 2}, {2, 0, 2, 2}, {1, 4, 2, 2}}, conv},
  };
  for (const Row& row : rows) {
    std::vector<Array> leaves;
    for (const Shape& shape : row.shapes)
      leaves.push_back(check::random_array(shape).require_grad());
    const Gradients gradients = backward(sum(row.f(leaves)));
    for (const Array& leaf : leaves) {
      const Array gradient = gradients.get(leaf);
      ASSERT_TRUE(gradient.defined()) << row.name << to_string(leaf.shape());
      EXPECT_EQ(gradient.shape(), leaf.shape()) << row.name;
      // Only what slice_assign and set write into is part of the result.
      const double each = row.shapes[0] == Shape{3, 2} ? 1 : 0;
      expect_values(gradient, leaf.shape(), Values(static_cast<std::size_t>(leaf.size()), each),
                    row.name);
    }
  }
}

// The slope of |x|^p at 0 is infinite for p < 1, and met an x of no sign.
TEST(Gradient, OfNormsAtZero) {
  const auto gradient = [](const Values& values, double p) {
    const Array x = array(values, {3}).require_grad();
    return backward(vector_norm(x, p)).get(x);
  };
  expect_close(gradient({0, 1, -4}, 0.5), {0, 3, -1.5}, 1e-12);
  expect_close(gradient({0, 1, -4}, 1.5), {0, 1 / std::cbrt(9), -2 / std::cbrt(9)}, 1e-12);
  const double share = 1 / std::pow(std::cbrt(65), 2);
  expect_close(gradient({0, 1, -4}, 3), {0, share, -16 * share}, 1e-12);
  // Where one element is 0, so is the norm of a negative power, whatever the others are.
  for (const double p : {-0.5, -1.0, -2.0}) expect_close(gradient({0, 1, -4}, p), {0, 0, 0}, 0);
  for (const double p :
       {0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, -2.0, check::kInf, -check::kInf}) {
    expect_close(gradient({0, 0, 0}, p), {0, 0, 0}, 0, "p = " + std::to_string(p));
  }
  const Array x = array({0, 1, -4}, {3}).require_grad();
  // n = (1 + 2)^2; of x_1 / n + x_2 / n by x_2: 1 / n - (x_1 + x_2) n' / n^2, n' = 3 sign / sqrt.
  expect_close(backward(sum(vector_normalize(x, 0.5))).get(x),
               {1.0 / 9, 1.0 / 9 + 3 * 3.0 / 81, 1.0 / 9 - 3 * 1.5 / 81}, 1e-12);
  const Array image = array({0, 0, 0, 4}, {1, 1, 4}).require_grad();
  expect_close(backward(sum(lp_pool(image, 0.5, {2}))).get(image), {0, 0, 0, 1}, 1e-12);
}

// Of a^b at b = 0: the slope by b of b a^(b - 1) is 1 / a, of either sign.
TEST(Gradient, OfPowersWithExponentZeroToSecondOrder) {
  const Array a = array({-2, 2, 4}, {3}).require_grad();
  const Array b = array({0, 0, 0}, {3}).require_grad();
  const auto first = [&](const Array& leaf) {
    return sum(backward(sum(pow(a, b)), {.create_graph = true}).get(leaf));
  };
  expect_values(backward(first(a)).get(b), {3}, {-0.5, 0.5, 0.25});
  expect_values(backward(first(b)).get(a), {3}, {-0.5, 0.5, 0.25});
  expect_values(backward(first(a)).get(a), {3}, {0, 0, 0});
  const Array base = array({0.5, 1.5, 3}, {3}), exponent = array({0, 1, 2}, {3});
  check::check_second_gradients([](std::span<const Array> x) { return pow(x[0], x[1]); },
                                {base, exponent});
  const Array zero = array({0}, {1}).require_grad(), power = array({0}, {1}).require_grad();
  expect_values(backward(sum(pow(zero, power))).get(zero), {1}, {0});
}

// Two zeros that go to one element made every second derivative 0.
TEST(Gradient, OfScatteredProductsWithZerosToAnyOrder) {
  const Array at = ints({1, 0, 1, 1, 0, 2}, {6});
  Values values = check::random_values(6 * 2, 0.5, 1.5);
  for (const std::size_t i : {0u, 1u, 4u, 6u, 8u}) values[i] = 0;
  const Array x = check::random_array({4, 2}, DType::f64, 0.5, 1.5, 5);
  const auto by_list = [&](std::span<const Array> in) {
    return select_assign(in[0], at, in[1], 0, IndexingUpdateOp::mul);
  };
  const auto by_element = [&](std::span<const Array> in) {
    const Array each = expand(reshape(at, {6, 1}), {6, 2});
    return scatter(in[0], each, in[1], 0, IndexingUpdateOp::mul);
  };
  const auto along_rows = [&](std::span<const Array> in) {
    const Array each = expand(reshape(at, {1, 6}), {2, 6});
    return scatter(transpose(in[0]), each, transpose(in[1]), 1, IndexingUpdateOp::mul);
  };
  for (const check::Many& f :
       {check::Many(by_list), check::Many(by_element), check::Many(along_rows)}) {
    check::check_gradients(f, {x, array(values, {6, 2})});
    check::check_second_gradients(f, {x, array(values, {6, 2})});
  }
  // One that is no number is no part of other elements' gradients.
  values[11] = check::kNan;
  const Array tracked = array(values, {6, 2}).require_grad();
  const Array in[] = {x, tracked};
  const Array gradient = backward(sum(by_list(in)), {.create_graph = true}).get(tracked);
  for (const double each : gradient.to_doubles()) EXPECT_FALSE(std::isnan(each));
}

}  // namespace
}  // namespace hearth
