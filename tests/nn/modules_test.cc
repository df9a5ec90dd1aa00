// Small layers: activations, chains, noise, distances, positions, initializers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/nn.h"
#include "hearth/optim.h"

namespace hearth {
namespace {

double largest_difference(const Array& a, const Array& b) {
  return a.shape() == b.shape() ? max(abs(a - b)).item() : INFINITY;
}

void expect_refused(ErrorCode code, const std::function<void()>& call, const char* expected) {
  const std::string message = check::error_of(code, call);
  EXPECT_NE(message.find(expected), std::string::npos) << message;
}

template <class Layer>
void expect_is(const Layer& layer, const std::function<Array(const Array&)>& function) {
  const Array x =
      Array::from_data(std::vector<float>{-4, -0.6F, -0.3F, 0, 0.3F, 0.6F, 2, 7}, {2, 4});
  EXPECT_EQ(layer.forward(x).to_doubles(), function(x).to_doubles());
  EXPECT_EQ(layer.forward(Tensor<2>(x)).array().to_doubles(), function(x).to_doubles());
  EXPECT_EQ(parameter_count(layer), 0);
}

TEST(ActivationLayers, AreTheirFunctionsWithOptions) {
  expect_is(nn::Identity(), [](const Array& x) { return x; });
  expect_is(nn::Relu(), [](const Array& x) { return relu(x); });
  expect_is(nn::Relu6(), [](const Array& x) { return relu6(x); });
  expect_is(nn::LeakyRelu(0.5), [](const Array& x) { return leaky_relu(x, 0.5); });
  expect_is(nn::Gelu(), [](const Array& x) { return gelu(x); });
  expect_is(nn::Gelu(true), [](const Array& x) { return gelu(x, true); });
  expect_is(nn::Silu(), [](const Array& x) { return silu(x); });
  expect_is(nn::Mish(), [](const Array& x) { return mish(x); });
  expect_is(nn::Elu(2), [](const Array& x) { return elu(x, 2); });
  expect_is(nn::Celu(2), [](const Array& x) { return celu(x, 2); });
  expect_is(nn::Selu(), [](const Array& x) { return selu(x); });
  expect_is(nn::Sigmoid(), [](const Array& x) { return sigmoid(x); });
  expect_is(nn::LogSigmoid(), [](const Array& x) { return log_sigmoid(x); });
  expect_is(nn::HardSigmoid(0.3), [](const Array& x) { return hard_sigmoid(x, 0.3); });
  expect_is(nn::HardSwish(), [](const Array& x) { return hard_swish(x); });
  expect_is(nn::Softplus(2), [](const Array& x) { return softplus(x, 2); });
  expect_is(nn::Softsign(), [](const Array& x) { return softsign(x); });
  expect_is(nn::Tanh(), [](const Array& x) { return tanh(x); });
  expect_is(nn::Tanhshrink(), [](const Array& x) { return tanhshrink(x); });
  expect_is(nn::Hardtanh(-1, 0.4), [](const Array& x) { return hardtanh(x, -1, 0.4); });
  expect_is(nn::HardShrink(0.4), [](const Array& x) { return hard_shrink(x, 0.4); });
  expect_is(nn::SoftShrink(0.4), [](const Array& x) { return soft_shrink(x, 0.4); });
  expect_is(nn::Shrink(0.5, 0.1), [](const Array& x) { return shrink(x, 0.5, 0.1); });
  expect_is(nn::Threshold(0.4, 9), [](const Array& x) { return threshold(x, 0.4, 9); });
  expect_is(nn::ThresholdedRelu(), [](const Array& x) { return thresholded_relu(x); });
  expect_is(nn::Glu(0), [](const Array& x) { return glu(x, 0); });
  expect_is(nn::Softmax(0), [](const Array& x) { return softmax(x, 0); });
  expect_is(nn::LogSoftmax(), [](const Array& x) { return log_softmax(x); });
}

TEST(ActivationLayers, ByNameAreTheFunctions) {
  const Array x = Array::from_data(std::vector<float>{-2, -0.5F, 0, 0.5F, 2}, {5});
  for (int i = 0; i < 15; ++i) {
    const auto activation = static_cast<nn::Activation>(i);
    EXPECT_FALSE(nn::name(activation).empty());
    EXPECT_EQ(nn::activate(activation, x).shape(), x.shape());
  }
  EXPECT_EQ(nn::name(nn::Activation::softsign), "softsign");
  EXPECT_EQ(nn::activate(nn::Activation::softsign, x).to_doubles(), softsign(x).to_doubles());
  EXPECT_EQ(nn::name(static_cast<nn::Activation>(25)), "");
  EXPECT_THROW((void)nn::activate(static_cast<nn::Activation>(25), x), Error);
}

TEST(ActivationLayers, ErrorsNameThemAndTheLine) {
  EXPECT_LOCATED(nn::Softplus(-1).forward(Tensor<1>::ones({2})));
  expect_refused(
      ErrorCode::invalid_argument, [] { (void)nn::Softplus(-1).forward(ones({2})); }, "softplus: ");
  expect_refused(
      ErrorCode::invalid_argument, [] { nn::PRelu(-1); }, "prelu: negative size; got -1");
  expect_refused(
      ErrorCode::invalid_argument, [] { nn::RRelu(0.5, 0.25); },
      "rrelu: slopes out of range; got 0.5 to 0.25");
  expect_refused(
      ErrorCode::invalid_argument, [] { nn::GaussianNoise(-1); },
      "gaussian_noise: deviation out of range; got -1");
  expect_refused(
      ErrorCode::shape, [] { (void)nn::SwiGlu(3, 2).forward(ones({2, 4})); }, "swiglu: ");
}

TEST(ActivationLayers, PReluLearnsItsSlopes) {
  nn::PRelu layer(3);
  const auto x = Tensor<2>{{-1, 2, -4}};
  EXPECT_EQ(layer.forward(x).array().to_doubles(), (std::vector<double>{-0.25, 2, -1}));
  const Gradients gradients = layer.forward(x).sum().backward();
  EXPECT_EQ(gradients.get(layer.weight.array()).to_doubles(), (std::vector<double>{-1, 0, -4}));
  EXPECT_EQ(nn::PRelu().weight.array().size(), 1);
}

TEST(ActivationLayers, RReluDrawsSlopesWhileTraining) {
  const nn::RRelu layer;
  const Array x = full({4000}, -1.0);
  const auto y = layer.forward(x).to_doubles();
  double total = 0;
  for (const double value : y) {
    EXPECT_LE(value, -0.125);
    EXPECT_GE(value, -1 / 3.0);
    total += value;
  }
  EXPECT_NEAR(total / 4000, -(0.125 + 1 / 3.0) / 2, 0.005);
  EXPECT_NEAR(layer.forward(x, false).to_doubles()[7], -(0.125 + 1 / 3.0) / 2, 1e-6);
  EXPECT_EQ(layer.forward(ones({3})).to_doubles(), (std::vector<double>{1, 1, 1}));
}

TEST(ActivationLayers, SwiGluGates) {
  const nn::SwiGlu layer(3, 2);
  EXPECT_EQ(state_dict(layer).size(), 2u) << "no bias by default";
  const Array x = random_normal({4, 3});
  const Array expected = silu(linear(x, layer.linear_inner.weight.array())) *
                         linear(x, layer.linear_outer.weight.array());
  EXPECT_EQ(largest_difference(layer.forward(x), expected), 0);
}

TEST(Noise, IsThereWhileTrainingOnly) {
  const nn::GaussianNoise noise(0.5);
  const Array x = full({10000}, 3.0);
  const Array difference = noise.forward(x) - x;
  EXPECT_NEAR(std::sqrt(mean(square(difference)).item()), 0.5, 0.02);
  EXPECT_NEAR(mean(difference).item(), 0, 0.02);
  EXPECT_EQ(noise.forward(x, false).identity(), x.identity());
}

TEST(Distances, FollowTheirFormulas) {
  const Tensor<2> a{{3, 4}, {1, 0}}, b{{3, 4}, {0, 2}};
  EXPECT_EQ(nn::CosineSimilarity().forward(a, b).array().to_doubles(), (std::vector<double>{1, 0}));
  const auto distance = nn::PairwiseDistance(1, 0).forward(a, b).array().to_doubles();
  EXPECT_EQ(distance, (std::vector<double>{0, 3}));
  EXPECT_NEAR(nn::PairwiseDistance().forward(a, b).array().to_doubles()[0], 1e-6 * std::sqrt(2.0),
              1e-9);
  EXPECT_LOCATED(nn::PairwiseDistance().forward(a, Tensor<2>::ones({3, 3})));
}

TEST(Sequential, TrainsWhatTrainingChanges) {
  nn::Sequential model(nn::Conv2d(1, 2, 3), nn::BatchNorm(2), nn::Relu(), nn::MaxPool2d(2));
  const auto x = Tensor<4>(random_normal({4, 1, 6, 6}));
  EXPECT_EQ(model.forward(x).shape(), (Shape{4, 2, 2, 2}));
  const auto mean = model.get<1>().running_mean.array().to_doubles();
  EXPECT_NE(mean, (std::vector<double>{0, 0}));
  const auto& fixed = model;
  const auto evaluated = fixed.evaluate(x).array().to_doubles();
  EXPECT_EQ(model.forward(x, false).array().to_doubles(), evaluated);
  EXPECT_EQ(model.get<1>().running_mean.array().to_doubles(), mean);
}

TEST(Sequential, AppliesInOrderAndNamesByIndex) {
  seed(6);
  nn::Sequential model(nn::Linear(2, 8), nn::Relu(), nn::Dropout{0.5},
                       nn::Sequential(nn::Linear(8, 3, {.bias = false}), nn::Tanh()));
  std::vector<std::string> names;
  visit(model, [&](const std::string& name, const Array&) { names.push_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "3.0.weight"}));
  const auto x = Tensor<2>(random_normal({5, 2}));
  const Tensor<2> y = model.forward(x, false);
  const Array hidden = relu(model.get<0>().forward(x.array()));
  EXPECT_EQ(largest_difference(y.array(), tanh(model.get<3>().get<0>().forward(hidden))), 0);
  EXPECT_GT(largest_difference(model.forward(x).array(), y.array()), 0) << "dropped";
  EXPECT_EQ(model.forward(x.array(), false).shape(), Shape({5, 3}));
  optim::Sgd().step(model, model.forward(x).square().sum().backward(), 0.1);
  const Tensor<1, Int> tokens{1, 2};
  const nn::Sequential typed(nn::Embedding(4, 2), nn::Linear(2, 1));
  const Tensor<2> scores = typed.forward(tokens);
  EXPECT_EQ(scores.array().shape(), Shape({2, 1}));
  EXPECT_LOCATED(model.forward(Tensor<2>::ones({5, 3})));
  EXPECT_EQ(nn::Sequential<>().forward(x).array().identity(), x.array().identity());
}

TEST(Sequential, SaysWhichLayerFailed) {
  const auto ends_in = [](const auto& call, const std::string& expected) {
    const std::string text = check::error_of(call);
    EXPECT_NE(text.find(expected + " at " + __FILE__ ":"), std::string::npos) << text;
    EXPECT_EQ(text.find(".h:"), std::string::npos) << text;
  };
  const nn::Sequential images(nn::Conv2d(1, 2, 3), nn::Relu(), nn::Conv2d(3, 2, 3));
  const auto x = Tensor<4>::ones({1, 1, 6, 6});
  EXPECT_LOCATED(images.forward(x));
  EXPECT_LOCATED(images.evaluate(x));
  EXPECT_LOCATED(images.forward(x.array()));
  ends_in([&] { (void)images.forward(x); }, ", in layer 2");
  ends_in([&] { (void)images.evaluate(x); }, ", in layer 2");
  const nn::Sequential noisy(nn::Dropout{.probability = 2}, nn::Interpolate2d());
  ends_in([&] { (void)noisy.forward(x); }, ", in layer 0");
  const nn::Sequential sized(nn::Identity(), nn::Interpolate2d{});
  ends_in([&] { (void)sized.forward(x); }, ", in layer 1");
  const nn::Sequential outer(nn::Relu(), nn::Sequential(nn::Linear(6, 2), nn::Linear(3, 1)));
  ends_in([&] { (void)outer.forward(x); }, ", in layer 1, in layer 1");
}

// Takes a number where others take `training`.
TEST(Sequential, TakesTrainingForNothingElse) {
  const nn::PositionalEncoding positions(6, 4);
  const nn::Sequential model{positions};
  const auto x = Tensor<3>::ones({1, 4, 6});
  EXPECT_EQ(model.forward(x).array().to_doubles(), positions.forward(x).array().to_doubles());
}

TEST(Sequential, LeadsFromImagesToClasses) {
  const nn::Sequential model(nn::Conv2d(1, 4, 3), nn::Relu(), nn::AdaptiveMaxPool2d{{2, 3}},
                             nn::Flatten(), nn::Linear(24, 5));
  const Tensor<2> scores = model.forward(Tensor<4>::ones({3, 1, 8, 8}));
  EXPECT_EQ(scores.shape(), (Shape{3, 5}));
  std::vector<std::string> names;
  visit(model, [&](const std::string& name, const Array&) { names.push_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "4.weight", "4.bias"}));
}

