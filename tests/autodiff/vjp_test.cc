// Gradients of results other than losses: what a backend calls whose rules are asked for one by
// one.
#include <cmath>

#include "check.h"
#include "hearth/grad.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using check::array;
using check::expect_error;
using check::expect_values;
using check::random_values;
using check::Values;

Array random_array(const Shape& shape, std::uint64_t seed) {
  return array(random_values(element_count(shape), -1, 1, seed), shape);
}

// The same by a loss.
Array by_loss(const Function& f, const Array& x, const Array& grad) {
  const Array leaf = x.require_grad();
  return backward(sum(mul(f(leaf), grad))).at(leaf);
}

TEST(Vjp, IsTheGradientOfALossOfTheResult) {
  const Array x = random_array({2, 3, 8, 8}, 1), w = random_array({4, 3, 3, 3}, 2);
  const ConvOptions options = {.stride = {2}, .padding = {1}};
  const FunctionOfMany of_both = [&](std::span<const Array> in) {
    return conv(in[0], in[1], Array(), options);
  };
  const Array grad = random_array({2, 4, 4, 4}, 3);
  const std::vector<Array> got = vjp(of_both, std::vector<Array>{x, w}, grad);
  const auto of_x = [&](const Array& in) { return conv(in, w, Array(), options); };
  const auto of_w = [&](const Array& in) { return conv(x, in, Array(), options); };
  expect_values(got[0], x.shape(), by_loss(of_x, x, grad).to_doubles());
  expect_values(got[1], w.shape(), by_loss(of_w, w, grad).to_doubles());
}

TEST(Vjp, RunsNothingThatNoRuleReads) {
  const Array x = random_array({64, 64}, 1).eval(), grad = random_array({64, 64}, 2).eval();
  const Array w = random_array({64, 64}, 3).eval();
  submit();
  const std::int64_t before = statistics().dispatches;
  const Array got = vjp([&](const Array& in) { return matmul(in, w); }, x, grad);
  got.eval();
  EXPECT_EQ(statistics().dispatches - before, 1) << "the product itself ran too";
  expect_values(got, {64, 64}, matmul(grad, transpose(w)).to_doubles());
}

TEST(Vjp, IsExactAndZeroWhereNothingDepends) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const Array x = array({-1, 0, 2}, {3}, dtype), grad = array({0.5, 3, -0.25}, {3}, dtype);
    const Array got = vjp([](const Array& in) { return relu(in); }, x, grad);
    EXPECT_EQ(got.dtype(), dtype);
    expect_values(got, {3}, {0, 0, -0.25});
  }
  const Array x = array({1, 2}, {2});
  expect_values(vjp([](const Array&) { return array({1, 2}, {2}); }, x, x), {2}, {0, 0});
}

TEST(Vjp, CanBeDifferentiated) {
  const Array x = array({0.5, -1.5}, {2}), grad = array({2, 3}, {2});
  const Array second = hearth::grad([&](const Array& in) {
    return sum(vjp([](const Array& y) { return mul(mul(y, y), y); }, in, grad));
  })(x);
  expect_values(second, {2}, {6 * 0.5 * 2, 6 * -1.5 * 3});
}

TEST(Vjp, SaysWhatDoesNotFit) {
  const auto twice = [](const Array& in) { return add(in, in); };
  const Array x = array({1, 2}, {2}, DType::f32);
  expect_error(ErrorCode::shape, [&] { (void)vjp(twice, x, array({1}, {1}, DType::f32)); });
  expect_error(ErrorCode::dtype, [&] { (void)vjp(twice, x, array({1, 2}, {2}, DType::f64)); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)vjp(twice, x, Array()); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)vjp([](const Array&) { return Array(); }, x, x); });
  expect_error(ErrorCode::dtype,
               [&] { (void)vjp([](const Array& in) { return greater(in, 0.0); }, x, x); });
}

// ---- Rules that Burn asks for by themselves

