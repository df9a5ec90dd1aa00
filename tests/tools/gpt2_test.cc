#include "tools/bench/gpu/gpt2.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/optim.h"

namespace hearth::tools {
namespace {

Gpt2Config small() {
  Gpt2Config config;
  config.vocabulary = 13;
  config.dim = 16;
  config.layers = 2;
  config.heads = 4;
  config.context = 10;
  return config;
}

Gpt2 make(DType compute) {
  Generator generator{9, 0};
  return Gpt2(small(), compute, Device(), &generator);
}

Array tokens(std::int64_t batch, std::int64_t rows, std::uint64_t seed) {
  Generator source{seed, 0};
  return random_integers({batch, rows}, 0, 13, DType::i32, Device(), &source);
}

TEST(Gpt2, HasTheNamesOfHuggingFace) {
  Gpt2 model = make(DType::f32);
  std::vector<std::string> names;
  visit(model, [&](const std::string& name, const Array&) { names.push_back(name); });
  ASSERT_EQ(names.size(), 2u + 2 * 12 + 2);
  EXPECT_EQ(names[0], "transformer.wte.weight");
  EXPECT_EQ(names[1], "transformer.wpe.weight");
  EXPECT_EQ(names[2], "transformer.h.0.ln_1.weight");
  EXPECT_EQ(names[4], "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(names[13], "transformer.h.0.mlp.c_proj.bias");
  EXPECT_EQ(names.back(), "transformer.ln_f.bias");
  EXPECT_EQ(model.layers[0].attn.c_attn.weight.shape(), (Shape{16, 48}));
}

TEST(Gpt2, StartsAtAUniformGuessAndSeesNoFuture) {
  const Gpt2 model = make(DType::f32);
  const Array x = tokens(2, 10, 4);
  EXPECT_NEAR(model.loss(x, tokens(2, 10, 5)).item(), std::log(13.0), 0.05);
  const Array whole = model.logits(model.hidden(x));
  const Array part = model.logits(model.hidden(narrow(x, 1, 0, 6)));
  EXPECT_LT(max(abs(narrow(whole, 1, 0, 6) - part)).item(), 1e-6);
}

TEST(Gpt2, LearnsABatch) {
  for (const DType compute : {DType::f32, DType::bf16}) {
    Gpt2 model = make(compute);
    optim::AdamW optimizer({.weight_decay = 0.01});
    const Array x = tokens(2, 10, 4);
    const Array y = tokens(2, 10, 5);
    double loss = 0;
    for (int i = 0; i < 60; ++i) {
      const Array now = model.loss(x, y);
      optimizer.step(model, backward(now), 1e-2);
      loss = now.item();
    }
    EXPECT_LT(loss, 1.0) << name(compute);
  }
}

TEST(Gpt2, RefusesWhatMakesNoModel) {
  Gpt2Config config = small();
  config.heads = 3;
  EXPECT_THROW(Gpt2(config, DType::f32, Device(), nullptr), Error);
  EXPECT_THROW(Gpt2(small(), DType::i32, Device(), nullptr), Error);
  EXPECT_THROW((void)make(DType::f32).hidden(tokens(1, 11, 1)), Error);
}

}  // namespace
}  // namespace hearth::tools
