// Errors of layers say the caller's line, and the layer.
#include <gtest/gtest.h>

#include "error_text.h"
#include "hearth/nn.h"

namespace hearth {
namespace {

using check::error_of;

class LayerCallSite : public testing::Test {
 protected:
  const Tensor<2> x_ = Tensor<2>::ones({2, 5});
};

template <class Call>
void expect_named(const char* layer, Call call) {
  const std::string text = error_of(call);
  EXPECT_EQ(text.substr(0, text.find(": ")), layer) << text;
}

TEST_F(LayerCallSite, OfAForwardOfTensors) {
  const nn::Linear linear(3, 4);
  const nn::RmsNorm rms_norm(3);
  const nn::LayerNorm layer_norm(3);
  const nn::FeedForward feed_forward(3, 4);
  const nn::MultiHeadAttention attention(4, 2, {});
  EXPECT_LOCATED(linear.forward(x_));
  EXPECT_LOCATED(rms_norm.forward(x_));
  EXPECT_LOCATED(layer_norm.forward(x_));
  EXPECT_LOCATED(nn::Embedding().forward(Tensor<1, Int>{0}));
  EXPECT_LOCATED(nn::Dropout{.probability = 2}.forward(x_));
  EXPECT_LOCATED(feed_forward.forward(x_));
  EXPECT_LOCATED(attention.forward(Tensor<3>::ones({1, 2, 3})));
  EXPECT_LOCATED(attention.forward(Tensor<3>::ones({1, 2, 3}), {.causal = true}));
  expect_named("linear", [&] { (void)linear.forward(x_); });
  expect_named("rms_norm", [&] { (void)rms_norm.forward(x_); });
  expect_named("layer_norm", [&] { (void)layer_norm.forward(x_); });
  expect_named("feed_forward", [&] { (void)feed_forward.forward(x_); });
  expect_named("multi_head_attention",
               [&] { (void)attention.forward(Tensor<3>::ones({1, 2, 3})); });
}

TEST_F(LayerCallSite, OfALoadedState) {
  nn::Linear linear(3, 4);
  EXPECT_LOCATED(load_state_dict(linear, {}));
  EXPECT_LOCATED(load_state_dict(parameters(linear), {}));
}

}  // namespace
}  // namespace hearth
