// Sums of gradients, scales of losses, means of parameters, and L-BFGS beside its trajectories.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "error_text.h"
#include "hearth/nn.h"
#include "hearth/optim.h"
#include "optim/model.h"

namespace hearth {
namespace {

TEST(GradientsAccumulator, PartsSumToTheWhole) {
  Model whole, parted;
  optim::Sgd one, two;
  one.step(whole, backward(whole.loss() * 3.0), 0.1);
  optim::GradientsAccumulator accumulator;
  for (const double part : {0.5, 1.5}) {
    accumulator.add(backward(parted.loss() * part));
    accumulator.add(backward(sum(parted.w) * 0.0 + parted.loss() * 0.5));
  }
  EXPECT_EQ(accumulator.count(), 4);
  two.step(parted, accumulator.take(), 0.1);
  expect_near(parted.w, whole.w.to_doubles());
  expect_near(parted.b, whole.b.to_doubles());
  EXPECT_EQ(accumulator.count(), 0);
  EXPECT_EQ(accumulator.take().size(), 0u);
}

TEST(GradientsAccumulator, GoesOnInPlaceByOnePlan) {
  Model model;
  optim::GradientsAccumulator accumulator;
  const auto add = [&](int i) { accumulator.add(backward(model.loss() * (1.0 / (i + 1)))); };
  for (int i = 0; i < 3; ++i) add(i);
  const Statistics before = statistics();
  for (int i = 3; i < 8; ++i) add(i);
  EXPECT_EQ(statistics().plan_misses, before.plan_misses);
  EXPECT_GE(statistics().donations - before.donations, 10);
}

TEST(LossScaler, ScalesBackAndFollowsOverflows) {
  Model model;
  optim::LossScaler scaler({.scale = 1024, .interval = 2});
  const auto unscaled = [&](double factor) {
    Gradients gradients = backward(scaler.scaled(model.loss() * factor));
    const bool is_sound = scaler.unscale(gradients);
    if (is_sound) expect_near(gradients.get(model.w), {2 * factor, -4 * factor});
    return is_sound;
  };
  EXPECT_TRUE(unscaled(1));
  EXPECT_EQ(scaler.scale(), 1024);
  EXPECT_TRUE(unscaled(1));
  EXPECT_EQ(scaler.scale(), 2048) << "after two sound steps";
  EXPECT_FALSE(unscaled(INFINITY));
  EXPECT_EQ(scaler.scale(), 1024);
  EXPECT_FALSE(unscaled(NAN));
  EXPECT_EQ(scaler.scale(), 512);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(unscaled(NAN));
  EXPECT_GT(scaler.scale(), 0);
}

TEST(LossScaler, TakesATypedLoss) {
  const auto w = Tensor<1>{1, 2}.require_grad();
  optim::LossScaler scaler({.scale = 8});
  const Tensor<1> loss = w.square().sum();
  Gradients gradients = scaler.scaled(loss).backward();
  expect_near(gradients.at(w).array(), {16, 32});
  EXPECT_TRUE(scaler.unscale(gradients));
  expect_near(gradients.at(w).array(), {2, 4});
  EXPECT_LOCATED(scaler.scaled(Tensor<1>()));
}

TEST(ParameterMeans, NameATensorByItself) {
  optim::ParameterMeans means;
  means.update(Tensor<1>{1, 2});
  const std::string text = check::error_of([&] { means.update(Tensor<1>{1, 2, 3}); });
  EXPECT_NE(text.find("parameter_means: the tensor has another shape"), std::string::npos) << text;
}

TEST(LossScaler, KeepsWhatF16WouldLose) {
  Array w = full({2}, 1.0, DType::f16).require_grad();
  const Array tiny = full({2}, 1e-8, DType::f32);
  const auto loss = [&] { return sum(cast(w, DType::f32) * tiny); };
  EXPECT_EQ(backward(loss()).get(w).to_doubles()[0], 0) << "lost without a scale";
  optim::LossScaler scaler;
  Gradients gradients = backward(scaler.scaled(loss()));
  EXPECT_TRUE(scaler.unscale(gradients));
  EXPECT_NEAR(gradients.get(w).to_doubles()[0], 1e-8, 1e-11);
  optim::Sgd().step({{"w", &w}}, std::move(gradients), 5e7);
  EXPECT_EQ(w.to_doubles()[0], 0.5);
}

TEST(LossScaler, IsSavedAndLoaded) {
  optim::LossScaler one({.scale = 8, .interval = 3}), two({.scale = 8, .interval = 3});
  const auto step = [](optim::LossScaler& scaler, double value) {
    Model model;
    Gradients gradients;
    gradients.set(model.w, full({2}, value));
    scaler.unscale(gradients);
  };
  step(one, NAN);
  for (int i = 0; i < 2; ++i) step(one, 1);
  two.load_state_dict(one.state_dict());
  EXPECT_EQ(two.scale(), 4);
  step(two, 1);
  EXPECT_EQ(two.scale(), 8);
  EXPECT_THROW(two.load_state_dict({}), Error);
  NamedArrays state = one.state_dict();
  for (NamedArray& each : state) {
    if (each.name == "scale") each.array = Array::from_data(std::vector<double>{-1}, {1});
  }
  EXPECT_THROW(two.load_state_dict(state), Error);
  EXPECT_EQ(two.scale(), 8);
}

TEST(ParameterMeans, FollowTheParameters) {
  Model model;
  optim::ParameterMeans means(0.75);
  means.update(model);
  double w = 1;
  for (int i = 0; i < 4; ++i) {
    optim::Sgd().step(model, backward(model.loss()), 0.1);
    means.update(model);
    w = 0.75 * w + 0.25 * model.w.to_doubles()[0];
  }
  Model shadow;
  load_state_dict(shadow, means.values());
  EXPECT_NEAR(shadow.w.to_doubles()[0], w, 1e-6);
  EXPECT_NE(shadow.w.to_doubles()[0], model.w.to_doubles()[0]);
}

TEST(ParameterMeans, KeepHalfDtypesExactAndRefuseOthers) {
  optim::ParameterMeans means(0.999);
  const auto update = [&](double value) {
    means.update(
        NamedArrays{{"w", full({1}, value, DType::bf16)}, {"n", full({1}, 2, DType::i64)}});
  };
  update(1);
  for (int i = 0; i < 700; ++i) update(0);
  EXPECT_EQ(means.values()[0].array.dtype(), DType::bf16);
  EXPECT_NEAR(means.values()[0].array.item(), std::pow(0.999, 700), 4e-3) << "bf16 would stay at 1";
  EXPECT_EQ(means.values()[1].array.item<std::int64_t>(), 2);
  const auto refused = [&](ErrorCode code, const NamedArrays& parameters) {
    (void)check::error_of(code, [&] { means.update(parameters); });
  };
  refused(ErrorCode::invalid_argument, {{"w", zeros({1})}});
  refused(ErrorCode::invalid_argument, {{"w", zeros({1})}, {"m", zeros({1})}});
  refused(ErrorCode::shape, {{"w", zeros({2})}, {"n", zeros({1})}});
}

TEST(Lbfgs, FitsALayerToItsDataExactly) {
  seed(5);
  nn::Linear layer(4, 2), truth(4, 2);
  freeze(truth);
  const auto x = Tensor<2>(random_normal({40, 4}));
  const Tensor<2> y = truth.forward(x);
  optim::Lbfgs optimizer({.strong_wolfe = true});
  const auto loss = [&] { return (layer.forward(x) - y).square().mean(); };
  double last = 0;
  for (int i = 0; i < 4; ++i) last = optimizer.step(layer, loss, 1.0);
  EXPECT_LT(last, 1e-9);
  EXPECT_GT(optimizer.iterations(), 2);
  EXPECT_TRUE(layer.weight.is_require_grad());
}

TEST(Lbfgs, RefusesWhatItCannotStep) {
  optim::Lbfgs optimizer;
  Model model, frozen;
  freeze(frozen);
  const auto message = [&](ErrorCode code, auto call) { return check::error_of(code, call); };
  const auto loss = [&] { return model.loss(); };
  EXPECT_NE(message(ErrorCode::invalid_argument, [&] { optimizer.step(frozen, loss, 1); })
                .find("lbfgs: no parameters; got 2 arrays"),
            std::string::npos);
  EXPECT_NE(message(ErrorCode::invalid_argument, [&] { optimizer.step(model, loss, NAN); })
                .find("lbfgs: learning rate"),
            std::string::npos);
  optimizer.step(model, loss, 0.1);
  EXPECT_NE(message(ErrorCode::shape, [&] { optimizer.step({{"w", &model.w}}, loss, 1); })
                .find("lbfgs: other parameters than before"),
            std::string::npos);
  NamedArrays state = optimizer.state_dict();
  state.erase(state.begin());
  EXPECT_THROW(optimizer.load_state_dict(state), Error);
  EXPECT_THROW(optimizer.load_state_dict({}), Error);
}

TEST(Lbfgs, EndsWhereALossIsNaN) {
  for (const bool strong_wolfe : {false, true}) {
    Array w = ones({2}).require_grad();
    const auto loss = [&] { return sum(log(w - 2.0)); };
    optim::Lbfgs optimizer({.strong_wolfe = strong_wolfe});
    EXPECT_TRUE(std::isnan(optimizer.step({{"w", &w}}, loss, 1.0)));
  }
}

}  // namespace
}  // namespace hearth
