// Activations of feed-forward blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/ops.h"
#include "models/language/blocks/feed_forward.h"

namespace hearth::models {
namespace {

TEST(FeedForward, AnActivationOfGatesIsRefusedWithoutThem) {
  const Array up = Array::from_data(std::vector<float>{1, -2}, {1, 2});
  const std::string message = check::error_of(ErrorCode::invalid_argument, [&] {
    static_cast<void>(activate(Activation::clamped_swiglu, Array(), up));
  });
  EXPECT_TRUE(check::contains(message, "expected ffn_gate beside ffn_up")) << message;
}

TEST(FeedForward, ActivationsOfXWithGatesAndWithout) {
  const Array x = Array::from_data(std::vector<float>{-2, 0, 1.5}, {1, 3});
  const Array up = Array::from_data(std::vector<float>{3, 3, 3}, {1, 3});
  const auto expect = [&](Activation activation, const std::vector<double>& expected) {
    const std::vector<float> alone = activate(activation, Array(), x).to_vector<float>();
    const std::vector<float> gated = activate(activation, x, up).to_vector<float>();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(alone[i], expected[i], 1e-6) << i;
      EXPECT_NEAR(gated[i], 3 * expected[i], 3e-6) << i;
    }
  };
  expect(Activation::squared_relu, {0, 0, 2.25});
  expect(Activation::quick_gelu,
         {-2 / (1 + std::exp(1.702 * 2)), 0, 1.5 / (1 + std::exp(-1.702 * 1.5))});
}

// 9 is cut to 7: min(9, 7) sigmoid(1.702 * 7) (min(9, 7) + 1).
TEST(FeedForward, ClampedGatesTimesUp) {
  const Array nine = Array::from_data(std::vector<float>{9}, {1, 1});
  const Array zero = Array::from_data(std::vector<float>{0}, {1, 1});
  const double gated = 7 / (1 + std::exp(-1.702 * 7));
  EXPECT_NEAR(activate(Activation::clamped_swiglu, nine, nine).to_vector<float>()[0], gated * 8,
              1e-4);
  EXPECT_NEAR(activate(Activation::clamped_swiglu, nine, zero).to_vector<float>()[0], gated, 1e-5);
}

}  // namespace
}  // namespace hearth::models