TEST(Flatten, KeepsTheAxesInFront) {
  const auto x = Tensor<4>(random_normal({2, 3, 4, 5}));
  const Tensor<2> rows = nn::Flatten().forward(x);
  EXPECT_EQ(rows.shape(), (Shape{2, 60}));
  EXPECT_EQ(rows.array().to_doubles(), x.array().to_doubles());
  const Tensor<3> kept = nn::Flatten<2>().forward(x);
  EXPECT_EQ(kept.shape(), (Shape{2, 3, 20}));
  EXPECT_EQ(nn::Flatten<0>().forward(x.array()).shape(), (Shape{120}));
  EXPECT_EQ(nn::Flatten().forward(zeros({2, 3})).shape(), (Shape{2, 3}));
}

TEST(AdaptiveMaxPool, IsTheFunction) {
  const auto x = Tensor<5>(random_normal({2, 3, 6, 7, 8}));
  const nn::AdaptiveMaxPool3d layer{{2, 3, 4}};
  EXPECT_EQ(layer.forward(x).array().to_doubles(),
            adaptive_max_pool(x.array(), {2, 3, 4}).to_doubles());
  EXPECT_EQ(nn::AdaptiveMaxPool1d{2}.forward(Tensor<3>::ones({1, 2, 9})).shape(), (Shape{1, 2, 2}));
  EXPECT_LOCATED(layer.forward(Tensor<5>::ones({1, 1, 0, 2, 2})));
}

