// Losses, numbers and messages that were wrong at the edges.
#include <cmath>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "error_text.h"
#include "graph/op_def.h"
#include "graph/params.h"
#include "hearth/grad.h"
#include "hearth/nn/attention.h"
#include "hearth/ops.h"
#include "hearth/ops/statistics.h"
#include "hearth/optim.h"
#include "hearth/random.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

// -sum(t log_softmax(x)) of targets t that are smoothed, in f64.
double smoothed(const Values& x, std::size_t target, double smoothing) {
  double most = x[0], sum = 0, loss = 0;
  for (const double each : x) most = std::max(most, each);
  for (const double each : x) sum += std::exp(each - most);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = (i == target ? 1 - smoothing : 0) + smoothing / static_cast<double>(x.size());
    loss -= t * (x[i] - most - std::log(sum));
  }
  return loss;
}

TEST(LossValues, SmoothedCrossEntropyOfLargeLogits) {
  for (const Device device : devices_under_test()) {
    for (const double offset : {0.0, 1e7, -1e7, 1e30}) {
      const double step = offset == 1e30 ? 0 : 1;
      const Values x = {offset, offset + step, offset - 2 * step, offset};
      const Array logits = to_device(array(x, {1, 4}, DType::f32), device).require_grad();
      const Array target = to_device(ints({1}, {1}), device);
      for (const double smoothing : {0.0, 0.1, 1.0}) {
        const Array loss = cross_entropy(logits, target, Reduction::mean, -100, smoothing);
        EXPECT_NEAR(loss.item(), smoothed(x, 1, smoothing), 2e-6) << offset << " " << smoothing;
        const Values got = backward(loss).at(logits).to_doubles();
        double sum = 0;
        for (const double each : x) sum += std::exp(each - offset);
        for (std::size_t i = 0; i < 4; ++i) {
          const double t = (i == 1 ? 1 - smoothing : 0) + smoothing / 4;
          EXPECT_NEAR(got[i], std::exp(x[i] - offset) / sum - t, 1e-6) << offset;
        }
      }
    }
  }
}

// What runs where a device has no kernel of its own, gradient included.
TEST(LossValues, CompositeOfCrossEntropyIsShifted) {
  const OpDef* const op = find_op("cross_entropy");
  ASSERT_NE(op, nullptr);
  const Params params = Params().i64(-100);
  for (const double offset : {0.0, 1e7, -1e7}) {
    const Values x = {offset, offset + 1, offset - 2, offset};
    const Array logits = array(x, {1, 4}, DType::f32).require_grad();
    for (const std::size_t target : {0, 1, 2}) {
      const Array targets = ints({static_cast<std::int64_t>(target)}, {1});
      const Array* const inputs[] = {&logits, &targets};
      const Array loss = op->composite({inputs, params, logits.device()});
      EXPECT_NEAR(loss.to_doubles()[0], smoothed(x, target, 0), 2e-6) << offset;
      const Values got = backward(sum(loss)).at(logits).to_doubles();
      double total = 0;
      for (const double each : x) total += std::exp(each - offset);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(got[i], std::exp(x[i] - offset) / total - (i == target ? 1 : 0), 1e-6);
      }
    }
  }
}

TEST(LossValues, GradientsOfInfiniteDistances) {
  for (const Device device : devices_under_test()) {
    const Array x =
        to_device(array({kInf, -kInf, 0.25, 3, kNan}, {5}, DType::f32), device).require_grad();
    const Array zero = zeros({5}, DType::f32, device);
    const Values huber = backward(huber_loss(x, zero, 1, Reduction::sum)).at(x).to_doubles();
    const Values smooth = backward(smooth_l1_loss(x, zero, 1, Reduction::sum)).at(x).to_doubles();
    for (const Values& got : {huber, smooth}) {
      EXPECT_TRUE(std::isnan(got[4]));
      EXPECT_EQ(Values(got.begin(), got.begin() + 4), (Values{1, -1, 0.25, 1}));
    }
  }
}

TEST(LossValues, KlDivKeepsNan) {
  const Array x = array({kNan, -kInf, kNan, -1}, {4}, DType::f32);
  const Array t = array({0, 0, 0.5, 1}, {4}, DType::f32);
  const Values got = kl_div(x, t, false, Reduction::none).to_doubles();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], 0);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 1);
}

TEST(LossValues, DropoutOfAllIsZero) {
  for (const Device device : devices_under_test()) {
    const Array x = to_device(array({kNan, kInf, 1}, {3}, DType::f32), device).require_grad();
    const Array y = dropout(x, 1);
    EXPECT_EQ(y.to_doubles(), (Values{0, 0, 0}));
    EXPECT_EQ(backward(sum(y)).at(x).to_doubles(), (Values{0, 0, 0}));
  }
}

TEST(LossValues, RatesBeyondF32AreRefused) {
  Array w = array({1, 2}, {2}, DType::f32).require_grad();
  optim::Sgd sgd;
  const auto step = [&](double rate) { sgd.step({w}, backward(sum(w)), rate); };
  expect_error(ErrorCode::invalid_argument, [&] { step(1e300); });
  EXPECT_EQ(w.to_doubles(), (Values{1, 2}));
  sgd.set_groups({{.holds = [](const Parameter&) { return true; }, .rate = 1e30}});
  expect_error(ErrorCode::invalid_argument, [&] { step(1e30); });
  EXPECT_EQ(sgd.steps(), 0);
  Array wide = array({1, 2}, {2}).require_grad();
  optim::Sgd other;
  other.step({wide}, backward(sum(wide)), 1e300);
  EXPECT_EQ(wide.to_doubles(), (Values{-1e300, -1e300}));
}

// Bins narrower than the steps of the dtype: every element is in one all the same.
TEST(LossValues, HistogramOfCoincidingEdges) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const double low = dtype == DType::f32 ? 1e7 : 100, high = low + (dtype == DType::f32 ? 8 : 4);
    const Array x = clamp(random_uniform({1000}, low, high, DType::f32), low, high);
    const Array narrow_x = cast(x, dtype);
    for (const auto& bounds : {std::optional<Bounds>({low, high}), std::optional<Bounds>()}) {
      const auto [counts, edges] = histogram(narrow_x, 333, bounds);
      const Values at = edges.to_doubles();
      EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
      EXPECT_EQ(sum(counts).item<std::int64_t>(), 1000);
    }
  }
}

// What calls the library makes of itself name no line of its own.
TEST(LossValues, ErrorsNameNoLineOfTheLibrary) {
  const auto expect_own = [](const auto& call) {
    const std::string text = error_of(call);
    EXPECT_FALSE(contains(text, "/src/")) << text;
    EXPECT_FALSE(contains(text, ".h:")) << text;
  };
  nn::KvCache cache(1, 1, 4, 2);
  const Tensor<4> half(ones({1, 1, 1, 2}, DType::f16));
  expect_own([&] { cache.append(half, half); });
  const nn::MultiHeadAttention attention(4, 2);
  expect_own([&] {
    (void)attention.forward(ones({1, 2, 4}, DType::f32), {.mask = ones({3}, DType::f32)});
  });
  nn::KvCache narrow_cache(1, 2, 4, 2, DType::f16);
  expect_own(
      [&] { (void)attention.forward(ones({1, 2, 4}, DType::f32), {.cache = &narrow_cache}); });
  const auto forward = [&] {
    (void)attention.forward(Tensor<3>::ones({1, 2, 4}), {.cache = &narrow_cache});
  };
  EXPECT_TRUE(contains(error_of(forward), "loss_values_test.cc:")) << error_of(forward);
}

}  // namespace
}  // namespace hearth
