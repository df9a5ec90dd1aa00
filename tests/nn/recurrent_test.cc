// Options of recurrent layers that PyTorch lacks, written out, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/nn.h"

namespace hearth {
namespace {

double largest_difference(const Array& a, const Array& b) {
  return a.shape() == b.shape() ? max(abs(a - b)).item() : INFINITY;
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// A layer of one unit whose weights are all `value`, without bias.
template <class Layer>
Layer of_one(double value, nn::RecurrentOptions options) {
  options.bias = false;
  options.initializer = nn::Initializer::constant(value);
  options.parameters.dtype = DType::f64;
  return Layer(1, 1, options);
}

Tensor<3> rows(const std::vector<double>& values) {
  return Tensor<3>(Array::from_data(values, {1, static_cast<std::int64_t>(values.size()), 1}));
}

TEST(Recurrent, ClipLimitsTheStateAfterEachRow) {
  const auto rnn = of_one<nn::Rnn>(1, {.clip = 0.5, .hidden_activation = nn::Activation::relu});
  EXPECT_EQ(rnn.forward(rows({0.25, 0.125, 2, -9})).output.array().to_doubles(),
            (std::vector<double>{0.25, 0.375, 0.5, 0}));
  const auto lstm = of_one<nn::Lstm>(1, {.clip = 0.1});
  const auto result = lstm.forward(rows({3}));
  EXPECT_EQ(result.state.cell.array().item(), 0.1);
  EXPECT_NEAR(result.output.array().item(), sigmoid_of(3) * std::tanh(0.1), 1e-12);
  const auto gru = of_one<nn::Gru>(1, {.clip = 0.1});
  EXPECT_EQ(gru.forward(rows({-3})).state.array().item(), -0.1);
}

TEST(Recurrent, InputForgetCouplesTheGates) {
  const auto lstm = of_one<nn::Lstm>(0.5, {.input_forget = true});
  const double h = 0.3, c = -0.7, in = sigmoid_of(0.5 * (2 + h));
  const double cell = (1 - in) * c + in * std::tanh(0.5 * (2 + h));
  const auto result = lstm.forward(
      rows({2}), {Tensor<2>(full({1, 1}, h, DType::f64)), Tensor<2>(full({1, 1}, c, DType::f64))});
  EXPECT_NEAR(result.state.cell.array().item(), cell, 1e-12);
  EXPECT_NEAR(result.state.hidden.array().item(), in * std::tanh(cell), 1e-12);
}

TEST(Recurrent, ResetBeforeTheProduct) {
  nn::RecurrentOptions options;
  options.reset_after = false;
  options.parameters.dtype = DType::f64;
  seed(9);
  const nn::Gru gru(1, 1, options);
  const auto number = [](const auto& of) { return of.array().to_doubles(); };
  const auto wi = number(gru.weight_ih), wh = number(gru.weight_hh), bi = number(gru.bias_ih),
             bh = number(gru.bias_hh);
  const double x = 0.8, h = -0.4;
  const double r = sigmoid_of(wi[0] * x + bi[0] + wh[0] * h + bh[0]);
  const double z = sigmoid_of(wi[1] * x + bi[1] + wh[1] * h + bh[1]);
  const double n = std::tanh(wi[2] * x + bi[2] + wh[2] * (r * h) + bh[2]);
  const auto result = gru.forward(rows({x}), Tensor<2>(full({1, 1}, h, DType::f64)));
  EXPECT_NEAR(result.state.array().item(), (1 - z) * n + z * h, 1e-12);
}

TEST(Recurrent, GateAndHiddenActivationsAreChosen) {
  const auto lstm = of_one<nn::Lstm>(1, {.gate_activation = nn::Activation::relu,
                                         .cell_activation = nn::Activation::relu,
                                         .hidden_activation = nn::Activation::relu});
  const auto result = lstm.forward(rows({2}));
  EXPECT_EQ(result.state.cell.array().item(), 4);
  EXPECT_EQ(result.output.array().item(), 8);
}

template <class Layer>
void expect_layouts_agree() {
  nn::RecurrentOptions options;
  options.parameters.dtype = DType::f64;
  const Layer layer(3, 4, options);
  const Array x = random_normal({2, 5, 3}, 0, 1, DType::f64);
  const auto forwards = layer.forward(Tensor<3>(x));
  Layer by_row = layer;
  by_row.options.batch_first = false;
  const auto swapped = by_row.forward(Tensor<3>(swap_axes(x, 0, 1)));
  EXPECT_EQ(largest_difference(swap_axes(swapped.output.array(), 0, 1), forwards.output.array()),
            0);
  // Backwards is forwards of the rows the other way round.
  Layer back = layer;
  back.options.reverse = true;
  const auto reversed = back.forward(Tensor<3>(flip(x, {1})));
  EXPECT_EQ(largest_difference(flip(reversed.output.array(), {1}), forwards.output.array()), 0);
  // In two parts, the state handed over.
  const auto first = layer.forward(Tensor<3>(narrow(x, 1, 0, 2)));
  const auto second = layer.forward(Tensor<3>(narrow(x, 1, 2, 3)), first.state);
  EXPECT_LT(largest_difference(cat({first.output.array(), second.output.array()}, 1),
                               forwards.output.array()),
            1e-14);
  EXPECT_EQ(layer.forward(Tensor<3>(zeros({2, 0, 3}, DType::f64))).output.array().shape(),
            Shape({2, 0, 4}));
  EXPECT_EQ(layer.forward(Tensor<3>(zeros({0, 5, 3}, DType::f64))).output.array().shape(),
            Shape({0, 5, 4}));
}

TEST(Recurrent, LayoutsDirectionsAndPartsAgree) {
  seed(4);
  expect_layouts_agree<nn::Rnn>();
  expect_layouts_agree<nn::Lstm>();
  expect_layouts_agree<nn::Gru>();
}

TEST(Recurrent, MixedPrecisionGivesF32Gradients) {
  const nn::BiLstm layer(3, 4);
  const auto x = Tensor<3>(random_normal({2, 3, 3}, 0, 1, DType::bf16));
  const auto result = layer.forward(x);
  EXPECT_EQ(result.output.array().dtype(), DType::bf16);
  const Gradients gradients = backward(sum(cast(result.output.array(), DType::f32)));
  EXPECT_EQ(gradients.get(layer.back.weight_hh.array()).dtype(), DType::f32);
}

TEST(Recurrent, EachGateIsDrawnByItself) {
  seed(2);
  const nn::Lstm layer(100, 50);
  const auto deviation = [](const Array& of) {
    return std::sqrt(sum(square(of)).item() / double(of.size()));
  };
  EXPECT_NEAR(deviation(layer.weight_ih.array()), std::sqrt(2.0 / 150), 0.005);
  EXPECT_NEAR(deviation(layer.weight_hh.array()), std::sqrt(2.0 / 100), 0.005);
}

TEST(Recurrent, RefusesByName) {
  const auto expect = [](ErrorCode code, const auto& call, const char* expected) {
    const std::string message = check::error_of(code, call);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  const nn::Lstm lstm(3, 4);
  const nn::Gru gru(3, 4);
  const auto x = Tensor<3>::ones({2, 5, 3});
  expect(
      ErrorCode::shape, [&] { (void)lstm.forward(Tensor<3>::ones({2, 5, 4})); },
      "lstm: input does not fit; got [2, 5, 4], expected [batch, rows, in]");
  expect(
      ErrorCode::shape, [&] { (void)gru.forward(x, Tensor<2>::ones({1, 4})); },
      "gru: state does not fit; got [1, 4], expected [2, 4]");
  expect(ErrorCode::shape, [&] { (void)nn::Rnn().forward(x); }, "rnn: input does not fit");
  expect(ErrorCode::invalid_argument, [] { nn::Gru(-1, 4); }, "gru: sizes out of range; got -1");
  expect(ErrorCode::invalid_argument, [] { nn::Rnn(1, INT64_MAX); }, "rnn: sizes out of range");
  expect(ErrorCode::invalid_argument, [] { nn::Lstm(1, 1, {.clip = NAN}); }, "lstm: clip");
  EXPECT_LOCATED(lstm.forward(Tensor<3>::ones({2, 5, 4})));
}

}  // namespace
}  // namespace hearth