TEST(Positions, AreSinesAndCosines) {
  const nn::PositionalEncoding layer(6, 50);
  const auto table = layer.table.to_doubles();
  for (int s = 0; s < 50; ++s) {
    for (int i = 0; i < 6; ++i) {
      const double angle = s / std::pow(10000, (i / 2 * 2) / 6.0);
      EXPECT_NEAR(table[static_cast<std::size_t>(s * 6 + i)],
                  i % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-7);
    }
  }
  const auto x = Tensor<3>(random_normal({2, 4, 6}));
  const Tensor<3> moved = layer.forward(x, 7);
  EXPECT_LT(largest_difference(moved.array(), x.array() + narrow(layer.table, 0, 7, 4)), 1e-7);
  EXPECT_EQ(parameter_count(layer), 0);
  EXPECT_EQ(nn::PositionalEncoding(3, 2).forward(zeros({2, 3})).shape(), Shape({2, 3}));
  EXPECT_LOCATED(layer.forward(x, 47));
  EXPECT_LOCATED(layer.forward(x, -1));
  EXPECT_LOCATED(layer.forward(x, INT64_MAX));
  EXPECT_LOCATED(layer.forward(Tensor<3>::ones({2, 4, 5})));
  expect_refused(
      ErrorCode::invalid_argument, [] { nn::PositionalEncoding(0); },
      "positional_encoding: sizes out of range");
  expect_refused(
      ErrorCode::invalid_argument, [] { nn::PositionalEncoding(4, 5, 0); },
      "positional_encoding: base out of range");
}

