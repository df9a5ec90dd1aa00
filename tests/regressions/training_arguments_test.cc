// Optimizers, schedules and scales that took what no step can follow from.
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/optim.h"

namespace hearth {
namespace {

using namespace check;

Parameter parameter_of(Array* array) { return {"w", array}; }

TEST(TrainingArguments, GradientsAreFloats) {
  for (const DType dtype : {DType::i32, DType::bool_, DType::u8}) {
    Array w = ones({3}).require_grad();
    Gradients gradients = backward(sum(w * 2.0));
    gradients.set(gradient_id(w), ones({3}, dtype));
    optim::Sgd sgd;
    expect_error(ErrorCode::dtype, [&] { sgd.step({parameter_of(&w)}, gradients, 0.1); });
    EXPECT_EQ(w.to_doubles(), (Values{1, 1, 1}));
    EXPECT_EQ(sgd.steps(), 0);
    expect_error(ErrorCode::dtype, [&] { (void)optim::clip_by_norm(gradients, 1); });
    expect_error(ErrorCode::dtype, [&] { optim::clip_by_value(gradients, 1); });
    optim::LossScaler scaler;
    expect_error(ErrorCode::dtype, [&] { (void)scaler.unscale(gradients); });
  }
}

TEST(TrainingArguments, SchedulesAreOfFiniteRates) {
  const auto refuses = [](const char* name, const std::function<void()>& make) {
    const std::string message = error_of(ErrorCode::invalid_argument, make);
    EXPECT_TRUE(message.starts_with(std::string(name) + ": ")) << message;
  };
  for (const double bad : {kNan, kInf, -kInf, -0.1}) {
    refuses("constant", [&] { (void)optim::constant(bad); });
    refuses("linear", [&] { (void)optim::linear(bad, 1, 3); });
    refuses("linear", [&] { (void)optim::linear(1, bad, 3); });
    refuses("cosine", [&] { (void)optim::cosine(bad, 3); });
    refuses("cosine", [&] { (void)optim::cosine(1, 3, bad); });
    refuses("exponential", [&] { (void)optim::exponential(bad, 0.5); });
    refuses("exponential", [&] { (void)optim::exponential(1, bad); });
    refuses("stairs", [&] { (void)optim::stairs(bad, 3); });
    refuses("noam", [&] { (void)optim::noam(bad); });
  }
  refuses("cosine", [] { (void)optim::cosine(1, -3); });
}

TEST(TrainingArguments, EnumsAreOfTheirValues) {
  expect_error(ErrorCode::invalid_argument,
               [] { (void)optim::combined({optim::constant(1)}, static_cast<optim::Combine>(9)); });
  expect_error(ErrorCode::invalid_argument,
               [] { optim::Muon muon({.rate = static_cast<optim::Muon::Rate>(9)}); });
  expect_error(ErrorCode::invalid_argument,
               [] { optim::Muon muon({.coefficients = {1, kNan, 1}}); });
}

TEST(TrainingArguments, ScalesAreOfF32) {
  for (const double bad : {1e308, 1e39, 1e-39, 0.0, kNan, kInf}) {
    expect_error(ErrorCode::invalid_argument, [&] { optim::LossScaler scaler({.scale = bad}); });
  }
  // At either end it stays, and a loss that is finite there keeps finite gradients.
  optim::LossScaler scaler({.scale = 0x1p127, .interval = 1});
  Array w = ones({1}).require_grad();
  Gradients gradients = backward(scaler.scaled(sum(w)));
  EXPECT_TRUE(scaler.unscale(gradients));
  EXPECT_EQ(gradients.get(w).to_doubles(), (Values{1}));
  EXPECT_EQ(scaler.scale(), 0x1p127);
  const NamedArrays state = {{"good_steps", Array::from_data(std::vector<std::int64_t>{0}, {1})},
                             {"scale", Array::from_data(std::vector<double>{1e308}, {1})}};
  expect_error(ErrorCode::invalid_argument, [&] { scaler.load_state_dict(state); });
}

TEST(TrainingArguments, NothingLeadsOnFromAnInfiniteLoss) {
  for (const bool strong_wolfe : {false, true}) {
    for (const double factor : {kInf, kNan}) {
      Array w = array({1, 2}, {2}, DType::f32).require_grad();
      optim::Lbfgs optimizer({.strong_wolfe = strong_wolfe});
      const double loss =
          optimizer.step({parameter_of(&w)}, [&] { return sum(square(w)) * factor; }, 1);
      EXPECT_FALSE(std::isfinite(loss));
      EXPECT_EQ(w.to_doubles(), (Values{1, 2}));
    }
  }
  // A search that meets NaN goes back from there.
  Array w = array({1}, {1}, DType::f64).require_grad();
  optim::Lbfgs optimizer({.strong_wolfe = true});
  for (int i = 0; i < 3; ++i) {
    (void)optimizer.step({parameter_of(&w)}, [&] { return sum(w - log(w) * 0.25); }, 10);
  }
  EXPECT_NEAR(w.item(), 0.25, 1e-5);
}

}  // namespace
}  // namespace hearth