TEST(ExplicitGradients, OfMaxPoolFollowTheIndicesThatAreGiven) {
  const Array x = random_array({2, 3, 6, 7}, 4);
  const PoolOptions options = {.stride = {2}, .padding = {1}};
  const auto [values, indices] = max_pool_with_indices(x, {3}, options);
  const Array grad = random_array(values.shape(), 5);
  const auto pool = [&](const Array& in) { return max_pool(in, {3}, options); };
  const Values want = vjp(pool, x, grad).to_doubles();
  for (const DType dtype : {DType::i64, DType::i32}) {
    expect_values(max_pool_backward(grad, cast(indices, dtype), {6, 7}, {3}, options), x.shape(),
                  want);
  }
  // Not where the largest lies: where the indices say, here at the least.
  const Array least = std::get<1>(max_pool_with_indices(neg(x), {3}, options));
  const auto least_pool = [&](const Array& in) { return neg(max_pool(neg(in), {3}, options)); };
  expect_values(max_pool_backward(grad, least, {6, 7}, {3}, options), x.shape(),
                vjp(least_pool, x, grad).to_doubles());
}

TEST(ExplicitGradients, OfMaxPoolLeaveOutWindowsWithoutElements) {
  const PoolOptions options = {.stride = {2}, .padding = {1}, .ceil_mode = true};
  const Array indices = Array::from_data(std::vector<std::int64_t>{0, 2, -1}, {1, 1, 3});
  expect_values(max_pool_backward(array({1, 2, 4}, {1, 1, 3}), indices, {3}, {2}, options),
                {1, 1, 3}, {1, 0, 2});
}

TEST(ExplicitGradients, OfMaxPoolAddNothingForIndicesOfOtherWindows) {
  // Windows [0, 2], [2, 4] and [4, 6] with gaps at 1, 3 and 5.
  const PoolOptions options = {.stride = {2}, .dilation = {2}};
  const Array grad = array({1, 2, 4}, {1, 1, 3});
  const auto at = [&](const std::vector<std::int64_t>& indices) {
    const Array places = Array::from_data(indices, {1, 1, 3});
    return max_pool_backward(grad, places, {7}, {2}, options).to_doubles();
  };
  EXPECT_EQ(at({2, 2, 6}), (Values{0, 0, 3, 0, 0, 0, 4}));
  EXPECT_EQ(at({4, 3, 4}), (Values{0, 0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(at({-2, INT64_MAX, 7}), Values(7, 0));
  // Of rows: index 3 is the first of the second, beside none of the first's last.
  const Array rows = Array::from_data(std::vector<std::int64_t>{0, 3, 3, 2}, {1, 1, 2, 2});
  expect_values(
      max_pool_backward(array({1, 2, 4, 8}, {1, 1, 2, 2}), rows, {3, 3}, {2}, {.stride = {1}}),
      {1, 1, 3, 3}, {1, 0, 0, 4, 0, 0, 0, 0, 0});
}

TEST(ExplicitGradients, OfATransposedConvolutionBeyondItsStride) {
  const Array x = random_array({1, 2, 4}, 6), w = random_array({2, 3, 3}, 7);
  const ConvTransposeOptions options = {.stride = {2}, .output_padding = {3}};
  const auto f = [&](const Array& in) { return conv_transpose(in, w, Array(), options); };
  const Array grad = random_array(f(x).shape(), 8);
  const Array back = conv(grad, w, Array(), {.stride = {2}});
  expect_values(narrow(back, 2, 0, 4), x.shape(), vjp(f, x, grad).to_doubles());
}

TEST(AttentionWithLse, GivesTheLogarithmsOfTheSums) {
  const Array q = random_array({1, 2, 3, 4}, 1), k = random_array({1, 2, 5, 4}, 2);
  const Array v = random_array({1, 2, 5, 4}, 3);
  const auto [out, lse] = attention_with_lse(q, k, v);
  expect_values(out, {1, 2, 3, 4}, attention(q, k, v).to_doubles());
  const Array scores = mul(matmul(q, transpose(k)), 0.5);
  expect_values(lse, {1, 2, 3}, logsumexp(scores, 3).to_doubles());
  const Array hidden = ones({1, 1, 3, 5}, DType::bool_);
  expect_values(attention_with_lse(q, k, v, {.mask = hidden}).second, {1, 2, 3}, Values(6, 0));
}

}  // namespace
}  // namespace hearth