TEST(Positions, CostNoPlanWhileTheyMove) {
  const NoGrad no_grad;
  const nn::PositionalEncoding layer(4, 50);
  const Array x = ones({1, 1, 4}).eval();
  const auto at = [&](int start) { return layer.forward(x, start).to_doubles(); };
  for (int i = 0; i < 3; ++i) at(i);
  const Statistics before = statistics();
  for (int i = 3; i < 9; ++i) at(i);
  EXPECT_EQ(statistics().plan_misses, before.plan_misses);
}

TEST(Positions, RotaryTurnsNeighbours) {
  const nn::RotaryEncoding layer(10, 4);
  const auto x = Tensor<3>(random_normal({2, 3, 4}));
  EXPECT_EQ(largest_difference(layer.forward(x, 5).array(),
                               rope(x.array(), {.interleaved = true, .offset = 5})),
            0);
  EXPECT_LOCATED(layer.forward(x, 8));
  expect_refused(
      ErrorCode::invalid_argument, [] { nn::RotaryEncoding(10, 3); },
      "rotary_encoding: odd dim; got 3");
}

TEST(Positions, RotaryOptionsAreThoseOfRope) {
  const Array x = random_normal({2, 3, 4, 8});
  const auto same = [](const Array& a, const Array& b) { EXPECT_EQ(largest_difference(a, b), 0); };
  // The first columns of Llama's pairs.
  const nn::RotaryEncoding partial(10, 8, {.base = 100, .interleaved = false, .dims = 4});
  same(partial.forward(x, 2), rope(x, {.base = 100, .offset = 2, .dims = 4}));
  same(narrow(partial.forward(x, 2), 3, 4, 4), narrow(x, 3, 4, 4));
  const RopeScaling linear = {.kind = RopeScalingKind::linear, .factor = 4};
  const nn::RotaryEncoding slower(40, 8, {.scaling = linear});
  EXPECT_LT(largest_difference(narrow(slower.forward(x, 8), 2, 0, 1),
                               narrow(nn::RotaryEncoding(40, 8).forward(x, 2), 2, 0, 1)),
            1e-6);
  const RopeScaling yarn = {
      .kind = RopeScalingKind::yarn, .factor = 8, .original_length = 16, .beta_fast = 4};
  same(nn::RotaryEncoding(128, 8, {.scaling = yarn}).forward(x, 100),
       rope(x, {.interleaved = true,
                .offset = 100,
                .frequencies = rope_frequencies(8, 10000, yarn),
                .magnitude = rope_magnitude(8)}));
  same(nn::RotaryEncoding(128, 8, {.scaling = yarn, .magnitude = 1}).forward(x),
       rope(x, {.interleaved = true, .frequencies = rope_frequencies(8, 10000, yarn)}));
  // Rows at places of their own.
  const Tensor<2, Int> places = {{0, 1, 2, 3}, {5, 5, 9, 0}};
  const nn::RotaryEncoding layer(10, 8);
  const Array moved = layer.forward(Tensor<4>(x), places).array();
  same(narrow(moved, 0, 0, 1), narrow(layer.forward(x), 0, 0, 1));
  const Array one = narrow(narrow(x, 0, 1, 1), 2, 2, 1);
  same(narrow(narrow(moved, 0, 1, 1), 2, 2, 1), layer.forward(one, 9));
  // Attention takes the same.
  nn::MultiHeadAttention::Options options;
  options.rope_base = 100;
  options.rope_scaling = linear;
  options.rope_dims = 4;
  const nn::MultiHeadAttention attention(8, 1, options);
  EXPECT_EQ(attention.rope->dims, 4);
  EXPECT_EQ(attention.rope->frequencies.shape(), Shape({2, 2}));
  for (const std::int64_t bad : {-2, 3, 10}) {
    expect_refused(
        ErrorCode::invalid_argument, [&] { nn::RotaryEncoding(10, 8, {.dims = bad}); },
        "rotary_encoding: dims out of range");
  }
  const RopeScaling shrunk = {.kind = RopeScalingKind::linear, .factor = 0};
  expect_refused(
      ErrorCode::invalid_argument, [&] { nn::RotaryEncoding(10, 8, {.scaling = shrunk}); },
      "rotary_encoding: ");
}

