// Errors of gradients and optimizers say the caller's line.
#include <gtest/gtest.h>

#include "error_text.h"
#include "hearth/tensor.h"
#include "optim/model.h"

namespace hearth {
namespace {

TEST(OptimizerCallSite, OfAGradientThatIsNotThere) {
  const Tensor<1> w = Tensor<1>{1, 2}.require_grad();
  const Tensor<1> other = Tensor<1>{1}.require_grad();
  const Gradients gradients = w.square().sum().backward();
  EXPECT_LOCATED(gradients.at(other));
  EXPECT_LOCATED(gradients.at(other.array()));
}

TEST(OptimizerCallSite, OfAStep) {
  Model model;
  optim::Sgd optimizer;
  EXPECT_LOCATED(optimizer.step(model, Gradients(), 0.1));
  EXPECT_LOCATED(optimizer.step(model, Gradients(), 0.1, {.allow_none = false}));
  EXPECT_LOCATED(optimizer.step(parameters(model), Gradients(), 0.1));
  EXPECT_LOCATED(optimizer.step({model.w, model.b}, Gradients(), 0.1));
  Gradients gradients = backward(model.loss());
  EXPECT_LOCATED(optim::clip_by_norm(gradients, 0));
  EXPECT_LOCATED(optim::clip_by_value(gradients, -1));
}

TEST(OptimizerCallSite, OfItsState) {
  optim::Adam optimizer;
  EXPECT_LOCATED(optimizer.load_state_dict({}));
  Model first, second;
  optimizer.step(first, backward(first.loss()), 0.1);
  optimizer.step(second, backward(second.loss()), 0.1);
  EXPECT_LOCATED(optimizer.state_dict());
}

}  // namespace
}  // namespace hearth