TEST(Initializer, OrthogonalRowsOrColumns) {
  Generator source{11, 0};
  const nn::ParameterOptions options{DType::f64, Device(), &source};
  for (const Shape& shape : {Shape{3, 7}, Shape{7, 3}, Shape{5, 5}, Shape{1, 4}, Shape{4, 2, 3}}) {
    const Array w = nn::Initializer::orthogonal(2).make(shape, 1, 1, options).detach();
    const Array matrix = flatten(w, 1, -1);
    const bool is_wide = matrix.shape(0) <= matrix.shape(1);
    const Array product =
        is_wide ? matmul(matrix, transpose(matrix)) : matmul(transpose(matrix), matrix);
    EXPECT_LT(largest_difference(product, eye(product.shape(0), DType::f64) * 4.0), 1e-13)
        << to_string(shape);
  }
  EXPECT_EQ(nn::Initializer::orthogonal().make({0, 3}, 1, 1).shape(), Shape({0, 3}));
  const nn::Linear layer(3, 4, {.initializer = nn::Initializer::orthogonal()});
  EXPECT_EQ(layer.bias.array().to_doubles(), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(layer.weight.array().dtype(), DType::f32);
  expect_refused(
      ErrorCode::invalid_argument,
      [] { (void)nn::Initializer::orthogonal().make({1 << 20, 1 << 20}, 1, 1); },
      "orthogonal: shape out of range");
}

}  // namespace
}  // namespace hearth
